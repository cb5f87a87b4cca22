package round

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"conch/companions/words"
	"conch/device/printable"
)

// PeopleWait is how long a winner waits for people where PeopleFirst says so: a beat, longer than people need to begin.
const PeopleWait = 1500 * time.Millisecond

// PeopleFirst says whether the winner waits a beat before it claims, because several people are around and one of them asked
// without saying whom: another may want to answer (ROOM.md 6, group conventions).
func PeopleFirst(v View, d Decision) bool {
	if d.Winner == "" || !v.Message.From.Human() || v.Message.Metadata.Silence || len(v.Message.To) > 0 {
		return false
	}
	if vote, _ := d.vote(d.Winner); vote.Selected {
		return false
	}
	if in := words.Known().IntentOf(v.Message.Text); in != words.Question && in != words.Clarification {
		return false
	}
	return slices.ContainsFunc(v.past(), func(m Message) bool { return m.From.Human() && m.From != v.Message.From })
}

// PersonMetadata is the metadata of a person's message; joins are the earlier ones that it continues.
func PersonMetadata(text string, joins []MessageID) Metadata {
	return metadata(words.Known(), text, joins)
}

func metadata(x *words.Languages, text string, joins []MessageID) Metadata {
	return Metadata{Intent: x.IntentOf(text), Tone: x.ToneOf(text), Joins: joins}
}

// AnswerMetadata is the metadata of the message that a companion's answer to v.Message becomes.
func AnswerMetadata(v View, id CompanionID, d Decision, text string) Metadata {
	s := newScene(v)
	m := metadata(languages(v.Words), text, nil)
	m.Chain, m.Closing = v.Message.Metadata.Chain+1, ClosingNone
	if vote, ok := d.vote(id); ok {
		m.Closing = vote.Closing
	}
	m.Queue = without(d.Extras, func(q CompanionID) bool { return q == id })
	m.Extra = s.adds(id, d)
	m.Topic = s.talk.TopicWanted(v.Manners.Repetition)
	return m
}

// adds tells that a companion speaks after another one, and that nobody has asked it to.
func (s *scene) adds(id CompanionID, d Decision) bool {
	if slices.Contains(s.now.Metadata.Queue, id) {
		_, named := s.queued(id)
		return !named
	}
	vote, _ := d.vote(id)
	return !s.now.From.Human() && !vote.Selected
}

var toneManners = map[words.Tone]string{
	words.Confused:   "confused: explain in simpler words and smaller steps, and ask what is unclear",
	words.Frustrated: "frustrated: be calm, acknowledge it in a few words, and help with the next step",
	words.Excited:    "excited: share the energy, and build on the idea",
	words.Positive:   "in a good mood: be warm and brief",
}

// guidance is what the prompt of an answer is told besides the words: why this companion was selected, the tone, and the
// room's manners for this turn.
func guidance(v View, id CompanionID, d Decision) string {
	s := newScene(v)
	var b strings.Builder
	say := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	me := s.name(string(id))
	reason, closing := d.Reason, ClosingNone
	if vote, ok := d.vote(id); ok {
		reason, closing = vote.Reason, vote.Closing
	}
	if reason != "" {
		say("You, %s, speak now. Why (\"it\" is you): %s.", me, printable.Quoted(strings.TrimSuffix(reason, ".")))
	}
	if manner := toneManners[s.now.Tone]; manner != "" {
		say("The speaker is %s.", manner)
	}
	if s.now.Metadata.Silence {
		say("Nobody has spoken for a while. Take up what is open in one or two sentences, or ask the person about it.")
	}
	if len(s.now.Metadata.Joins) > 0 {
		say("The person said several things in a row: answer all of them, the earlier ones too, in one answer.")
	}
	if slices.Contains(s.now.Metadata.Queue, id) {
		if h := s.answered(id); len(h) > 0 {
			say("%s answered before you: do not repeat what was said; add what is missing, or disagree, in a sentence or two.",
				printable.Named(strings.Join(h, " and ")))
		}
	}
	if len(d.Extras) > 0 && d.Winner == id {
		say("%s will speak after you: leave something to say.", printable.Named(s.names(d.Extras)))
	}
	if s.talk.TopicWanted(v.Manners.Repetition) {
		say("The conversation repeats itself: change the topic, or ask the person something new.")
	}
	switch closing {
	case PreClosing:
		say("The conversation is drawing to its end: begin nothing new.")
	case ClosingNow:
		say("Say goodbye in one sentence.")
	}
	if chain := s.now.Metadata.Chain + 1; chain >= v.Manners.ChainLimit {
		say("This is the last turn before a person speaks again: do not hand over to another companion; leave the word to the person.")
	} else if s.handoffs() >= v.Manners.Handoffs && v.Manners.Handoffs > 0 {
		say("The word was handed on often enough: do not hand over to another companion.")
	}
	return strings.TrimSpace(b.String())
}

// answered are the names of the companions that have spoken since a person did, by when they did last.
func (s *scene) answered(id CompanionID) (names []string) {
	for _, h := range slices.Backward(append(slices.Clip(s.past), s.now)) {
		n := s.name(string(h.From))
		switch {
		case h.From.Human():
			return names
		case h.From != Participant(id) && !slices.Contains(names, n):
			names = append([]string{n}, names...)
		}
	}
	return names
}
