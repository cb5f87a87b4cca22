package round

import (
	"slices"
	"strings"

	"conch/companions/round/because"
	"conch/companions/words"
)

// Importance of a vote by obligation. Names outrank the order of a queue, that a conversation that goes on (ROOM.md 4).
const (
	calledImportance   = 10
	queuedImportance   = 8
	followUpImportance = 9 // never beside the others: it is decided only when nobody is called or queued
	nextImportance     = 0.25
)

// obliged is what the rules before the score say: importance 0 is that the word is somebody else's, why empty is nothing.
type obliged struct {
	term       string
	importance float64
	why        because.Reason
	asked      bool // for this very companion, by name or in turn
}

// free: nothing is owed to anybody, so far as this companion is concerned.
func (o obliged) free() bool { return o.why == "" }

// Terms of what is owed.
const (
	termAddressed = "addressed"
	termQueue     = "queue"
	termCue       = "cue"
	termFollowUp  = "follow-up"
	termMeant     = "meant"
	termAlone     = "alone"
)

// owed applies ROOM.md 4 in its order: who was addressed, whose turn was announced, who alone is here, whose
// conversation goes on.
func (s *scene) owed(c Card) obliged {
	if s.now.Metadata.Silence {
		return obliged{}
	}
	me := string(c.ID)
	queued, named := s.queued(c.ID)
	switch o := s.addressed(me); {
	case o.importance > 0, !o.free() && !named: // a hand-off takes the word from nobody whom a person has named
		return o
	case !queued.free():
		return queued
	case !s.now.From.Human():
		return s.companionTalk(me)
	}
	if o := s.meant(me); !o.free() {
		return o
	}
	if s.alone(c) && s.now.Intent != words.Approval && s.now.Intent != words.Farewell {
		return obliged{term: termAlone, importance: followUpImportance, why: because.Of("only_one")}
	}
	return obliged{}
}

// meant: the rules that need neither a name nor a score say for whom a person's line is (words.Whom).
func (s *scene) meant(me string) obliged {
	w := s.whom
	if w.Nobody {
		return obliged{why: because.Of(w.Why, s.spokenTo()...)}
	}
	i := slices.Index(w.Who, me)
	switch {
	case len(w.Who) == 0:
		return obliged{}
	case i < 0 && w.Rule == words.RuleThread:
		return obliged{why: because.Of(w.Why+"_with", "who", w.Who[0])}
	case i < 0:
		return obliged{why: because.Of("meant", "who", strings.Join(w.Who, " "))}
	case w.Rule == words.RuleThread:
		return obliged{termFollowUp, followUpImportance, because.Of(w.Why), false}
	}
	asked := w.Rule == words.RuleAsked || w.Rule == words.RuleAll
	return obliged{termMeant, max(queuedImportance+nextImportance, calledImportance-float64(i)*nextImportance), because.Of(w.Why), asked}
}

// addressed: names in the text and participants in To (ROOM.md 4.2).
func (s *scene) addressed(me string) obliged {
	n := s.handoffs()
	called := s.called()
	if len(called) == 0 || n > s.v.Manners.Handoffs {
		return obliged{}
	}
	by := string(s.now.From)
	i := slices.Index(called, me)
	if i < 0 {
		return obliged{why: s.wereAddressed()}
	}
	before := 0 // how many companions are named before it
	for _, p := range called[:i] {
		if _, ok := s.present(p); ok {
			before++
		}
	}
	why := because.Of("addressed", "by", by)
	switch {
	case n > 0:
		why = because.Of("handed", "by", by)
	case before > 0:
		why = because.Of("addressed_too", "by", by, "n", because.Count(before+1))
	}
	return obliged{termAddressed, max(queuedImportance+nextImportance, calledImportance-float64(before)*nextImportance), why, true}
}

// called are whom the message calls by name, in order.
func (s *scene) called() []string {
	switch s.whom.Rule {
	case words.RuleCalled:
		return s.whom.Who
	case "": // a companion's line, too
		return s.now.Called
	}
	return nil
}

// wereAddressed says who has the word.
func (s *scene) wereAddressed() because.Reason {
	code := "was_addressed"
	if len(s.called()) > 1 {
		code = "were_addressed"
	}
	return because.Of(code, "who", strings.Join(s.called(), " "))
}

// spokenTo is an argument: the names of people whom the line calls, as they were said.
func (s *scene) spokenTo() []string {
	if s.whom.Rule != words.RulePerson {
		return nil
	}
	return []string{"what", strings.Join(s.now.People, ", ")}
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

// promised are those whose turn was announced with an earlier message (two names, a cascade), in order: whom a person named, then as many
// additions as there may still be; late are those for whom there is none.
type promised struct {
	next, late []CompanionID
	named      []string
}

func (s *scene) queue() (p promised) {
	if len(s.now.Metadata.Queue) == 0 {
		return p
	}
	named, extra := s.person()
	free := s.v.Manners.ExtraLimit - extra
	p.named = named
	for _, q := range s.now.Metadata.Queue {
		c, ok := s.cards[q]
		asked := slices.Contains(named, string(q))
		switch {
		case !ok || c.Muted || Participant(q) == s.now.From:
		case asked:
			p.next = append(p.next, q)
		case free <= 0:
			p.late = append(p.late, q)
		default:
			free--
			p.next = append(p.next, q)
		}
	}
	return p
}

// queued: whose turn was announced; named: by a person.
func (s *scene) queued(id CompanionID) (o obliged, named bool) {
	q := s.queue()
	if len(q.next) == 0 {
		return o, false
	}
	i := slices.Index(q.next, id)
	if i < 0 {
		return obliged{why: because.Of("next", "who", string(q.next[0]))}, false
	}
	why := because.Of("adds")
	if named = slices.Contains(q.named, string(id)); named {
		why = because.Of("next_itself")
	}
	return obliged{termQueue, queuedImportance - float64(i)*nextImportance, why, true}, named
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
			return obliged{termAddressed, calledImportance, because.Of("handed", "by", string(s.now.From)), true}
		}
		if _, here := s.present(asked[0]); here {
			return obliged{why: because.Of("was_asked", "who", asked[0])}
		}
	}
	if !s.now.Asks() {
		return obliged{}
	}
	if l := s.talk.Last(); l != nil && s.now.AsksBack() {
		if l.From == me {
			return obliged{termCue, followUpImportance, because.Of("asked_back", "by", string(s.now.From)), true}
		}
		if _, here := s.present(l.From); here {
			return obliged{why: because.Of("was_asked_back", "who", l.From)}
		}
	}
	if slices.ContainsFunc(s.past, func(h heard) bool { return h.From.Human() }) {
		return obliged{why: because.Of("for_person")}
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
