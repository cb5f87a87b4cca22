package turn

import "time"

// A call that comes in (TURNS.md 4). It rings while nothing else is to be heard, so that whoever speaks or is spoken to is not disturbed, and
// a press answers it: that press begins no turn.

// callRings: somebody calls. One at a time; of another one nobody is told here, because it was refused before (Machine.Ringing).
func (s *step) callRings(e CallRings) {
	m := &s.m
	if m.ring != 0 || m.calling != 0 || e.Handle == 0 {
		s.do(DiscardHandle{Turn: e.Turn, Handle: e.Handle, Kind: EffectInputClaim, Why: "busy"})
		return
	}
	m.ring, m.ringTurn = e.Handle, e.Turn
}

// callGone: whoever called has given up, or it has rung for long enough.
func (s *step) callGone(e CallGone) {
	if e.Handle != 0 && e.Handle == s.m.ring {
		s.refuseCall("given up")
	}
}

// refuseCall ends what rings; its claim never begins.
func (s *draft) refuseCall(why string) {
	m := &s.m
	if m.ring == 0 {
		return
	}
	s.do(DiscardHandle{Turn: m.ringTurn, Handle: m.ring, Kind: EffectInputClaim, Why: why})
	m.ring = 0
}

// answerCall: the press has silenced the ringing, and the call begins.
func (s *step) answerCall(at time.Duration) {
	m := &s.m
	s.do(FlushSpeaker{Turn: m.ringTurn})
	s.forgetGrant(at)
	s.do(StartClaim{Turn: m.ringTurn, Handle: m.ring})
	m.calling, m.callingTurn, m.callingSince, m.ring, m.rings = m.ring, m.ringTurn, at, 0, false
}

// ringOrNot has it sound where nothing else does. It comes after each fact, whatever that has changed.
func (s *draft) ringOrNot() {
	m := &s.m
	switch sounds := m.ring != 0 && m.Silent() && m.calling == 0; {
	case sounds && !m.rings:
		s.do(PlayCue{Turn: m.ringTurn, Cue: CueRinging})
	case !sounds && m.rings:
		s.do(StopCue{Cue: CueRinging})
	}
	m.rings = m.ring != 0 && m.Silent() && m.calling == 0
}
