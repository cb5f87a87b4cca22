package join

import (
	"time"

	"conch/device/control"
)

// Of the way: what becomes of the room that this device is in, or was. None of it needs a code.

func (s *stepping) leave() {
	s.cancel()
	if s.paired && s.state != control.PairingLeaving {
		s.run++
		s.become(control.PairingLeaving)
		s.do(Leave{})
	}
}

// keep makes this device the keeper of its room. Whether it may be is asked of what is on disk (membership.Keep).
func (s *stepping) keep(at time.Duration) {
	if !s.paired || s.state == control.PairingLeaving || s.state == control.PairingKeeping {
		return
	}
	s.begin(at, s.byHand)
	s.become(control.PairingKeeping)
	s.do(Keep{})
}

func (s *stepping) kept(f Kept) {
	s.run++
	if f.Why != "" {
		s.end(control.PairingLine{State: control.PairingFailed, Why: f.Why})
		return
	}
	s.end(control.PairingLine{State: control.PairingKeeper, Restarts: true})
}

// moved: what is under way goes on, unless this device must begin anew.
func (s *stepping) moved(f Moved) {
	l := control.PairingLine{State: control.PairingMoved, Peer: f.Peer.Name, Device: f.Peer.Device, Room: f.Peer.Room, Restarts: f.Anew}
	switch {
	case !s.live():
	case f.Anew:
		s.do(Stop{s.run})
		s.run++
	default:
		s.do(Say{l})
		return
	}
	s.end(l)
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
