package join

import (
	"slices"
	"time"

	"conch/companions/round"
	"conch/device/control"
)

// The person's way to a room (PAIRING.md, What a person does), as a pure machine: facts come in with their time, orders go out.
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
	wayTries    = 3                       // wrong codes, as heard, until one gives up
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
	yields bool        // the window is of a device in no room, opened by hand
	around []wayWindow // seen last, never changed in place
	target wayWindow
	code   string
	typed  bool
	tries  int

	founded bool // this device has become the host of a room in this attempt: it must begin anew, whatever else comes
}

// wayWindow is a window somewhere else.
type wayWindow struct {
	Device    round.DeviceID
	Name      string
	RoomID    string // empty: its device is in no room yet
	Room      string
	Addresses []string
}

// wayFact is a fact.
type wayFact interface{ wayFact() }

// Facts. Run names the attempt that they speak of, where it is one.
type (
	wayHeld     struct{ At time.Duration } // the button, for 5 s, and nobody spoke
	wayUnable   struct{ At time.Duration } // held like that, and this device cannot pair
	wayHeldLong struct{ At time.Duration } // for 10 s
	wayPress    struct{ At time.Duration } // any press of this device
	wayCancel   struct{ At time.Duration } // by the control socket
	wayTick     struct{ At time.Duration } // time has passed
	wayPair     struct{ At time.Duration } // POST /room/pair
	wayLeave    struct{ At time.Duration } // POST /room/leave
	wayOut      struct{ At time.Duration } // this device was removed from its room
	wayJoin     struct {                   // POST /room/join
		At     time.Duration
		Code   string // empty: listen
		Target wayWindow
	}
	waySeen struct { // all windows of others that can be seen now
		At      time.Duration
		Run     int
		Windows []wayWindow
	}
	wayShut struct { // the window is closed, or never opened
		At  time.Duration
		Run int
		Why control.PairingWhy
	}
	wayFounded struct { // the window has admitted its first device: this one is a host, by what is on disk
		At  time.Duration
		Run int
	}
	wayAdmitted struct { // the window's joiner is in
		At   time.Duration
		Run  int
		Peer wayPeer
	}
	wayHeard struct { // the code
		At   time.Duration
		Run  int
		Code string
	}
	wayDeaf struct { // nothing can be heard: no microphone
		At  time.Duration
		Run int
		Why control.PairingWhy
	}
	wayJoined struct { // this device is in, by what is on disk
		At   time.Duration
		Run  int
		Peer wayPeer
	}
	wayNotJoined struct {
		At  time.Duration
		Run int
		Why control.PairingWhy
	}
	wayGone struct { // this device has left its room; Why: it has not
		At   time.Duration
		Room string
		Why  control.PairingWhy
	}
)

func (wayHeld) wayFact()      {}
func (wayUnable) wayFact()    {}
func (wayHeldLong) wayFact()  {}
func (wayPress) wayFact()     {}
func (wayCancel) wayFact()    {}
func (wayTick) wayFact()      {}
func (wayPair) wayFact()      {}
func (wayLeave) wayFact()     {}
func (wayOut) wayFact()       {}
func (wayJoin) wayFact()      {}
func (waySeen) wayFact()      {}
func (wayShut) wayFact()      {}
func (wayFounded) wayFact()   {}
func (wayAdmitted) wayFact()  {}
func (wayHeard) wayFact()     {}
func (wayDeaf) wayFact()      {}
func (wayJoined) wayFact()    {}
func (wayNotJoined) wayFact() {}
func (wayGone) wayFact()      {}

// wayPeer is the other device of a pairing.
type wayPeer struct {
	Device round.DeviceID
	Name   string // in the room
	Room   string
	Called string // this device in it
}

// wayOrder is an order.
type wayOrder interface{ wayOrder() }

