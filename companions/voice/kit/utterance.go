package kit

import (
	"slices"
	"sync"

	"conch/coordinator/turn"
)

// Utterance is what the person said in one turn, kept until the answer is heard.
//
// Frames and orders come by different ways: the first frames of a turn may be here before its ClearInput is. So either
// begins it; a second ClearInput of the same turn throws it away, and frames of a turn that is over are dropped.
type Utterance struct {
	Limit int // samples; fixed before the first

	mu      sync.Mutex
	id      turn.ID
	ordered bool // its ClearInput has come
	pcm     []int16
	over    [8]turn.ID // the latest that are over, in a ring
	overAt  int
	lost    int // samples beyond limit

	kept   []int16 // of a turn that is over, to be asked later: memory, and never a disk
	keptOf turn.ID // empty: nothing is kept
	stray  int     // samples of turns that are over
}

// keepPCM is the largest buffer (10 s) that stays allocated between utterances.
const keepPCM = 10 * Rate

// Begin carries out the ClearInput of a turn.
func (u *Utterance) Begin(id turn.ID) {
	u.mu.Lock()
	defer u.mu.Unlock()
	switch {
	case id != u.id:
		u.next(id)
	case u.ordered:
		u.next("")
		return
	}
	u.ordered = true
}

// Keep takes the utterance of a turn out of the way of others, in place of what is kept; of none: nothing is kept any more.
func (u *Utterance) Keep(id turn.ID) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.kept, u.keptOf = nil, ""
	if id != "" && id == u.id {
		u.kept, u.keptOf, u.pcm = u.pcm, id, nil
		u.next("")
	}
}

// Restore makes what was kept of a turn the utterance of another one, which has begun.
func (u *Utterance) Restore(id, kept turn.ID) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if id == u.id && kept != "" && kept == u.keptOf {
		u.pcm, u.kept, u.keptOf = u.kept, nil, ""
	}
}

// next ends the present utterance and makes room for another.
func (u *Utterance) next(id turn.ID) {
	if u.id != "" {
		u.over[u.overAt] = u.id
		u.overAt = (u.overAt + 1) % len(u.over)
	}
	if cap(u.pcm) > keepPCM {
		u.pcm = nil
	}
	u.id, u.ordered, u.pcm, u.lost = id, false, u.pcm[:0], 0
}

// Append tells whether there is something new to send.
func (u *Utterance) Append(id turn.ID, pcm []int16) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	if id != u.id {
		if id == "" || slices.Contains(u.over[:], id) {
			u.stray += len(pcm)
			return false
		}
		u.next(id)
	}
	if room := u.Limit - len(u.pcm); len(pcm) > room {
		u.lost += len(pcm) - room
		pcm = pcm[:room]
	}
	u.pcm = append(u.pcm, pcm...)
	return len(pcm) > 0
}

// From copies up to cap(dst) samples of the utterance of id, from the given one on; ok is false when it is gone.
func (u *Utterance) From(id turn.ID, at int, dst []int16) (pcm []int16, ok bool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if id == "" || id != u.id || at > len(u.pcm) {
		return nil, false
	}
	n := copy(dst[:cap(dst)], u.pcm[at:])
	return dst[:n], true
}

// Size is the length of the utterance of id.
func (u *Utterance) Size(id turn.ID) (n, lost int, ok bool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if id == "" || id != u.id {
		return 0, 0, false
	}
	return len(u.pcm), u.lost, true
}
