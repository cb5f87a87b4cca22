package turn

import "time"

// An answer that is made ready while somebody else still speaks (ROOM.md 3.5: the pause between two turns is a pause and
// not a model's latency). It is an ordinary turn but that nothing of it is heard: no sample, no thinking cue, no tool, no
// words for a failure. It ends by FloorOpened, which makes it ordinary, or by VoteLost, a gesture, or its own deadline.

// floorOpened lets a held turn be heard. Waits begin anew, since nothing could happen before.
func (s *step) floorOpened(e FloorOpened) {
	m := &s.m
	if e.Turn != "" && e.Turn == m.next.turn {
		m.next.hold = false
		return
	}
	if !s.mine(e.Turn, "FloorOpened") {
		return
	}
	if !m.held {
		if !m.toHold {
			s.stale(e.Turn, "FloorOpened", "nothing is held")
		}
		m.toHold = false // of a turn that is still recorded
		return
	}
	m.held, m.toHold, m.heldUntil = false, false, 0
	s.do(ReleaseSpeech{Turn: m.turn})
	m.playUntil = e.At + samplesLast(m.total)
	for i := range m.calls[:m.called] {
		if c := &m.calls[i]; c.waits {
			s.callTool(c.response, c.id, c.name, c.args)
			*c = call{id: c.id, order: c.order}
		}
	}
	switch m.phase {
	case asking: // its deadline is the server's, who knows of no floor
		s.think(e.At)
	case speaking:
		s.keepAlive(e.At)
	case draining:
		s.await(e.At, m.cfg.InResponse)
	case working:
		s.await(e.At, m.cfg.Awaiting)
		s.think(e.At)
	}
}

// grantLater keeps a grant for the end of the live turn. A person who speaks comes first, and a call lasts as long as it
// lasts: there the grant is refused, so that the next candidate is asked.
func (s *step) grantLater(e FloorGranted) {
	m := &s.m
	switch {
	case e.Turn == m.next.turn:
		m.next.hold = m.next.hold && e.Hold
	case !s.fresh(e.Turn, "FloorGranted"):
	default:
		s.forgetGrant(e.At)
		m.next = grantOf(e)
		m.next.until = e.At + m.cfg.Hold
		if m.calling != 0 || m.rings || m.phase == recording || m.phase == closing {
			s.forgetGrant(e.At)
		}
	}
}

func grantOf(e FloorGranted) grant {
	return grant{turn: e.Turn, who: e.Who, cause: e.Cause, hold: e.Hold, prompt: e.Prompt}
}

// forgetGrant ends a turn that never began.
func (s *draft) forgetGrant(at time.Duration) {
	m := &s.m
	t, who, cause := m.next.turn, m.next.who, m.next.cause
	if t == "" {
		return
	}
	m.next = grant{}
	s.do(EndTurn{Turn: t, Summary: Summary{Reason: LostVote, Who: who, Source: SourceRoom, Cause: cause, Began: at, Ended: at}})
	s.remember(t)
}

// proceed begins the turn that waited, once the device is quiet.
func (s *step) proceed(at time.Duration) {
	if g := s.m.next; g.turn != "" && s.m.Silent() && s.m.calling == 0 {
		s.m.next = grant{}
		s.open(at, g, SourceRoom)
	}
}

// unheard ends a held turn without a sound. What it said is taken out of the conversation.
func (s *step) unheard(at time.Duration, r Reason, w Words) {
	m := &s.m
	s.stopThinking()
	s.discardLatched("cancelled")
	s.tellModel()
	if !m.online && m.phase == asking && r != LostVote {
		s.do(ClearInput{Turn: m.turn, Who: m.who}) // the voice must not send it after all
	}
	s.orphanCalls()
	if m.speechOpen || m.phase == draining {
		s.do(CutSpeech{Turn: m.turn})
		m.speechOpen = false
	}
	s.end(at, r, w)
}

// heard takes over what the card has played; nothing of a held turn.
func (s *draft) heard(e SpeechHeard) {
	m := &s.m
	if m.held || m.phase == writing {
		return
	}
	s.played(e.At, min(e.Samples, m.total))
}

// played notes how much has been heard, and when the first of it was.
func (s *draft) played(at time.Duration, n int) {
	m := &s.m
	m.heard = max(m.heard, n)
	if m.firstHeard == 0 && m.heard > 0 {
		m.firstHeard = at - samplesLast(m.heard)
	}
}

func samplesLast(n int) time.Duration { return time.Duration(n) * time.Second / sampleRate }
