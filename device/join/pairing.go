package join

import (
	"context"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"conch/companions/round"
	"conch/device/condition"
	"conch/mqtt/membership"
)

// Pairing is the driver.
type Pairing struct {
	// fixed after NewPairing
	*board
	crew
	speech  *speech
	keepers *keepers
	host    Host
	link    *Link
	o       PairingOptions
	log     *slog.Logger
	conds   *condition.Book
	Sound   *Sound // of the code
	events  chan event
	again   chan struct{} // closed once everything has been said: the device begins anew
	ended   chan struct{} // closed when run has returned: nobody answers any more

	// atomic
	presses atomic.Uint64 // so far
	live    atomic.Bool   // an attempt is under way: a press ends it
	ending  atomic.Bool   // it will begin anew: nothing else is begun; true before anybody is told

	window chan struct{} // of one place: held by the window that is open, or is not quite closed

	// owned by run
	way   way
	timer *time.Timer

	elsewhere map[round.DeviceID]windowHeard // windows of other devices of the room
}

// Events for the driver alone, which the machine never gets.
type (
	asked struct { // an event whose attempt somebody wants to follow
		ev  event
		run chan<- int
	}
	windowOpened struct {
		run       int
		code      string
		length    time.Duration
		addresses []string
	}
	wrongCode     struct{ run, left int }
	spokenOver    struct{ presses uint64 }    // held for 5 s, and somebody spoke; presses so far
	windowChanged struct{ membership.Change } // of another device of the room
)

func (asked) event()         {}
func (windowOpened) event()  {}
func (wrongCode) event()     {}
func (spokenOver) event()    {}
func (windowChanged) event() {}

// maxEvents waiting: a window has a dozen, looking one a second, and a finger is slower than either.
const maxEvents = 256

// logPairErr is the log event of what went wrong in detail, for who looks into it.
const logPairErr = "pairing.err"

// post hands an event to run. It never waits: whoever has much to tell waits itself (tell).
func (p *Pairing) post(ev event) bool {
	select {
	case p.events <- ev:
		return true
	default:
		p.log.Error(logPairErr, "err", fmt.Sprintf("%T is lost: too much waits", ev))
		return false
	}
}

// Steps of a pairing, between which the power may be cut (PairingOptions.Step).
const (
	StepOpen      = "open"      // the window is open
	StepAdmitting = "admitting" // the code was right; nothing is on disk
	StepAdmitted  = "admitted"  // the newcomer is on the list, and has been told nothing
	StepConfirmed = "confirmed" // it has said that it is in
	StepTrying    = "trying"    // a code, at the joiner
	StepStoring   = "storing"   // the room is known to the joiner; nothing is on disk
	StepJoined    = "joined"    // it is on disk, and nobody knows
	StepRestart   = "restart"   // all is said; the device begins anew
	StepKeeping   = "keeping"   // a person wants this device to keep the room; nothing is on disk
	StepKept      = "kept"      // it is, and nobody knows
	StepMoved     = "moved"     // another one keeps it, by what is on disk here
)

func (p *Pairing) step(at string) {
	if p.o.Step != nil {
		p.o.Step(at)
	}
}

// tell hands an event to run, from a worker.
func (p *Pairing) tell(ctx context.Context, ev event) {
	select {
	case p.events <- ev:
	case <-ctx.Done():
	}
}

// windowHeard is what the driver knows of a window somewhere else in the room.
type windowHeard struct {
	id      string
	until   time.Duration // its end, should nobody say so
	refused *atomic.Bool  // it was shut before it let anybody in
}
