// Package voice is the seam between a device and where its answers come from: a server, or a rehearsal of one on this machine.
package voice

import (
	"context"
	"time"

	"conch/coordinator/turn"
)

// Voice is one companion's session. It runs as long as Run; the other methods may be called from any goroutine, and none of them
// waits, nor posts from within: whoever orders may hold a lock that the fact would need.
type Voice interface {
	// Do takes an order.
	Do(turn.Order)
	// Tools says which tools there are, before the first turn.
	Tools([]turn.ToolSpec)
	// Names are those that may be said: whoever writes down what people say may be told to expect them.
	Names([]string)
	// Append takes the microphone's frames (24 kHz, mono) of the utterance of a turn.
	Append(id turn.ID, pcm []int16)
	// Nudge has it try at once what it waits to try again: the network is back.
	Nudge()
	// Call has f called from inside the session's loop: who wants to know whether that still goes round waits for it. False: too
	// many wait already, or Run has ended.
	Call(f func()) bool
	// Run reports to out until ctx ends.
	Run(ctx context.Context, out Outlet) error
}

// Outlet is where a voice's facts and speech go.
type Outlet interface {
	// Post hands a fact over, and waits while there is no room for it.
	Post(turn.Event)
	// Audio hands over speech (24 kHz, mono) of a turn. Call it before posting the DeltaArrived that counts it. It may block while
	// the speaker's buffer is full, until ctx ends or the turn is cut; it reports the samples accepted, which is 0 for a turn
	// that is over.
	Audio(ctx context.Context, id turn.ID, pcm []int16) int
	// Now is the clock of all facts.
	Now() time.Duration
}
