package talk

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"conch/companions/round"
	"conch/coordinator/turn"
)

// Step returns the machine after ev, and what is to be done, in order.
func Step(m Machine, ev Event) (Machine, []Effect) {
	s := step{Machine: m.clone()}
	switch e := ev.(type) {
	case Asked:
		s.ask(question{turn: e.Turn, cause: e.Cause, alone: e.Alone, to: slices.Clone(e.To)})
	case Announced:
		s.ask(question{turn: e.Turn})
		s.do(TellPress(e))
	case InputCommitted:
		if q := s.about(e.Turn); q != nil && !q.told {
			q.due = e.At + transcriptPatience
		}
	case WordsCame:
		s.words(s.about(e.Turn), e.Text, e.Alone, e.First)
	case SpeechBegan:
		s.speechBegan(e)
	case SpeechKnown:
		s.speechKnown(e)
	case TurnEnded:
		s.turnEnded(e)
	case Granted:
		s.granted(e)
	case Opened:
		s.open(e)
	case Abandoned:
		s.abandoned(e)
	case VoteLost:
		if q := s.about(e.Turn); q == nil || !q.alone { // a device that was alone has answered already
			s.do(Post{turn.VoteLost(e)})
		}
	case MessageHeard:
		s.heard(e)
	case AnswerFailed:
		s.failed = e.Message
	case MannersTurned:
		s.excused = slices.DeleteFunc(s.excused, func(c round.CompanionID) bool { return e.Companion == "" || c == e.Companion })
	case Unanswered:
		s.unanswered(e)
	case DeadlinePassed:
		s.deadline(e)
	}
	return s.Machine, s.out
}

type step struct {
	Machine
	out []Effect
}

func (s *step) do(e Effect) { s.out = append(s.out, e) }

func (s *step) ask(q question) {
	s.began++
	if s.questions = append(s.questions, q); len(s.questions) > maxQuestions {
		s.questions = slices.Delete(s.questions, 0, 1)
	}
}

// about finds a question.
func (s *step) about(id turn.ID) *question {
	for i := range s.questions {
		if q := &s.questions[i]; q.turn == id && id != "" {
			return q
		}
	}
	return nil
}

func (s *step) find(is func(*answer) bool) *answer {
	for i := range s.answers {
		if is(&s.answers[i]) {
			return &s.answers[i]
		}
	}
	return nil
}

func (s *step) at(p round.Place, c round.CompanionID) *answer {
	return s.find(func(a *answer) bool { return a.place == p && a.companion == c })
}

// remove ends an answer: a is good no longer, so that its value is returned.
func (s *step) remove(a *answer) answer {
	was := *a
	s.answers = slices.DeleteFunc(s.answers, func(o answer) bool { return o.place == was.place && o.companion == was.companion })
	return was
}

// words tells the room what was asked, once; and once more where it was told that nobody has written it down, and somebody has.
func (s *step) words(q *question, text string, alone bool, first round.CompanionID) {
	blank := strings.TrimSpace(text) == ""
	if q == nil || q.told && (!q.mute || blank) {
		return
	}
	late := q.mute
	q.told, q.mute, q.due = true, blank, 0
	to, whispered := q.to, len(q.to) == 1
	if q.alone && !alone { // somebody came while it was being asked, and it is being answered already
		to, whispered = []round.Participant{round.Participant(first)}, false
	}
	if blank { // whoever heard it answers
		text, to, whispered = round.Unwritten, []round.Participant{round.Participant(first)}, false
	}
	tell := TellWords{q.turn, text, to, whispered}
	if late {
		s.do(TellLate{tell, q.alone})
		return
	}
	s.do(tell)
}

// speaks is the answer in a turn, if the room follows it.
func (s *step) speaks(id turn.ID) *answer {
	return s.find(func(a *answer) bool { return a.turn == id && (a.cued || !a.alone) })
}

func (s *step) speechBegan(e SpeechBegan) {
	if q := s.about(e.Turn); q != nil {
		q.began = true
	}
	if a := s.speaks(e.Turn); a != nil {
		s.do(TellBegan{a.place, a.companion})
	}
}

