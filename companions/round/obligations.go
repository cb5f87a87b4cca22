package round

import (
	"fmt"
	"slices"
	"strings"
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
	v := Vote{From: id, MessageID: s.now.ID, State: StateListen, Closing: s.closing(), Spoke: s.spoke(id)}
	card, ok := s.cards[id]
	if !ok {
		v.Reason = "it is not in the room"
		return v
	}
	if why := s.forbidden(card); why != "" {
		v.Reason = why
		return v
	}
	if o := s.obligation(card); o.why != "" {
		v.Reason = o.why
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

// forbidden is why a companion may not speak whatever was said; empty: it may.
func (s *scene) forbidden(c Card) string {
	switch {
	case c.Muted:
		return "it is muted"
	case Participant(c.ID) == s.now.From:
		return "it said that itself"
	case s.now.Metadata.Chain >= s.v.Manners.ChainLimit && s.now.Metadata.Chain > 0:
		return fmt.Sprintf("%d companion turns without a person are the limit", s.v.Manners.ChainLimit)
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
	me := Participant(c.ID)
	if slices.Contains(s.now.excluded, me) && !slices.Contains(s.now.called, me) {
		return obliged{why: "the speaker asked for somebody else"}
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
	if s.v.Room == InvolvementOff {
		return obliged{why: "the companions of this room speak only when asked"}
	}
	if o := s.followUp(c); o.why != "" {
		return o
	}
	if s.alone(c) && s.now.intent != Approval && s.now.intent != Farewell {
		return obliged{"alone", followUpImportance, "it is the only companion here"}
	}
	return obliged{}
}

// addressed: names in the text and participants in To (ROOM.md 4.2).
func (s *scene) addressed(me Participant) obliged {
	called := s.now.called
	if len(called) == 0 {
		return obliged{}
	}
	who := s.name(s.now.From)
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
	var all []string
	for _, p := range called {
		all = append(all, s.name(p))
	}
	verb := " was addressed"
	if len(all) > 1 {
		verb = " were addressed"
	}
	return obliged{why: strings.Join(all, " and ") + verb}
}

// handoffs is how many hand-offs from companion to companion in a row this message ends; 0: it is none.
func (s *scene) handoffs() int {
	n := 0
	is := func(h heard) bool {
		if h.From.Human() || h.From == "" {
			return false
		}
		return slices.ContainsFunc(h.called, func(p Participant) bool { return !p.Human() })
	}
	if !is(s.now) {
		return 0
	}
	n++
	for i := len(s.past) - 1; i >= 0 && is(s.past[i]); i-- {
		n++
	}
	return n
}

// queued: whose turn was announced with an earlier message (two names, a cascade).
func (s *scene) queued(id CompanionID) obliged {
	var queue []CompanionID
	for _, q := range s.now.Metadata.Queue {
		if c, ok := s.cards[q]; ok && !c.Muted && Participant(q) != s.now.From {
			queue = append(queue, q)
		}
	}
	if len(queue) == 0 {
		return obliged{}
	}
	named, extra := s.person()
	free := s.v.Manners.ExtraLimit - extra
	for i, q := range queue {
		asked := slices.Contains(named, Participant(q))
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
	if free <= 0 && !slices.ContainsFunc(queue, func(q CompanionID) bool { return slices.Contains(named, Participant(q)) }) {
		return obliged{}
	}
	return obliged{why: s.name(Participant(queue[0])) + " is next"}
}

// person finds the last message of a person: whom it called, and how many additions its answer has had.
func (s *scene) person() (named []Participant, extra int) {
	for _, h := range slices.Backward(append(slices.Clip(s.past), s.now)) {
		if h.From.Human() {
			return h.called, extra
		}
		if h.Metadata.Extra {
			extra++
		}
	}
	return nil, extra
}

// companionTalk is what follows from the words of a companion that name nobody.
func (s *scene) companionTalk(me Participant) obliged {
	if s.now.intent != Question && s.now.intent != Clarification {
		return obliged{}
	}
	if says1(phrase(s.now.words), opinionWords) { // "what do you think?" turns to whoever spoke before
		if h, ok := s.last(); ok {
			if h.From == me {
				return obliged{"cue", followUpImportance, s.name(s.now.From) + " asked it back"}
			}
			if _, here := s.present(h.From); here {
				return obliged{why: s.name(h.From) + " was asked back"}
			}
		}
	}
	for _, h := range s.past {
		if h.From.Human() {
			return obliged{why: "the question is for the person"}
		}
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

const (
	shortWords = 9
	explained  = 6 // words from which a companion's turn explains something
)

var (
	// opinionWords ask somebody who spoke for more (ROOM.md 4.3).
	opinionWords = lex("what do you think|what would you say|what do you say|what s your opinion|what is your opinion|do you agree|don t you think|are you sure|right|isn t it|was meinst du|was denkst du|" +
		"qu en penses tu|tu en penses quoi|que piensas|que opinas|ど う 思 う|ど う 思 い ま す か|你 觉 得 呢|你 怎 么 看")
	// goesOn begin or fill what continues a topic.
	goesOn    = lex("and|but|why|how so|what about|how about|what if|or|then|also|und|aber|warum|wieso|et|mais|pourquoi|y|pero|por que|そ れ|那")
	reference = lex("that|those|them|they|he|she|him|his|hers|their|there|it|its|these|this|one|ones|instead|else|das|davon|dazu|ca|eso|ello")
	// noReference are uses of "it" and "there" that refer to nothing.
	noReference = lex("time is it|day is it|date is it|is it raining|is it going to rain|is it cold|is it warm|is it hot|is it snowing|is there|are there|this morning|this evening|this week|that is all|wie spat ist es")
)

// followUp: cues without a name, clarifications and replies after a companion's answer, and confusion (ROOM.md 4.3, 4.4).
func (s *scene) followUp(c Card) obliged {
	if s.now.intent == Approval || s.now.intent == Farewell {
		return obliged{}
	}
	h, cue, ok := s.continued()
	if !ok {
		return obliged{}
	}
	if o, _ := h.From.Companion(); o == c.ID {
		return obliged{"follow-up", followUpImportance, cue + " what it said"}
	}
	if _, here := s.present(h.From); !here {
		return obliged{}
	}
	return obliged{why: fmt.Sprintf("%s what %s said", cue, s.name(h.From))}
}

// continued is the companion's message that this message of a person goes on with, if it does.
func (s *scene) continued() (h heard, cue string, ok bool) {
	line := phrase(s.now.words)
	last, spoke := s.last()
	if !spoke {
		return heard{}, "", false
	}
	if severalViews(s.now.Text) {
		return heard{}, "", false
	}
	_, companion := last.From.Companion()
	switch {
	case s.now.intent == Clarification || s.now.tone == Confused && len(s.now.words) < 16:
		if h, ok := s.explained(); ok {
			return h, "the person does not understand or wants to know more of", true
		}
		return heard{}, "", false
	case !companion || !s.bound(last.From):
		return heard{}, "", false
	case len(s.now.words) <= shortWords && says1(line, opinionWords):
		return last, "the person asks back about", true
	case s.topicGoesOn(last):
		return last, "the person goes on with", true
	}
	return heard{}, "", false
}

// explained is what is to be clarified: of the last companion turns of some length the one this message is nearest to, by
// its words and by who was talking (thread.go). A passing remark of another does not stand between.
func (s *scene) explained() (heard, bool) {
	var best heard
	seen, share := 0, -1.0
	for _, h := range slices.Backward(s.past) {
		if _, ok := h.From.Companion(); !ok || h.From == s.now.From {
			continue
		}
		if seen++; seen > repetitionWindow {
			break
		}
		if x := s.near[h.From].share; len(h.words) >= explained && x > share {
			best, share = h, x
		}
	}
	if best.From == "" {
		return s.lastCompanion()
	}
	return best, true
}

// topicGoesOn says whether this message stays with what h said (ROOM.md 4.4: until the topic changes).
func (s *scene) topicGoesOn(h heard) bool {
	for _, p := range slices.Backward(s.past) { // the same once more asks the room, not the one who answered
		if p.From == s.now.From {
			if Similarity(p.Text, s.now.Text) > repeatedQuestion {
				return false
			}
			break
		}
	}
	asked := h.intent == Question || h.intent == Clarification
	if asked && s.now.intent == Statement {
		return true // and this is the answer
	}
	line := phrase(s.now.words)
	if s.otherExpert(h.From) {
		return false
	}
	if asked && h.ID == s.past[len(s.past)-1].ID {
		return true // a question back: "in which colour?" "which have you got?"
	}
	if shared(h.content, s.now.content) > 0 {
		return true
	}
	if len(s.now.words) > shortWords || says1(line, noReference) {
		return false
	}
	return begins(line, goesOn) || says1(line, reference)
}

// newTopic says whether a person says something that goes on with nothing: then it does not matter who was talking.
func (s *scene) newTopic() bool {
	if !s.now.From.Human() || s.now.intent != Question && s.now.intent != Request && s.now.intent != Statement {
		return false
	}
	for _, h := range s.past {
		if h.From != s.now.From && s.bound(h.From) && s.topicGoesOn(h) {
			return false
		}
	}
	return true
}

// bound says whether nobody else is clearly nearer to the sender: with several threads at once, who spoke last need not be
// whom this message is for.
func (s *scene) bound(p Participant) bool {
	for o, t := range s.near {
		if o != p && t.share > s.near[p].share {
			return false
		}
	}
	return true
}

const repeatedQuestion = 0.7

// otherExpert: the message is about what others know and the given one does not.
func (s *scene) otherExpert(p Participant) bool {
	other := false
	for _, id := range s.ids {
		if c := s.cards[id]; !c.Muted && Participant(id) != s.now.From && s.expertise(c, s.now) != "" {
			if Participant(id) == p {
				return false
			}
			other = true
		}
	}
	return other
}
