package realtime

import (
	"sync"

	"conch/coordinator/turn"
)

// utterance is what the person said in one turn, kept until the answer begins.
type utterance struct {
	limit int // samples; fixed after New

	mu    sync.Mutex
	id    turn.ID
	pcm   []int16
	lost  int // samples beyond limit
	stray int // samples of other turns
}

// keepPCM is the largest buffer (10 s) that stays allocated between utterances.
const keepPCM = 10 * rate

// begin makes room for the utterance of a turn.
func (u *utterance) begin(id turn.ID) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if cap(u.pcm) > keepPCM {
		u.pcm = nil
	}
	u.id, u.pcm, u.lost = id, u.pcm[:0], 0
}

// append tells whether there is something new to send.
func (u *utterance) append(id turn.ID, pcm []int16) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	if id != u.id {
		u.stray += len(pcm)
		return false
	}
	if room := u.limit - len(u.pcm); len(pcm) > room {
		u.lost += len(pcm) - room
		pcm = pcm[:room]
	}
	u.pcm = append(u.pcm, pcm...)
	return len(pcm) > 0
}

// from copies up to cap(dst) samples of the utterance of id, from the given one on; ok is false when it is gone.
func (u *utterance) from(id turn.ID, at int, dst []int16) (pcm []int16, left int, ok bool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if id != u.id || at > len(u.pcm) {
		return nil, 0, false
	}
	n := copy(dst[:cap(dst)], u.pcm[at:])
	return dst[:n], len(u.pcm) - at - n, true
}

// size is the length of the utterance of id.
func (u *utterance) size(id turn.ID) (n, lost int, ok bool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if id != u.id {
		return 0, 0, false
	}
	return len(u.pcm), u.lost, true
}
