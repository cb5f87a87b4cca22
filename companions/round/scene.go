package round

import (
	"maps"
	"slices"
	"strings"
)

// sceneWindow is how many of the recent messages a vote looks at.
const sceneWindow = 24

// scene is what all votes on a message have in common: who is here, what was said, to whom.
type scene struct {
	v     View
	now   heard
	past  []heard // oldest first; without silences
	cards map[CompanionID]Card
	ids   []CompanionID          // sorted
	about map[CompanionID]string // what of its expertise this message is about
	fresh bool                   // this message begins something new
	near  map[Participant]tie    // who is nearest to this message's sender
	ties  map[Participant]tie    // the same, if it goes on with a topic; else only who was called by name counts
}

// heard is a message as it was understood.
type heard struct {
	Message
	words   []word
	content map[string]bool
	reading
	intent Intent
	tone   Tone
	stems  string // the words without endings, as phrase
}

func newScene(v View) *scene {
	s := &scene{v: v, cards: make(map[CompanionID]Card)}
	var named []Named
	people := make(map[Participant]bool)
	person := func(p Participant, name string) {
		if name != "" && !people[p] {
			people[p] = true
			named = append(named, Named{p, []string{name}})
		}
	}
	for _, m := range v.Members {
		for _, c := range m.Cards {
			if _, twice := s.cards[c.ID]; twice {
				continue
			}
			s.cards[c.ID] = c
			s.ids = append(s.ids, c.ID)
			named = append(named, Named{Participant(c.ID), append([]string{c.Name, string(c.ID)}, c.Aliases...)})
		}
		person(Human(m.Device), m.Name) // whoever is in the kitchen
	}
	recent := v.Recent[max(0, len(v.Recent)-sceneWindow):]
	for _, m := range append(slices.Clip(recent), v.Message) {
		if m.From.Human() { // known by a name
			person(m.From, strings.TrimPrefix(string(m.From), humanPrefix))
		}
	}
	slices.Sort(s.ids)
	index := newNames(named)
	for i, m := range recent {
		if !m.Metadata.Silence {
			s.past = append(s.past, understand(m, index, i == len(recent)-1))
		}
	}
	s.now = understand(v.Message, index, true)
	for _, h := range s.past {
		if slices.Contains(s.now.Metadata.Joins, h.ID) {
			s.now.join(h)
		}
	}
	s.about = make(map[CompanionID]string, len(s.ids))
	for _, id := range s.ids {
		for _, e := range s.cards[id].Expertise {
			if p := stemmed(words(e)); p != " " && strings.Contains(s.now.stems, p) {
				s.about[id] = e
				break
			}
		}
	}
	s.near = s.bind(false)
	s.ties = s.near
	if s.fresh = s.newTopic(); s.fresh {
		s.ties = s.bind(true)
	}
	return s
}

// understand reads a message; of older ones nobody asks how they sounded.
func understand(m Message, index *names, fully bool) heard {
	h := heard{Message: m, words: words(m.Text), reading: index.read(m.Text), intent: m.Metadata.Intent, tone: m.Metadata.Tone}
	h.content = contents(h.words)
	if fully {
		h.stems = stemmed(h.words)
	}
	if h.intent == "" {
		h.intent = intentOf(m.Text, h.words)
	}
	if h.tone == "" && fully {
		h.tone = toneOf(m.Text, h.words)
	}
	for i, p := range m.To {
		h.called = slices.Insert(slices.DeleteFunc(h.called, func(o Participant) bool { return o == p }), min(i, len(h.called)), p)
	}
	h.called = slices.DeleteFunc(h.called, func(p Participant) bool { return p == m.From })
	h.mentioned = slices.DeleteFunc(h.mentioned, func(p Participant) bool { return p == m.From })
	return h
}

// join adds what the same person said directly before, and nobody answered: both get one answer (ROOM.md 4.1), so that
// "Ada?" and a second later "what time is it?" is a question to Ada.
func (h *heard) join(earlier heard) {
	if len(h.called) == 0 {
		h.called = earlier.called
	}
	for _, p := range earlier.mentioned {
		h.mentioned = add(h.mentioned, p)
	}
	asks := func(i Intent) bool { return i == Question || i == Request || i == Clarification }
	if asks(earlier.intent) && !asks(h.intent) {
		h.intent = earlier.intent
	}
	h.content = maps.Clone(h.content)
	maps.Copy(h.content, earlier.content)
	h.stems += stemmed(earlier.words)
}

// card of a companion that is present.
func (s *scene) present(p Participant) (Card, bool) {
	id, ok := p.Companion()
	if !ok {
		return Card{}, false
	}
	c, ok := s.cards[id]
	return c, ok
}

// name is what to call somebody in a reason.
func (s *scene) name(p Participant) string {
	if c, ok := s.present(p); ok && c.Name != "" {
		return c.Name
	}
	if p.Human() {
		for _, m := range s.v.Members {
			if Human(m.Device) == p && m.Name != "" {
				return "the person at " + m.Name
			}
		}
		return "the person " + strings.TrimPrefix(string(p), humanPrefix)
	}
	return string(p)
}

// last is the newest message before this one that was not said by its sender.
func (s *scene) last() (heard, bool) {
	for i := len(s.past) - 1; i >= 0; i-- {
		if s.past[i].From != s.now.From {
			return s.past[i], true
		}
	}
	return heard{}, false
}

// lastCompanion is the newest message of a companion other than this one's sender, if since then no companion spoke.
func (s *scene) lastCompanion() (heard, bool) {
	for i := len(s.past) - 1; i >= 0; i-- {
		if _, ok := s.past[i].From.Companion(); ok && s.past[i].From != s.now.From {
			return s.past[i], true
		}
	}
	return heard{}, false
}

// spoke is the number of companion turns of the room when id last spoke; 0: not within memory (Vote.Spoke).
func (s *scene) spoke(id CompanionID) uint64 {
	since := uint64(0)
	at := func(m Message) (uint64, bool) {
		c, ok := m.From.Companion()
		if !ok || m.Metadata.Silence {
			return 0, false
		}
		if c == id {
			return max(1, s.v.Turns-min(since, s.v.Turns)), true
		}
		since++
		return 0, false
	}
	if n, ok := at(s.v.Message); ok {
		return n
	}
	for i := len(s.v.Recent) - 1; i >= 0; i-- {
		if n, ok := at(s.v.Recent[i]); ok {
			return n
		}
	}
	return 0
}