func (s *step) speechKnown(e SpeechKnown) {
	if q := s.about(e.Turn); q != nil {
		q.known, q.isKnown = e, true
	}
	if a := s.speaks(e.Turn); a != nil {
		s.do(TellKnown{a.place, a.companion, e.Text, e.At, e.Left})
	}
}

func (s *step) turnEnded(e TurnEnded) {
	if q := s.about(e.Turn); q != nil {
		q.record, q.over = e, true
		if s.owing.Turn == e.Turn {
			s.owing.Generation = e.Generation
			defer s.excuse(s.owing)
			s.owing = Unanswered{}
		}
		if !q.alone || !e.Audible && !e.acted() || q.told { // who is alone may have answered before the words are known: they still come
			if !q.told {
				s.do(TellPressEnded{e.Turn, e.Reason})
			}
			q.told, q.due = true, 0
		}
	}
	a := s.find(func(a *answer) bool { return a.turn == e.Turn })
	if a == nil || a.alone && !a.cued { // Opened tells it all
		return
	}
	s.report(s.remove(a), e)
}

// report tells the room of the end of an answer.
func (s *step) report(a answer, e TurnEnded) {
	r := round.SpeechEnded{
		Place: a.place, Companion: a.companion, OK: e.Audible,
		Cut: e.Audible && !e.Done, Heard: e.Heard, Text: e.Said, Said: e.Said, Why: e.Reason,
		Acted: e.acted(),
	}
	if e.Whole { // a press in the silence behind the words takes nothing away from them
		r.Cut, r.Why = false, turn.Done.String()
	}
	if r.Cut {
		r.Text = e.HeardText
	}
	if a.abandon != "" {
		r.Why = a.abandon
	}
	if !r.OK && !r.Acted && e.Words != "" {
		s.trouble = e.Words
	}
	s.do(TellEnded{r})
}

// granted makes a turn of a grant: the button's own, if it is still live and its companion is the one that heard it.
func (s *step) granted(e Granted) {
	g := e.Grant
	a := answer{place: g.Place, companion: g.Companion, turn: e.Turn, before: s.began}
	q := s.about(turn.ID(g.Turn))
	own := q != nil && g.Companion == e.First && (q.alone || !q.over)
	if own {
		a.turn, a.alone, a.opened = q.turn, q.alone, q.alone
	}
	if s.said = append(s.said, said{g.Place, g.Companion}); len(s.said) > maxSaid {
		s.said = slices.Delete(s.said, 0, 1)
	}
	if !a.alone && !own && !e.Up { // an utterance of one's own waits for the link as ever (TURNS.md 6); a message goes to the next who can
		s.report(a, TurnEnded{Reason: "its voice has no connection"})
		return
	}
	s.answers = append(s.answers, a)
	if a.alone { // it is being answered already, or has been
		return
	}
	if g.Turn != "" && !own {
		s.do(Post{turn.VoteLost{At: e.At, Turn: turn.ID(g.Turn)}})
	}
	// On a device that is busy (another companion of it speaks) the turn waits for that to end, and ends with a record of its
	// own if that is not to be.
	s.do(Post{turn.FloorGranted{At: e.At, Turn: a.turn, Who: e.Who, Hold: true, Prompt: e.Prompt, Cause: s.cause(e)}})
}

// cause is whose words an answer of a turn of its own follows. A question that is not known here any more counts as one from elsewhere.
func (s *step) cause(e Granted) turn.Cause {
	m := e.Grant.Message
	if m.Metadata.Silence || !m.From.Human() {
		return turn.CauseCompanion
	}
	if q := s.about(turn.ID(m.Turn)); q != nil && e.Here {
		return q.cause
	}
	return turn.CauseRoom
}

