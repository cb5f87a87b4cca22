// Package again keeps the last answer, so that a double press has it said once more, from memory: no session is needed, and nothing goes
// to any server.
package again

import (
	"sync"
	"time"

	"conch/coordinator"
	"conch/coordinator/turn"
)

// Our choices.
const (
	Most  = 60 * time.Second // of an answer that is kept: its beginning
	rate  = 24000
	turns = 4 // whose speech comes at the same time: one is heard, the next is made ready
)

// Keeper keeps it. A nil Keeper keeps nothing. Its methods may be called from any goroutine.
type Keeper struct {
	mu   sync.Mutex
	live map[turn.ID][]int16 // of turns that have not ended
	last []int16
}

// Audio is told of speech that was handed to the speaker.
func (k *Keeper) Audio(id turn.ID, pcm []int16) {
	if k == nil || len(pcm) == 0 {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.live == nil {
		k.live = map[turn.ID][]int16{}
	}
	kept, known := k.live[id]
	if !known && len(k.live) == turns { // the end of one of them was told before its last sound
		clear(k.live)
	}
	room := int(Most*rate/time.Second) - len(kept)
	k.live[id] = append(kept, pcm[:min(len(pcm), max(0, room))]...)
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
	return k.last
}

// Forget forgets what was said.
func (k *Keeper) Forget() {
	if k != nil {
		k.mu.Lock()
		defer k.mu.Unlock()
		k.last = nil
	}
}
