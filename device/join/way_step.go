package join

import (
	"slices"
	"time"

	"conch/device/control"
)

// Of the way: which event does what.

func (w way) step(ev event) (way, []order) {
	s := stepping{way: w}
	switch f := ev.(type) {
	case Held:
		s.held(f)
	case Alone:
		s.alone = f.Is
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
	case Stopped:
		if s.state == control.PairingOpen {
			s.do(Stop{s.run})
			s.run++
			s.end(control.PairingLine{State: control.PairingFailed, Why: control.WhyStopped, Peer: f.By})
		}
	case Founded:
		s.founded, s.paired = true, true
	case Admitted:
		s.success(f.Peer, s.founded)
	case CodeHeard:
		if f.Run == s.run && s.state == control.PairingListening {
			s.code, s.tried = f.Code, nil
			s.try()
		}
	case HearingFailed:
		if f.Run == s.run && s.state == control.PairingListening {
			s.fail(f.Why)
		}
	case Joined:
		s.paired, s.alone = true, false
		s.success(f.Peer, true)
	case JoinFailed:
		s.notJoined(f)
	case KeepAsked:
		s.keep(f.At)
	case Kept:
		s.kept(f)
	case Moved:
		s.moved(f)
	case Renamed:
		if !s.live() {
			s.end(control.PairingLine{State: control.PairingRenamed, Called: f.Called})
		}
	case Left:
		s.gone(f)
	}
	return s.way, s.orders
}

func (s *stepping) seen(f WindowsSeen) {
	if f.Run != s.run {
		return
	}
	windows := slices.DeleteFunc(slices.Clone(f.Windows), func(w Window) bool { return w.Device == s.self })
	s.around = windows
	switch s.state {
	case control.PairingLooking:
		if f.At >= s.until || s.enough(f.At) {
			s.looked(f.At)
		}
	case control.PairingJoining: // one more, while the others are tried
		if s.typed && !s.named {
			s.try()
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

// step takes one event.

// held: a device in a room with others opens its window. One that is in none looks first whether somebody else has.

//

// Where the room's keeper has been gone for long no window would open. It says so instead, and what it takes to keep the room in its place:

// to be held once more.

func (s *stepping) held(f Held) {
	offered := s.offered
	s.begin(f.At, true)
	switch {
	case s.paired && f.Missing && offered > 0 && f.At-offered <= offerLimit:
		s.keep(f.At)
		return
	case s.paired && f.Missing:
		s.fail(control.WhyMissing)
		s.offered = f.At
		return
	case s.paired && !s.alone:
		s.open()
		return
	}
	s.become(control.PairingLooking)
	s.until = f.At + lookMost
	s.do(Look{s.run})
}

// pair opens the window, whatever others do: it was asked for by name.

func (s *stepping) pair(f OpenAsked) {
	if s.state == control.PairingOpen {
		return
	}
	s.begin(f.At, false)
	s.open()
}

func (s *stepping) tick(at time.Duration) {
	switch {
	case s.state == control.PairingLooking && s.enough(at):
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