// open lets an answer be heard; of one that was given without the room, it is told what has become of it so far.
func (s *step) open(e Opened) {
	a := s.at(e.Place, e.Companion)
	if a == nil || a.cued {
		return
	}
	a.opened, a.cued = true, true
	if !a.alone {
		s.do(Post{turn.FloorOpened{At: e.At, Turn: a.turn}})
		return
	}
	q := s.about(a.turn)
	if q == nil {
		s.report(s.remove(a), TurnEnded{Reason: "more questions came than are kept"})
		return
	}
	if q.began {
		s.do(TellBegan{a.place, a.companion})
	}
	if q.isKnown {
		s.do(TellKnown{a.place, a.companion, q.known.Text, q.known.At, q.known.Left})
	}
	if q.over {
		s.report(s.remove(a), q.record)
	}
}

// abandoned gives an answer up. What was heard of it is known when its turn ends; a turn that never began is over at once.
func (s *step) abandoned(e Abandoned) {
	a := s.at(e.Place, e.Companion)
	if a == nil || a.abandon != "" {
		return
	}
	a.abandon, a.due = cmp.Or(e.Why, "given up"), e.At+abandonPatience
	if a.opened && a.before == s.began { // a question that came here since has cut it, and must not be silenced itself
		s.do(Hush{e.Why})
		return
	}
	s.do(Post{turn.VoteLost{At: e.At, Turn: a.turn}})
}

// heard puts what others said into the conversations of those who live here. Who said it, and who heard it through the microphone
// of its own session, has it already.
func (s *step) heard(e MessageHeard) {
	m := e.Message
	for _, c := range e.To {
		switch {
		case m.Text == "":
		case m.From == round.Participant(c):
			if !s.saidHere(m, c) { // before a restart: this session has not said it
				s.do(Remember{c, true, m})
			}
		case c == e.First && m.From.Human() && m.Turn != "" && s.about(turn.ID(m.Turn)) != nil:
		default:
			s.do(Remember{c, false, m})
		}
	}
}

// saidHere says whether c's session has said a message itself.
func (s *step) saidHere(m round.Message, c round.CompanionID) bool {
	return slices.ContainsFunc(s.said, func(p said) bool {
		n := m.Number - p.place.Number
		return p.companion == c && p.place.Epoch == m.Epoch && (n == 0 || n == 1) // the same number: what was cut off
	})
}

// unanswered: a question of this device that came to nothing because everybody failed is no silence that anybody wanted: the person
// is told (TURNS.md 6), unless he has pressed again, and may be speaking. So is, once a mute, who calls somebody that is muted.
func (s *step) unanswered(e Unanswered) {
	if len(s.questions) == 0 || s.questions[len(s.questions)-1].turn != e.Turn {
		return
	}
	switch q := s.about(e.Turn); {
	case e.Message == s.failed:
		s.do(SayWords{e.Turn, cmp.Or(s.trouble, turn.WordsNoAnswer), e.Generation, e.Why})
		s.trouble = ""
	case q != nil && q.over:
		s.excuse(e)
	default:
		s.owing = e
	}
}

// excuse tells whoever calls somebody that is muted, unless that was said before.
func (s *step) excuse(e Unanswered) {
	unsaid := slices.DeleteFunc(slices.Clone(e.Muted), func(c round.CompanionID) bool { return slices.Contains(s.excused, c) })
	if len(unsaid) == 0 || s.questions[len(s.questions)-1].turn != e.Turn {
		return
	}
	s.excused = append(s.excused, unsaid...)
	s.excused = s.excused[max(0, len(s.excused)-maxExcused):]
	s.do(SayWords{e.Turn, turn.WordsNotAllowed, e.Generation, e.Why})
}

// deadline ends what was waited for.
func (s *step) deadline(e DeadlinePassed) {
	passed := func(due time.Duration) bool { return due != 0 && due <= e.At }
	for i := range s.questions {
		if q := &s.questions[i]; passed(q.due) {
			s.words(q, "", e.Alone, e.First)
		}
	}
	for {
		a := s.find(func(a *answer) bool { return passed(a.due) })
		if a == nil {
			return
		}
		was := s.remove(a)
		s.report(was, TurnEnded{Reason: was.abandon})
	}
}