// Orders. Those that begin something name its attempt; stop ends all of an attempt's.
type (
	doLook   struct{ Run int } // keep telling what windows there are
	doOpen   struct{ Run int } // a window
	doListen struct{ Run int } // for the code, until it was heard or stop
	doTry    struct {
		Run    int
		Code   string
		Target wayWindow
	}
	doShut   struct{ Run int } // the window only: looking goes on
	doUnlook struct{ Run int }
	doStop   struct{ Run int }
	doLeave  struct{}
	doSay    struct { // in words; what is being said of pairing already is cut
		Line control.PairingLine // its State and Why choose them
	}
	doRestart struct{} // when what is being said has sounded
)

func (doLook) wayOrder()    {}
func (doOpen) wayOrder()    {}
func (doListen) wayOrder()  {}
func (doTry) wayOrder()     {}
func (doShut) wayOrder()    {}
func (doUnlook) wayOrder()  {}
func (doStop) wayOrder()    {}
func (doLeave) wayOrder()   {}
func (doSay) wayOrder()     {}
func (doRestart) wayOrder() {}

// step takes one fact.
func (w way) step(fact wayFact) (way, []wayOrder) {
	s := wayStep{way: w}
	switch f := fact.(type) {
	case wayHeld:
		s.held(f)
	case wayUnable:
		s.begin(f.At, true)
		s.fail(control.WhyDevice)
	case wayHeldLong:
		s.leave()
	case wayPress:
		s.cancel()
	case wayCancel:
		s.cancel()
	case wayTick:
		s.tick(f.At)
	case wayPair:
		s.pair(f)
	case wayJoin:
		s.join(f)
	case wayLeave:
		s.leave()
	case wayOut:
		s.out()
	case waySeen:
		s.seen(f)
	case wayShut:
		s.shut(f)
	case wayFounded:
		s.founded, s.paired = true, true
	case wayAdmitted:
		s.success(f.Peer, s.founded)
	case wayHeard:
		if f.Run == s.run && s.state == control.PairingListening {
			s.code = f.Code
			s.become(control.PairingJoining)
			s.do(doTry{s.run, s.code, s.target})
		}
	case wayDeaf:
		if f.Run == s.run && s.state == control.PairingListening {
			s.fail(f.Why)
		}
	case wayJoined:
		s.paired = true
		s.success(f.Peer, true)
	case wayNotJoined:
		s.notJoined(f)
	case wayGone:
		s.gone(f)
	}
	return s.way, s.orders
}

// wayStep is one step under way.
type wayStep struct {
	way
	orders []wayOrder
}

func (s *wayStep) do(o wayOrder) { s.orders = append(s.orders, o) }

func (s *wayStep) become(state control.PairingState) { s.state = state }

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
func (s *wayStep) begin(at time.Duration, byHand bool) {
	if s.live() {
		s.do(doStop{s.run})
	}
	s.run++
	s.byHand, s.began, s.until = byHand, at, 0
	s.yields, s.around, s.target, s.code, s.typed, s.tries = false, nil, wayWindow{}, "", false, 0
}

// held: a device in a room opens its window. One that is in none looks first whether somebody else has.
func (s *wayStep) held(f wayHeld) {
	s.begin(f.At, true)
	if s.paired {
		s.open()
		return
	}
	s.become(control.PairingLooking)
	s.until = f.At + lookMost
	s.do(doLook{s.run})
}

func (s *wayStep) open() {
	s.yields = s.byHand && !s.paired
	s.until = 0 // the window has its own time
	s.become(control.PairingOpen)
	s.do(doOpen{s.run})
}

// pair opens the window, whatever others do: it was asked for by name.
func (s *wayStep) pair(f wayPair) {
	if s.state == control.PairingOpen {
		return
	}
	s.begin(f.At, false)
	s.open()
}

func (s *wayStep) join(f wayJoin) {
	if s.paired {
		return // the driver has refused it
	}
	s.begin(f.At, false)
	s.target, s.code, s.typed = f.Target, f.Code, f.Code != ""
	switch {
	case s.target.Device == "" && len(s.target.Addresses) == 0:
		s.become(control.PairingLooking)
		s.until = f.At + lookAsked
		s.do(doLook{s.run})
	default:
		s.approach(f.At)
	}
}

