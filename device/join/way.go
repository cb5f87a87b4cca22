package join

import (
	"slices"
	"time"

	"conch/companions/round"
	"conch/device/control"
)

// The person's way to a room (PAIRING.md, What a person does), as a pure machine: events come in with their time, orders go out.
// pair.go carries them out, and nothing here knows of a network, a microphone or a voice.
//
//	         held, alone ┌─────────┐ one window             ┌───────────┐ the code  ┌─────────┐
//	      ┌─────────────>│ looking ├───────────────────────>│ listening ├──────────>│ joining ├──> paired
//	      │              └──┬───┬──┘                        └─^───────┬─┘<──────────┤         │
//	┌─────┴─┐               │   └ two: said, over   yields to │       │ a minute    └─────────┘ wrong, twice
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
	maxTries    = 3                       // wrong codes, as heard, until one gives up
)

// way is how far this device has come. The zero value, with self, is a device that has tried nothing.
type way struct {
	// fixed
	self round.DeviceID

	// what the device is
	paired bool

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

	founded bool // this device has become the host of a room in this attempt: it must begin anew, whatever else comes
}

// step takes one event.
func (w way) step(ev event) (way, []order) {
	s := stepping{way: w}
	switch f := ev.(type) {
	case Held:
		s.held(f)
	case Unable:
		s.begin(f.At, true)
		s.fail(control.WhyDevice)
	case HeldLong:
		s.leave()
	case Pressed:
		s.cancel()
	case Cancelled:
		s.cancel()
	case Ticked:
		s.tick(f.At)
	case OpenAsked:
		s.pair(f)
	case JoinAsked:
		s.join(f)
	case LeaveAsked:
		s.leave()
	case Removed:
		s.out()
	case WindowsSeen:
		s.seen(f)
	case WindowShut:
		s.shut(f)
	case Founded:
		s.founded, s.paired = true, true
	case Admitted:
		s.success(f.Peer, s.founded)
	case CodeHeard:
		if f.Run == s.run && s.state == control.PairingListening {
			s.code = f.Code
			s.become(control.PairingJoining)
			s.do(Try{s.run, s.code, s.target})
		}
	case HearingFailed:
		if f.Run == s.run && s.state == control.PairingListening {
			s.fail(f.Why)
		}
	case Joined:
		s.paired = true
		s.success(f.Peer, true)
	case JoinFailed:
		s.notJoined(f)
	case Left:
		s.gone(f)
	}
	return s.way, s.orders
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
	s.yields, s.around, s.target, s.code, s.typed, s.tries = false, nil, Window{}, "", false, 0
}

// held: a device in a room opens its window. One that is in none looks first whether somebody else has.
func (s *stepping) held(f Held) {
	s.begin(f.At, true)
	if s.paired {
		s.open()
		return
	}
	s.become(control.PairingLooking)
	s.until = f.At + lookMost
	s.do(Look{s.run})
}

func (s *stepping) open() {
	s.yields = s.byHand && !s.paired
	s.until = 0 // the window has its own time
	s.become(control.PairingOpen)
	s.do(Open{s.run})
}

// pair opens the window, whatever others do: it was asked for by name.
func (s *stepping) pair(f OpenAsked) {
	if s.state == control.PairingOpen {
		return
	}
	s.begin(f.At, false)
	s.open()
}

func (s *stepping) join(f JoinAsked) {
	if s.paired {
		return // the driver has refused it
	}
	s.begin(f.At, false)
	s.target, s.code, s.typed = f.Target, f.Code, f.Code != ""
	switch {
	case s.target.Device == "" && len(s.target.Addresses) == 0:
		s.become(control.PairingLooking)
		s.until = f.At + lookAsked
		s.do(Look{s.run})
	default:
		s.approach(f.At)
	}
}

// approach goes to the target: with the code, or after having heard it.
func (s *stepping) approach(at time.Duration) {
	if s.code != "" {
		s.do(Unlook{s.run})
		s.become(control.PairingJoining)
		s.until = 0
		s.do(Try{s.run, s.code, s.target})
		return
	}
	s.become(control.PairingListening)
	s.until = at + listenLimit
	s.do(Say{control.PairingLine{State: control.PairingListening}})
	s.do(Listen{s.run})
}

