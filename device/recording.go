package device

import (
	"sync"

	"conch/coordinator/turn"
)

// recording is whose press the latest one is, so that in the tap modes a button learns that what its tap began is over, and its next
// tap begins another: because the recording ended by itself, or because another button was pressed.
//
// A press is noted together with its fact: of two that come within microseconds the one that the coordinator takes last is the one
// that is recorded, and it is the last here too. What is told of a recording names its press, so that it is no news of the next.
type recording struct {
	mu    sync.Mutex
	by    *contact // nil: none is on
	press uint64
	turn  turn.ID
}

// begin posts a press.
func (r *recording) begin(by *contact, press uint64, post func() turn.ID) turn.ID {
	r.mu.Lock()
	defer r.mu.Unlock()
	id := post() // it never waits
	if r.by != nil && r.by != by {
		r.by.CaptureEnded(r.press)
	}
	r.by, r.press, r.turn = by, press, id
	return id
}

// latched reports whether the button whose press began that turn is up by now, since taps begin and end a recording there.
func (r *recording) latched(id turn.ID) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.by != nil && r.turn == id && r.by.latches
}

// ended is told when a turn's recording is over, whoever ended it.
func (r *recording) ended(id turn.ID) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.by != nil && r.turn == id {
		r.by.CaptureEnded(r.press)
		r.by = nil
	}
}
