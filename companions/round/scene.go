package round

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"conch/companions/round/because"
	"conch/companions/words"
)

// View is everything that a vote is made from.
type View struct {
	Message Message
	Members []Member      // present, this device included, sorted by device
	People  []string      // names of people at home; whoever is called by one is no companion
	Away    []Card        // of companions that were here: their names are nobody else's
	Recent  []Message     // heard before Message, oldest first
	Threads Threads       // before Message
	At      time.Duration // when it came, by this device's clock
	Turns   uint64        // companion turns of the room so far
	Room    Involvement   // of the whole room; "" is medium
	Manners Manners
	Words   *words.Languages // nil: those that come with conch
}

// languages are those by which votes understand. What all devices have to decide alike is understood by those that all have.
func languages(x *words.Languages) *words.Languages { return cmp.Or(x, words.Known()) }

// Manners are the settings of a room's judgement. Every one has an effect, by test.
type Manners struct {
	Threshold  float64 // of the initiative score; 5
	ChainLimit int     // companion turns without a person; 6
	Handoffs   int     // hand-offs from companion to companion in a row that are followed
	ExtraLimit int     // additions after an answer; 2
	ShareLimit float64 // of the last ten companion turns; 0.6
	Repetition float64 // similarity at which a turn counts as a repetition; 0.7
}

// DefaultManners are those of ROOM.md.
func DefaultManners() Manners {
	return Manners{Threshold: 5, ChainLimit: 6, Handoffs: 3, ExtraLimit: 2, ShareLimit: 0.6, Repetition: 0.7}
}

// spent is why nobody may speak after msg, whatever anybody votes or claims (I6); empty: somebody may.
func (m Manners) spent(msg Message) because.Reason {
	if n := m.ChainLimit; msg.Metadata.Chain >= n && msg.Metadata.Chain > 0 {
		return because.Of("chain", "n", because.Count(n))
	}
	return ""
}

// sceneWindow is how many of the recent messages a vote looks at.
const sceneWindow = 24

// scene is what all votes on a message have in common: who is here, what was said, to whom.
type scene struct {
	v     View
	talk  *words.Conversation
	now   heard
	past  []heard // oldest first; without silences
	cards map[CompanionID]Card
	whom  words.Whom // for whom it is, if a person said it
}

// heard is a message as it was understood.
type heard struct {
	Message
	*words.Line
}

func newScene(v View) *scene {
	s := &scene{v: v, talk: v.Conversation(), cards: make(map[CompanionID]Card)}
	for _, m := range v.Members {
		for _, c := range m.Cards {
			if _, twice := s.cards[c.ID]; !twice {
				s.cards[c.ID] = c
			}
		}
	}
	for i, m := range v.past() {
		s.past = append(s.past, heard{m, s.talk.Past[i]})
	}
	s.now = heard{v.Message, s.talk.Now}
	if v.Message.From.Human() && !v.Message.Metadata.Silence {
		s.whom = s.talk.Whom()
	}
	return s
}

// past is what a vote looks at, oldest first.
func (v View) past() []Message {
	return without(v.Recent[max(0, len(v.Recent)-sceneWindow):], func(m Message) bool { return m.Metadata.Silence })
}

// Conversation is the view as the words show it: who is here, who was called, who talks with whom.
func (v View) Conversation() *words.Conversation {
	var parties []words.Party
	person := func(p Participant, name string) {
		if name != "" {
			parties = append(parties, words.Party{Named: words.Named{Who: string(p), Names: []string{name}}})
		}
	}
	for _, m := range v.Members {
		for _, c := range m.Cards {
			parties = append(parties, words.Party{
				Named: c.named(), Companion: true, Quiet: c.Muted || c.Involvement == InvolvementOff,
				Eager: c.Talkativeness, Knowledge: c.knowledge(),
			})
		}
		person(Human(m.Device), m.Name) // whoever is in the kitchen
	}
	for _, c := range v.Away {
		parties = append(parties, words.Party{Named: c.named(), Away: true})
	}
	for _, name := range v.people() {
		person(Participant(humanPrefix+name), name)
	}
	for _, m := range append(slices.Clip(v.Recent[max(0, len(v.Recent)-sceneWindow):]), v.Message) {
		if m.From.Human() { // known by a name
			person(m.From, strings.TrimPrefix(string(m.From), humanPrefix))
		}
	}
	said := func(m Message) words.Said {
		_, companion := m.From.Companion()
		return words.Said{
			From: string(m.From), Companion: companion, To: each(m.To, func(p Participant) string { return string(p) }), Text: m.Text,
			Intent: m.Metadata.Intent, Tone: m.Metadata.Tone, NewTopic: m.Metadata.Topic,
			Closing: m.Metadata.Closing != "" && m.Metadata.Closing != ClosingNone, Joined: slices.Contains(v.Message.Metadata.Joins, m.ID),
		}
	}
	return languages(v.Words).Follow(parties, each(v.past(), said), said(v.Message), string(v.Threads.With(v.Message.From, v.At)))
}

// people are the names that mean a person: not those of a companion that is here or was, so that nobody's name keeps it from being called.
func (v View) people() []string {
	return without(v.People, func(name string) bool {
		bears := func(c Card) bool { return c.answers(name) }
		return slices.ContainsFunc(v.Away, bears) || slices.ContainsFunc(v.Members, func(m Member) bool { return slices.ContainsFunc(m.Cards, bears) })
	})
}

// named is what people call a companion.
func (c Card) named() words.Named {
	return words.Named{Who: string(c.ID), Names: append([]string{c.Name, string(c.ID)}, c.Aliases...)}
}

// knowledge is what a companion knows about, and can do.
func (c Card) knowledge() words.Knowledge {
	return words.Knowledge{Language: c.Language, Role: c.Role, Fields: c.Expertise, Synonyms: c.Synonyms, Skills: c.Skills}
}

// present is the card of a companion that is here.
func (s *scene) present(who string) (Card, bool) {
	c, ok := s.cards[CompanionID(who)]
	return c, ok
}

// name is what to call somebody in a reason.
func (s *scene) name(who string) string {
	if c, ok := s.present(who); ok && c.Name != "" {
		return c.Name
	}
	for _, m := range s.v.Members {
		if string(Human(m.Device)) == who && m.Name != "" {
			return "the person at " + m.Name
		}
	}
	if name, ok := strings.CutPrefix(who, humanPrefix); ok {
		return "the person " + name
	}
	return who
}

// names are those of several.
func (s *scene) names(of []CompanionID) string {
	return strings.Join(each(of, func(who CompanionID) string { return s.name(string(who)) }), " and ")
}

// spoke is the number of companion turns of the room when id last spoke; 0: not within memory (Vote.Spoke).
func (s *scene) spoke(id CompanionID) uint64 {
	since := uint64(0)
	for _, m := range slices.Backward(append(slices.Clip(s.v.Recent), s.v.Message)) {
		c, ok := m.From.Companion()
		switch {
		case !ok || m.Metadata.Silence:
		case c == id:
			return max(1, s.v.Turns-min(since, s.v.Turns))
		default:
			since++
		}
	}
	return 0
}
