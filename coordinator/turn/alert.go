package turn

import "time"

// What rings until a person presses: the machine knows of it what decides what a press is.

// alert is the one that has begun to ring.
type alert struct {
	begun, rings bool
	since        time.Duration // it rings
}

// alertChanged is told what has become of it.
func (s *step) alertChanged(e AlertChanged) {
	a := &s.m.alert
	if e.Rings && !a.rings {
		a.since = e.At
	}
	a.begun, a.rings = e.Begun, e.Rings
	if !a.rings {
		a.since = 0
	}
}

// answerAlert: while an alert rings a press stops it and opens no turn (TURNS.md 4). Whoever pressed in its first moment cannot have
// meant it. An answer that is only being made ready is not heard of either: the finger has hushed the room.
func (s *step) answerAlert(e Pressed) {
	if s.m.state != Idle {
		s.cut(e.At, e.Turn, false)
		s.become(Idle, resting)
	} else {
		s.do(FlushSpeaker{Turn: e.Turn})
	}
	s.stopAlert(StopAlert{Pressed: true})
	s.forgetGrant(e.At)
}

func (s *draft) stopAlert(how StopAlert) {
	if s.m.alert.begun {
		s.do(how)
		s.m.alert = alert{}
	}
}
