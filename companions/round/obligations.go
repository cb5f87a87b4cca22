package round

import (
	"fmt"
	"slices"
	"strings"

	"conch/companions/words"
)

// Importance of a vote by obligation. Names outrank the order of a queue, that a conversation that goes on (ROOM.md 4).
const (
	calledImportance   = 10
	queuedImportance   = 8
	followUpImportance = 9 // never beside the others: it is decided only when nobody is called or queued
	nextImportance     = 0.25
)

// vote is a companion's vote.
func (s *scene) vote(id CompanionID) Vote {
	v := Vote{From: id, MessageID: s.now.ID, State: StateListen, Closing: s.closing(id), Spoke: s.spoke(id)}
	card, ok := s.cards[id]
	if !ok {
		v.Reason = "it is not in the room"
		return v
	}
	if why := s.forbidden(card); why != "" {
		v.forbid(why)
		return v
	}
	if o := s.obligation(card); o.why != "" {
		v.Reason = o.why
		if o.term == termLimit {
			v.forbid(o.why)
			return v
		}
		v.Selected = o.importance > 0
		if v.Selected {
			v.State, v.Importance = StateSpeak, o.importance
			v.Terms = []Term{{o.term, o.importance, o.why}}
		}
		return v
	}
	s.score(card, &v)
	return v
}

// termLimit is the term of a vote that is forbidden to speak: no model lifts it (ROOM.md 3.2).
const termLimit = "limit"

func (v *Vote) forbid(why string) {
	v.State, v.Reason = StateListen, why
	v.Terms = append(slices.Clip(v.Terms), Term{termLimit, 0, why})
}

func (v *Vote) forbidden() bool {
	return slices.ContainsFunc(v.Terms, func(t Term) bool { return t.Name == termLimit })
}

// closing is the stage that the conversation has reached for a companion.
func (s *scene) closing(id CompanionID) Closing {
	return closings[min(s.talk.Closed(string(id), s.v.Manners.Repetition), len(closings)-1)]
}

// forbidden is why a companion may not speak whatever was said; empty: it may.
func (s *scene) forbidden(c Card) string {
	switch {
	case c.Muted:
		return "it is muted"
	case Participant(c.ID) == s.now.From:
		return "it said that itself"
	case s.now.Metadata.Chain >= s.v.Manners.ChainLimit && s.now.Metadata.Chain > 0:
		return fmt.Sprintf("%d companion turns without a person are the limit", s.v.Manners.ChainLimit) // as Machine.spent
	}
	return ""
}

// obliged is what the rules before the score say: importance 0 is silence, why empty is nothing.
type obliged struct {
	term       string
	importance float64
	why        string
}

// obligation applies ROOM.md 4 in its order: who was addressed, whose turn was announced, who alone is here, whose
// conversation goes on.
func (s *scene) obligation(c Card) obliged {
	if s.now.Metadata.Silence {
		return obliged{}
	}
	me := string(c.ID)
	if (slices.Contains(s.now.Excluded, me) || slices.Contains(s.whom.Not, me)) && !slices.Contains(s.now.Called, me) {
		return obliged{term: termLimit, why: "the speaker asked for somebody else"}
	}
	if s.whom.Rule == words.RuleNobody {
		return obliged{term: termLimit, why: s.whom.Why}
	}
	if o := s.addressed(me); o.why != "" {
		return o
	}
	if o := s.queued(c.ID); o.why != "" {
		return o
	}
	if !s.now.From.Human() {
		return s.companionTalk(me)
	}
	if s.v.Room == InvolvementOff && s.whom.Rule != words.RuleAsked && s.whom.Rule != words.RuleAll {
		return obliged{term: termLimit, why: "the companions of this room speak only when asked"}
	}
	if o := s.meant(me); o.why != "" {
		return o
	}
	if s.alone(c) && s.now.Intent != words.Approval && s.now.Intent != words.Farewell {
		return obliged{"alone", followUpImportance, "it is the only companion here"}
	}
	return obliged{}
}

// meant: the rules that need neither a name nor a score say for whom a person's line is (words.Whom).
func (s *scene) meant(me string) obliged {
	w := s.whom
	if w.Nobody {
		return obliged{why: w.Why}
	}
	i := slices.Index(w.Who, me)
	switch {
	case len(w.Who) == 0:
		return obliged{}
	case i < 0 && w.Rule == words.RuleThread:
		return obliged{why: fmt.Sprintf("%s what %s said", w.Why, s.name(w.Who[0]))}
	case i < 0:
		return obliged{why: w.Why + ": " + strings.Join(each(w.Who, s.name), " and ")}
	case w.Rule == words.RuleThread:
		return obliged{"follow-up", followUpImportance, w.Why + " what it said"}
	}
	return obliged{"meant", max(queuedImportance+nextImportance, calledImportance-float64(i)*nextImportance), w.Why}
}