// approach goes to the target: with the code, or after having heard it.
func (s *wayStep) approach(at time.Duration) {
	if s.code != "" {
		s.do(doUnlook{s.run})
		s.become(control.PairingJoining)
		s.until = 0
		s.do(doTry{s.run, s.code, s.target})
		return
	}
	s.become(control.PairingListening)
	s.until = at + listenLimit
	s.do(doSay{control.PairingLine{State: control.PairingListening}})
	s.do(doListen{s.run})
}

func (s *wayStep) seen(f waySeen) {
	if f.Run != s.run {
		return
	}
	windows := slices.DeleteFunc(slices.Clone(f.Windows), func(w wayWindow) bool { return w.Device == s.self })
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
		above := slices.DeleteFunc(slices.Clone(windows), func(w wayWindow) bool { return w.RoomID == "" && w.Device > s.self })
		if len(above) == 1 {
			s.do(doShut{s.run})
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
func (s *wayStep) looked(at time.Duration) {
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

func (s *wayStep) tick(at time.Duration) {
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
func (s *wayStep) shut(f wayShut) {
	switch {
	case f.Run == s.run && s.state == control.PairingOpen:
		s.fail(f.Why)
	case s.founded && !s.live():
		s.founded = false
		s.do(doRestart{})
	}
}

func (s *wayStep) notJoined(f wayNotJoined) {
	if f.Run != s.run || s.state != control.PairingJoining {
		return
	}
	if f.Why == control.WhyWrongCode && !s.typed {
		if s.tries++; s.tries < wayTries && f.At < s.until { // heard amiss, or the room next door: it comes again
			s.code = ""
			s.become(control.PairingListening)
			s.do(doListen{s.run})
			return
		}
	}
	s.fail(f.Why)
}

// success: both are in, by what is on disk. It counts at any time, also after a press.
func (s *wayStep) success(p wayPeer, restart bool) {
	if s.live() {
		s.do(doStop{s.run})
	}
	s.run++
	s.end(control.PairingLine{State: control.PairingPaired, Peer: p.Name, Device: p.Device, Room: p.Room, Called: p.Called, Restarts: restart})
}

func (s *wayStep) fail(why control.PairingWhy) {
	s.do(doStop{s.run})
	s.run++
	s.end(control.PairingLine{State: control.PairingFailed, Why: why})
}

// cancel is silent: who presses has something else in mind.
func (s *wayStep) cancel() {
	if !s.live() || s.state == control.PairingLeaving { // which is quick, and cannot be taken back
		return
	}
	s.do(doStop{s.run})
	s.become(control.PairingCancelled)
	s.until = 0
}

func (s *wayStep) leave() {
	s.cancel()
	if s.paired && s.state != control.PairingLeaving {
		s.run++
		s.become(control.PairingLeaving)
		s.do(doLeave{})
	}
}

func (s *wayStep) gone(f wayGone) {
	if f.Why != "" {
		s.end(control.PairingLine{State: control.PairingFailed, Why: f.Why, Room: f.Room})
		return
	}
	s.run++ // a room that was given up on disk was not left by an attempt
	s.paired, s.founded = false, false
	s.end(control.PairingLine{State: control.PairingLeft, Room: f.Room, Restarts: true})
}

func (s *wayStep) out() {
	if s.live() {
		s.do(doStop{s.run})
		s.run++
	}
	s.paired, s.founded = false, false
	s.end(control.PairingLine{State: control.PairingRemoved, Restarts: true})
}

// end says what has come of it.
func (s *wayStep) end(l control.PairingLine) {
	s.become(l.State)
	s.until = 0
	if s.founded {
		l.Restarts, s.founded = true, false
	}
	s.do(doSay{l})
	if l.Restarts {
		s.do(doRestart{})
	}
}
