package round

import (
	"slices"
	"time"

	"conch/companions/round/because"
	"conch/companions/words"
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

// guidance is what the prompt of an answer is told besides the words: why this companion was selected, the tone, and the
// room's manners for this turn.
func guidance(v View, id CompanionID, d Decision) string {
	s := newScene(v)
	g := because.Guidance{Name: s.name(string(id)), Reason: d.Reason, Tone: s.now.Tone, Silence: s.now.Metadata.Silence,
		Joined: len(s.now.Metadata.Joins) > 0, NewTopic: s.talk.TopicWanted(v.Manners.Repetition)}
	if vote, ok := d.vote(id); ok {
		g.Reason, g.Ending, g.Goodbye = vote.Reason, vote.Closing == PreClosing, vote.Closing == ClosingNow
	}
	if slices.Contains(s.now.Metadata.Queue, id) {
		g.Before = s.answered(id)
	}
	if len(d.Extras) > 0 && d.Winner == id {
		g.After = s.names(d.Extras)
	}
	g.LastTurn = s.now.Metadata.Chain+1 >= v.Manners.ChainLimit
	g.NoHandOff = v.Manners.Handoffs > 0 && s.handoffs() >= v.Manners.Handoffs
	return g.String()
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