func (s *stepping) seen(f WindowsSeen) {
	if f.Run != s.run {
		return
	}
	windows := slices.DeleteFunc(slices.Clone(f.Windows), func(w Window) bool { return w.Device == s.self })
	s.around = windows
	switch s.state {
	case control.PairingLooking:
		if f.At >= s.until || len(windows) == 1 && f.At-s.began >= lookLeast {
			s.looked(f.At)
		}
	case control.PairingOpen:
		if !s.yields || s.founded {
			return
		}
		above := slices.DeleteFunc(slices.Clone(windows), func(w Window) bool { return w.RoomID == "" && w.Device > s.self })
		if len(above) == 1 {
			s.do(Shut{s.run})
			s.target = above[0]
			s.approach(f.At)
		}
	case control.PairingListening: // whom we listen to may give way itself: the code is then of the one that is left
		if len(windows) == 1 {
			s.target = windows[0]
		}
	}
}

// looked ends the looking.
func (s *stepping) looked(at time.Duration) {
	switch {
	case len(s.around) == 1:
		s.target = s.around[0]
		s.approach(at)
	case len(s.around) > 1:
		s.fail(control.WhyTwoWindows)
	case s.byHand:
		s.open() // and go on looking: others may have been held at the same moment
	default:
		s.fail(control.WhyNobody)
	}
}

func (s *stepping) tick(at time.Duration) {
	switch {
	case s.state == control.PairingLooking && len(s.around) == 1 && at-s.began >= lookLeast:
		s.looked(at)
		return
	case s.until == 0 || at < s.until:
		return
	}
	switch s.state {
	case control.PairingLooking:
		s.looked(at)
	case control.PairingListening:
		s.fail(control.WhyNotHeard)
	}
}

// shut: the window is closed without a success. After a press, or where it has given way, that was our own doing; a device
// that had admitted its first one before that is a host nevertheless, and begins anew as one.
func (s *stepping) shut(f WindowShut) {
	switch {
	case f.Run == s.run && s.state == control.PairingOpen:
		s.fail(f.Why)
	case s.founded && !s.live():
		s.founded = false
		s.do(Restart{})
	}
}

func (s *stepping) notJoined(f JoinFailed) {
	if f.Run != s.run || s.state != control.PairingJoining {
		return
	}
	if f.Why == control.WhyWrongCode && !s.typed {
		if s.tries++; s.tries < maxTries && f.At < s.until { // heard amiss, or the room next door: it comes again
			s.code = ""
			s.become(control.PairingListening)
			s.do(Listen{s.run})
			return
		}
	}
	s.fail(f.Why)
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
	s.end(control.PairingLine{State: control.PairingFailed, Why: why})
}

// cancel is silent: who presses has something else in mind.
func (s *stepping) cancel() {
	if !s.live() || s.state == control.PairingLeaving { // which is quick, and cannot be taken back
		return
	}
	s.do(Stop{s.run})
	s.become(control.PairingCancelled)
	s.until = 0
}

func (s *stepping) leave() {
	s.cancel()
	if s.paired && s.state != control.PairingLeaving {
		s.run++
		s.become(control.PairingLeaving)
		s.do(Leave{})
	}
}

func (s *stepping) gone(f Left) {
	if f.Why != "" {
		s.end(control.PairingLine{State: control.PairingFailed, Why: f.Why, Room: f.Room})
		return
	}
	s.run++ // a room that was given up on disk was not left by an attempt
	s.paired, s.founded = false, false
	s.end(control.PairingLine{State: control.PairingLeft, Room: f.Room, Restarts: true})
}

func (s *stepping) out() {
	if s.live() {
		s.do(Stop{s.run})
		s.run++
	}
	s.paired, s.founded = false, false
	s.end(control.PairingLine{State: control.PairingRemoved, Restarts: true})
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