// addressed: names in the text and participants in To (ROOM.md 4.2).
func (s *scene) addressed(me string) obliged {
	called := s.now.Called
	if s.whom.Rule != "" { // a person's line
		called = nil
	}
	if s.whom.Rule == words.RuleCalled {
		called = s.whom.Who
	}
	if len(called) == 0 {
		return obliged{}
	}
	who := s.name(string(s.now.From))
	n := s.handoffs()
	if n > s.v.Manners.Handoffs {
		if slices.Contains(called, me) {
			return obliged{why: fmt.Sprintf("%s handed over to it, but only %d hand-offs in a row are followed", who, s.v.Manners.Handoffs)}
		}
		return obliged{}
	}
	if i := slices.Index(called, me); i >= 0 {
		before := 0 // how many companions are named before it
		for _, p := range called[:i] {
			if _, ok := s.present(p); ok {
				before++
			}
		}
		why := who + " addressed it"
		switch {
		case n > 0:
			why = who + " handed over to it"
		case before > 0:
			why = fmt.Sprintf("%s addressed it too, as number %d", who, before+1)
		}
		return obliged{"addressed", max(queuedImportance+nextImportance, calledImportance-float64(before)*nextImportance), why}
	}
	verb := " was addressed"
	if len(called) > 1 {
		verb = " were addressed"
	}
	return obliged{why: strings.Join(each(called, s.name), " and ") + verb}
}

// handoffs is how many hand-offs from companion to companion in a row this message ends; 0: it is none.
func (s *scene) handoffs() int {
	n := 0
	for _, h := range slices.Backward(append(slices.Clip(s.past), s.now)) {
		if !h.Line.Companion || !slices.ContainsFunc(h.Called, func(p string) bool { return !Participant(p).Human() }) {
			break
		}
		n++
	}
	return n
}

// queued: whose turn was announced with an earlier message (two names, a cascade).
func (s *scene) queued(id CompanionID) obliged {
	queue := without(s.now.Metadata.Queue, func(q CompanionID) bool {
		c, ok := s.cards[q]
		return !ok || c.Muted || Participant(q) == s.now.From
	})
	if len(queue) == 0 {
		return obliged{}
	}
	named, extra := s.person()
	free := s.v.Manners.ExtraLimit - extra
	for i, q := range queue {
		asked := slices.Contains(named, string(q))
		if !asked && i >= free {
			if q == id {
				return obliged{why: fmt.Sprintf("%d additions to an answer are the limit", s.v.Manners.ExtraLimit)}
			}
			continue
		}
		if q == id {
			why := "it adds to the answer"
			if asked {
				why = "it was addressed too, and is next"
			}
			return obliged{"queue", queuedImportance - float64(i)*nextImportance, why}
		}
	}
	if free <= 0 && !slices.ContainsFunc(queue, func(q CompanionID) bool { return slices.Contains(named, string(q)) }) {
		return obliged{}
	}
	return obliged{why: s.name(string(queue[0])) + " is next"}
}

// person finds the last message of a person: whom it called, and how many additions its answer has had.
func (s *scene) person() (named []string, extra int) {
	for _, h := range slices.Backward(append(slices.Clip(s.past), s.now)) {
		if h.From.Human() {
			if h.ForAll() {
				return each(s.now.Metadata.Queue, func(q CompanionID) string { return string(q) }), extra
			}
			return h.Called, extra
		}
		if h.Metadata.Extra {
			extra++
		}
	}
	return nil, extra
}

// companionTalk is what follows from the words of a companion that name nobody.
func (s *scene) companionTalk(me string) obliged {
	if asked := s.now.Line.Asked; len(asked) > 0 && s.handoffs() < s.v.Manners.Handoffs { // "Ada should answer that"
		if slices.Contains(asked, me) {
			return obliged{"addressed", calledImportance, s.name(string(s.now.From)) + " handed over to it"}
		}
		if _, here := s.present(asked[0]); here {
			return obliged{why: s.name(asked[0]) + " was asked"}
		}
	}
	if !s.now.Asks() {
		return obliged{}
	}
	if l := s.talk.Last(); l != nil && s.now.AsksBack() {
		if l.From == me {
			return obliged{"cue", followUpImportance, s.name(string(s.now.From)) + " asked it back"}
		}
		if _, here := s.present(l.From); here {
			return obliged{why: s.name(l.From) + " was asked back"}
		}
	}
	if slices.ContainsFunc(s.past, func(h heard) bool { return h.From.Human() }) {
		return obliged{why: "the question is for the person"}
	}
	return obliged{}
}

// alone says whether c is the only one who could answer.
func (s *scene) alone(c Card) bool {
	if c.Involvement == InvolvementOff {
		return false
	}
	for _, o := range s.cards {
		if o.ID != c.ID && !o.Muted && Participant(o.ID) != s.now.From {
			return false
		}
	}
	return true
}
