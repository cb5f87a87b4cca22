package join

import (
	"time"

	"conch/companions/round"
	"conch/device/control"
)

// The person's way to a room (PAIRING.md, What a person does), as a pure machine: events come in with their time, orders go out.
// Pairing carries them out, and nothing here knows of a network, a microphone or a voice.
//
//	         held, alone ┌─────────┐ one window             ┌───────────┐ the code  ┌─────────┐
//	      ┌─────────────>│ looking ├───────────────────────>│ listening ├──────────>│ joining ├──> paired
//	      │              └──┬──────┘ or several              └─^───────┬─┘<──────────┤         │
//	┌─────┴─┐               │                       yields to │       │ a minute    └─────────┘ wrong at each of them, twice
//	│ idle, │               │ none                a room, or  │       v
//	│ over  │               v                   a lower id    │    not heard
//	└─────┬─┘ held, in a  ┌──────┐ ───────────────────────────┘
//	      └──────────────>│ open ├──> paired, expired, three wrong codes
//	         room         └──────┘
//
//	a press         ends whatever is under way, without a word: it is a press like any other
//	what is on disk counts: that the other side has it may be known only after a press, and then this device is paired
//
// Two that are held at the same moment both find nobody and both open. Those that are in no room yet go on looking, and give
// way: to the window of a room, or else to the one in no room with the lower id. Who sees more than one to give way to waits,
// for one of those will give way too; so of any number the same one is left (TestWayOfManyAtOnce).

// Times of the way.
const (
	lookLeast   = 750 * time.Millisecond  // one window is enough after that: an answer takes a fraction of it (RFC 6762, 6)
	lookMost    = 1500 * time.Millisecond // then it is none, or too many
	lookAsked   = 6 * time.Second         // as long, where somebody has typed that there is one: two answers may be lost
	listenLimit = time.Minute             // of waiting for the code: it comes every ten seconds or so
	offerLimit  = time.Minute             // of a second hold, by which a person says that the room's keeper is gone for good
	lookFurther = 3 * time.Second         // from the beginning, for the right window, where the code that was typed is not that of the first
	maxTries    = 3                       // wrong codes, as heard, until one gives up
)

// way is how far this device has come. The zero value, with self, is a device that has tried nothing.
type way struct {
	// fixed
	self round.DeviceID

	// what the device is
	paired bool
	alone  bool // paired, and nobody else is in that room, nor expected: it may be given up for another one

	// the present attempt
	run    int // counts attempts: what is reported of an earlier one is void, but for what is on disk
	state  control.PairingState
	byHand bool
	until  time.Duration // of looking and listening
	began  time.Duration
	yields bool     // the window is of a device in no room, opened by hand
	around []Window // seen last, never changed in place
	target Window
	code   string
	typed  bool
	tries  int
	named  bool               // a person has said where the window is: no other is tried
	tried  []string           // windows (Window.key) at which this code was tried, never changed in place
	flying int                // tries that have not ended
	why    control.PairingWhy // what has become of the first of them

	offered time.Duration // when it was said that the room's keeper is gone, and what another hold means; 0: it was not

	founded bool // this device has become the host of a room in this attempt: it must begin anew, whatever else comes
}

// stepping is one step under way.
type stepping struct {
	way
	orders []order
}

func (s *stepping) do(o order) { s.orders = append(s.orders, o) }

func (s *stepping) become(state control.PairingState) { s.state = state }

// live says that an attempt is under way.
func (w way) live() bool { return w.state != "" && !(control.PairingLine{State: w.state}).Over() }

// due is when the machine wants to be told of the time; false: only when something happens.
func (w way) due(now time.Duration) (at time.Duration, ok bool) {
	switch w.state {
	case control.PairingLooking:
		if least := w.began + lookLeast; now < least {
			return min(w.until, least), true
		}
		return w.until, true
	case control.PairingListening:
		return w.until, true
	}
	return 0, false
}

// begin starts an attempt; the one before is over.
func (s *stepping) begin(at time.Duration, byHand bool) {
	if s.live() {
		s.do(Stop{s.run})
	}
	s.run++
	s.byHand, s.began, s.until = byHand, at, 0
	s.offered = 0
	s.yields, s.around, s.target, s.code, s.typed, s.tries = false, nil, Window{}, "", false, 0
	s.named, s.tried, s.flying, s.why = false, nil, 0, ""
}

func (s *stepping) open() {
	s.yields = s.byHand && (!s.paired || s.alone)
	s.until = 0 // the window has its own time
	s.become(control.PairingOpen)
	s.do(Open{s.run})
}

// success: both are in, by what is on disk. It counts at any time, also after a press.
func (s *stepping) success(p Peer, restart bool) {
	if s.live() {
		s.do(Stop{s.run})
	}
	s.run++
	s.end(control.PairingLine{State: control.PairingPaired, Peer: p.Name, Device: p.Device, Room: p.Room, Called: p.Called, Restarts: restart})
}

func (s *stepping) fail(why control.PairingWhy) {
	s.do(Stop{s.run})
	s.run++
	l := control.PairingLine{State: control.PairingFailed, Why: why}
	if len(s.tried) > 1 {
		l.Windows = names(s.around)
	}
	s.end(l)
}

// cancel is silent: who presses has something else in mind.
func (s *stepping) cancel() {
	if !s.live() || s.state == control.PairingLeaving || s.state == control.PairingKeeping { // which is quick, and cannot be taken back
		return
	}
	s.do(Stop{s.run})
	s.become(control.PairingCancelled)
	s.until = 0
}

// end says what has come of it.
func (s *stepping) end(l control.PairingLine) {
	s.become(l.State)
	s.until = 0
	if s.founded {
		l.Restarts, s.founded = true, false
	}
	s.do(Say{l})
	if l.Restarts {
		s.do(Restart{})
	}
}
