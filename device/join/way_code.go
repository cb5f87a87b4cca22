package join

import (
	"slices"
	"strings"
	"time"

	"conch/device/control"
)

// Of the way: what windows are seen, and at which of them the code is tried.

// untried are the windows at which the present code was not tried yet, the one that was listened to first.
func (s *stepping) untried() (todo []Window) {
	all := []Window{s.target}
	if !s.named {
		all = append(all, s.around...)
	}
	for _, w := range all {
		if key := w.key(); !slices.Contains(s.tried, key) && !slices.ContainsFunc(todo, func(o Window) bool { return o.key() == key }) {
			todo = append(todo, w)
		}
	}
	return todo
}

// try takes the code to each window where it was not yet: nothing that a window says of itself tells whose the code is, and a window that does not
// know the code learns nothing from the try but that one guess of its own was wrong.
func (s *stepping) try() bool {
	todo := s.untried()
	if len(todo) == 0 {
		return false
	}
	s.tried = slices.Clone(s.tried)
	for _, w := range todo {
		s.tried = append(s.tried, w.key())
	}
	s.flying++
	s.become(control.PairingJoining)
	s.do(Try{s.run, s.code, todo})
	return true
}

// line is how far this device is, with the windows that it has to do with where there are several.
func (w way) line(state control.PairingState) control.PairingLine {
	l := control.PairingLine{State: state, Peer: w.target.Name, Room: w.target.Room}
	if (state == control.PairingListening || state == control.PairingJoining) && !w.named && len(w.around) > 1 {
		l.Peer, l.Room, l.Why, l.Windows = "", "", control.WhyTwoWindows, names(w.around)
	}
	return l
}

// names are what windows call themselves; where two say the same, with the beginning of the id that each shows.
func names(windows []Window) (all []string) {
	for _, w := range windows {
		name := w.Name
		if name == "" || slices.ContainsFunc(windows, func(o Window) bool { return o.Name == name && o.Device != w.Device }) {
			name = strings.TrimSpace(name + " " + string(w.Device[:min(len(w.Device), shownID)]))
		}
		all = append(all, name)
	}
	return all
}

// shownID is how much of an id tells two devices of one name apart for people.
const shownID = 6

// enough says that what is seen need not be waited for any longer: by hand a second window may give way in time.
func (s *stepping) enough(at time.Duration) bool {
	if s.why != "" {
		return len(s.untried()) > 0
	}
	return at-s.began >= lookLeast && (len(s.around) == 1 || s.typed && len(s.around) > 1)
}

// looked ends the looking.
func (s *stepping) looked(at time.Duration) {
	switch {
	case s.why != "":
		if !s.try() {
			s.fail(s.why)
		}
	case len(s.around) > 0:
		s.target = s.around[0]
		s.approach(at)
	case s.byHand:
		s.open() // and go on looking: others may have been held at the same moment
	default:
		s.fail(control.WhyNobody)
	}
}

func (s *stepping) notJoined(f JoinFailed) {
	if f.Run != s.run || s.state != control.PairingJoining {
		return
	}
	if s.why == "" || f.Why == control.WhyWrongCode {
		s.why = f.Why
	}
	if s.flying--; s.flying > 0 {
		return
	}
	if s.typed && !s.named {
		if again := s.began + lookFurther; f.At < again { // a window that answers first need not be the one that is meant
			s.become(control.PairingLooking)
			s.until = again
			return
		}
		s.fail(s.why)
		return
	}
	f.Why, s.why = s.why, ""
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

func (s *stepping) join(f JoinAsked) {
	if s.paired && !s.alone {
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
		s.named = true
		s.approach(f.At)
	}
}

// approach goes to the target: with the code, or after having heard it.
func (s *stepping) approach(at time.Duration) {
	if s.code != "" {
		if s.named {
			s.do(Unlook{s.run})
		}
		s.until = 0
		s.try()
		return
	}
	s.become(control.PairingListening)
	s.until = at + listenLimit
	s.do(Say{s.line(control.PairingListening)})
	s.do(Listen{s.run})
}
