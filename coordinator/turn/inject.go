package turn

import "time"

// Turns that nobody pressed for: of the queue, and the question that is kept for a session (TURNS.md 6).

// injected begins a turn of the queue.
func (s *step) injected(e TurnInjected) {
	m := &s.m
	if m.state != Idle || m.wordsUntil != 0 {
		s.stale(e.Turn, "TurnInjected", "the device is not quiet")
		return
	}
	if !s.fresh(e.Turn, "TurnInjected") {
		return
	}
	if e.Kept {
		s.askKept(e)
		return
	}
	s.preempt()
	s.open(e.At, grant{turn: e.Turn, who: e.Who, cause: CauseInjected, hold: e.Hold, prompt: e.Prompt}, SourceInject)
}

// open begins a turn that needs no microphone.
func (s *step) open(at time.Duration, g grant, src Source) {
	s.begin(g.turn, src, g.cause, at)
	s.become(Committing, asking)
	s.m.who, s.m.prompt, s.m.released = g.who, g.prompt, at
	s.m.toHold = g.hold
	if s.m.fatal != "" {
		s.m.held = g.hold
		s.fail(at, s.m.fatal, Failed)
		return
	}
	s.answer(at)
}

// kept is the one question that waits for a session. Its sound is with the voice, which KeepInput has told.
type kept struct {
	turn  ID // in which it was asked; empty: none is kept
	until time.Duration
	said  bool // that it is asked now, and no turn has begun since
}

// keeps tells whether the question of the live turn may be kept: it was said aloud, and what is missing is a connection, and nothing of
// which the person is told something else to do. Nothing begins to talk by itself while people sleep.
func (s *draft) keeps(night bool) bool {
	m := &s.m
	return m.recorded && !m.held && !m.online && m.fatal == "" && mendsItself(orWords(m.away, WordsOffline)) && m.cfg.Keep > 0 && !night
}

// mendsItself tells that what is missing comes back without anybody's doing: a network, or a model that is being loaded.
func mendsItself(w Words) bool { return w.Unreached() || w == WordsHearOnly || w == WordsNoAnswer }

// keep gives a question up for now, with the offer to keep it. One that was kept before has no longer than it had.
func (s *step) keep(at time.Duration, w Words) {
	m := &s.m
	until := at + m.cfg.Keep
	if m.late > 0 {
		until = m.late
	}
	m.kept = kept{turn: m.turn, until: until}
	s.fail(at, w, Expired)
}

// askKept: the session is back and the device quiet. First that is said, since whoever asked may be thinking of something else by now; the
// queue, which finds no turn begun, brings it once more behind these words.
func (s *step) askKept(e TurnInjected) {
	m := &s.m
	k := m.kept
	switch {
	case k.turn == "" || !m.online:
		s.stale(e.Turn, "TurnInjected", "nothing is kept, or there is no session")
		return
	case !k.said:
		m.kept.said = true
		s.speak(e.At, SayWords{Turn: k.turn, Words: WordsKeptAsked})
		return
	}
	m.kept = kept{}
	s.begin(e.Turn, SourceInject, CauseUtterance, e.At)
	m.released, m.recorded, m.late = e.At, true, k.until
	s.do(ClearInput{Turn: e.Turn, Kept: k.turn})
	s.do(CommitInput{Turn: e.Turn})
	s.answerOrVote(e.At)
}

// offer is what a person is told of the question, behind why it is not answered.
func (s *draft) offer() Words {
	switch {
	case s.m.kept.turn != s.m.turn && s.m.instead:
		return WordsLetGo
	case s.m.kept.turn != s.m.turn:
		return ""
	case s.m.instead:
		return WordsKeptInstead
	}
	return WordsKept
}

// forgetKept tells whether a question was kept until now.
func (s *draft) forgetKept() bool {
	if s.m.kept.turn == "" {
		return false
	}
	s.m.kept = kept{}
	s.do(KeepInput{})
	return true
}

// keptTooLong: whatever somebody said is either sent or given up aloud.
func (s *draft) keptTooLong(at time.Duration) {
	t := s.m.kept.turn
	s.forgetKept()
	s.m.owed = owed{WordsKeptLate, t}
	s.sayOwed(at)
}
