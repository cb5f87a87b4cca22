// Package again keeps the last answer, so that a double press has it said once more, from memory: no session is needed, and nothing goes
// to any server.
package again

import (
	"slices"
	"sync"
	"time"

	"conch/coordinator"
	"conch/coordinator/turn"
)

// Our choices.
const (
	Most    = 60 * time.Second // of an answer that is kept: its beginning
	rate    = 24000
	seconds = int(Most / time.Second)
	turns   = 4 // whose speech comes at the same time: one is heard, the next is made ready
)

// Keeper keeps it. A nil Keeper keeps nothing. Its methods may be called from any goroutine.
type Keeper struct {
	mu   sync.Mutex
	live map[turn.ID]pieces // of turns that have not ended
	last pieces
}

// pieces are what is kept, a second each: a minute that grew as a whole would be copied a dozen times, while it is heard.
type pieces [][]int16

func (p pieces) append(pcm []int16) pieces {
	for len(pcm) > 0 && (len(p) < seconds || len(p[len(p)-1]) < rate) {
		if len(p) == 0 || len(p[len(p)-1]) == rate {
			p = append(p, make([]int16, 0, rate))
		}
		last := &p[len(p)-1]
		n := min(len(pcm), rate-len(*last))
		*last, pcm = append(*last, pcm[:n]...), pcm[n:]
	}
	return p
}

// Audio is told of speech that was handed to the speaker.
func (k *Keeper) Audio(id turn.ID, pcm []int16) {
	if k == nil || len(pcm) == 0 {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.live == nil {
		k.live = map[turn.ID]pieces{}
	}
	kept, known := k.live[id]
	if !known && len(k.live) == turns { // the end of one of them was told before its last sound
		clear(k.live)
	}
	k.live[id] = kept.append(pcm)
}

// Ended is told of the end of each turn: what was heard of is the last answer.
func (k *Keeper) Ended(r coordinator.Record) {
	if k == nil {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if r.Audible {
		k.last = k.live[r.Turn]
	}
	delete(k.live, r.Turn)
}

// Last is what was said last; nil: nothing is known of it.
func (k *Keeper) Last() []int16 {
	if k == nil {
		return nil
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	return slices.Concat(k.last...)
}

// Forget forgets what was said.
func (k *Keeper) Forget() {
	if k != nil {
		k.mu.Lock()
		defer k.mu.Unlock()
		k.last = nil
	}
}
