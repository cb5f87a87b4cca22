package round

import (
	"cmp"
	"hash/fnv"
	"maps"
	"slices"
	"strconv"
	"strings"

	"conch/companions/round/because"
	"conch/companions/words"
)

// DeviceID names a device: the fingerprint of its key (PAIRING.md), so that a name in a topic cannot be borrowed.
type DeviceID string

// CompanionID names a companion in the room, e.g. "ada": lower case, unique in the room.
type CompanionID string

// Participant is somebody who can speak or be spoken to: a companion ("ada") or a person at a device ("human:<device>").
type Participant string

// humanPrefix marks a person.
const humanPrefix = "human:"

// Human is the person at a device.
func Human(d DeviceID) Participant { return Participant(humanPrefix + string(d)) }

// Human says whether p is a person.
func (p Participant) Human() bool { return strings.HasPrefix(string(p), humanPrefix) }

// Companion is p as a companion; false for a person and for nobody.
func (p Participant) Companion() (CompanionID, bool) {
	return CompanionID(p), p != "" && !p.Human()
}

// Epoch counts presses. Any press takes one higher than what counts; the device's id settles who is first when two people
// press at once. Whatever belongs to an older epoch is void. Devices need not agree on numbers (epoch.go).
type Epoch struct {
	N      uint64   `json:"n"`
	Device DeviceID `json:"device"`
}

// Before orders epochs.
func (e Epoch) Before(o Epoch) bool { return e.N < o.N || e.N == o.N && e.Device < o.Device }

// MessageID is a ULID made by the device that publishes the message.
type MessageID string

// Place says which round something belongs to, so that one round cannot be mistaken for another (ROOM.md 1).
type Place struct {
	Epoch   Epoch     `json:"epoch"`
	Number  int       `json:"number"` // within the epoch, from 1: the person's message
	Message MessageID `json:"messageId"`
}

// Closing is the stage of a conversation's end; it moves one step per turn (ROOM.md 6).
type Closing string

// Stages of closing (seed: aikyo, StateBody.closing).
const (
	ClosingNone Closing = "none"
	PreClosing  Closing = "pre-closing"
	ClosingNow  Closing = "closing"
	Terminal    Closing = "terminal"
)

// Involvement is how much a companion joins in without being asked.
type Involvement string

// Degrees of involvement; Off speaks only when asked.
const (
	InvolvementOff    Involvement = "off"
	InvolvementLow    Involvement = "low"
	InvolvementMedium Involvement = "medium"
	InvolvementHigh   Involvement = "high"
)

// Card is what the room must know of a companion to judge who should speak. What only its own device needs (persona,
// voice, model, tools) is in companions.Card.
type Card struct {
	ID            CompanionID         `json:"id"`
	Name          string              `json:"name"` // as people say it
	Aliases       []string            `json:"aliases,omitempty"`
	Role          string              `json:"role,omitempty"`     // a few words: "the cook of the house"
	Language      string              `json:"language,omitempty"` // ISO 639-1, of role, expertise and skills; "": as the role tells
	Expertise     []string            `json:"expertise,omitempty"`
	Skills        []string            `json:"skills,omitempty"`        // what it can do when asked for by name: "timer", "volume"
	Synonyms      map[string][]string `json:"synonyms,omitempty"`      // other words for some of its expertise
	Talkativeness int                 `json:"talkativeness,omitempty"` // -2..+2
	Traits        []string            `json:"traits,omitempty"`        // "explainer", "ideas"
	Involvement   Involvement         `json:"involvement,omitempty"`   // "" is medium
	Muted         bool                `json:"muted,omitempty"`
	Renamed       CompanionID         `json:"renamed,omitempty"` // its id in its own file, when the room had one of that name already
}

// Member is a device that is present.
type Member struct {
	Device  DeviceID `json:"device"`
	Name    string   `json:"name"`     // "kitchen"
	Version int      `json:"version"`  // of the turn-taking that it speaks (Version)
	Budget  int      `json:"budgetMs"` // how long its votes may take
	Cards   []Card   `json:"cards"`
	Page    string   `json:"page,omitempty"` // address of its page in the house (printable.PageOf); empty: it has none there
}

// Listed is a device on the room's list of members: whether it is present is another matter.
type Listed struct {
	Device DeviceID
	Name   string
}

// Message is what somebody said. It opens a round.
type Message struct {
	ID     MessageID     `json:"id"`
	From   Participant   `json:"from"`
	To     []Participant `json:"to,omitempty"` // by the sender; exactly one companion: whispered, others do not get to know it
	Text   string        `json:"text"`
	Turn   string        `json:"turn,omitempty"` // id of the turn it came from, for logs
	Epoch  Epoch         `json:"epoch"`
	After  Epoch         `json:"after,omitzero"` // as in the Press that brought it: the message may come first
	Number int           `json:"number"`

	For DeviceID `json:"for,omitempty"` // private: its words are for this device and for the sender's alone (ROOM.md 7)

	Metadata Metadata `json:"metadata"`

	// What proves it, for whoever is told of it by others: the envelopes in which it came, as they were signed. Of what was said here there
	// are none.
	Envelope []byte `json:"-"`
	Release  []byte `json:"-"` // of the one that said what of it was heard, where it was cut
}

// Private says that others than the two devices know of the message, and not its words.
func (m Message) Private() bool { return m.For != "" }

// Public is what everybody may know of a message: of a private one neither its words nor anything that follows from them.
func (m Message) Public() Message {
	if !m.Private() {
		return m
	}
	m.Text, m.Envelope, m.Release = "", nil, nil
	m.Metadata = Metadata{Chain: m.Metadata.Chain, Closing: m.Metadata.Closing, Silence: m.Metadata.Silence}
	return m
}

// Concerns says whether a companion may know the words of a message.
func (m Message) Concerns(c CompanionID) bool {
	only, whispered := m.Whisper()
	return !whispered && !m.Private() || only == c || m.From == Participant(c)
}

// Place of the round that the message opens.
func (m Message) Place() Place { return Place{m.Epoch, m.Number, m.ID} }

// Metadata is what the sender's device knows about a message and others cannot see.
type Metadata struct {
	Intent  words.Intent  `json:"intent,omitempty"`
	Tone    words.Tone    `json:"tone,omitempty"`
	Chain   int           `json:"chain,omitempty"`   // companion turns since a person spoke, this one included; 0 for a person
	Queue   []CompanionID `json:"queue,omitempty"`   // who was also to answer, in order, after this one (two names, a cascade)
	Joins   []MessageID   `json:"joins,omitempty"`   // a person's earlier unanswered messages of the last 2 s that this one continues
	Closing Closing       `json:"closing,omitempty"` // the stage its speaker had reached
	Silence bool          `json:"silence,omitempty"` // nobody spoke for a while: who wants to step in? Text is empty
	Extra   bool          `json:"extra,omitempty"`   // spoken as an addition to another's answer
	Topic   bool          `json:"topic,omitempty"`   // the loop guard asked for a change of topic here
}

// State is a vote's answer to "do you want to speak?".
type State string

// The two answers.
const (
	StateSpeak  State = "speak"
	StateListen State = "listen"
)

// Term is one addend of a score.
type Term struct {
	Name  string  `json:"name"`
	Value float64 `json:"value"`
	Why   string  `json:"why,omitempty"`
}

// Layer says which part of a decision something comes from.
type Layer string

// The three layers, in the order in which they are laid.
const (
	LayerOwed      Layer = "owed"      // a rule gives the word to it, or to somebody else
	LayerWorth     Layer = "worth"     // the score says so, by rules or a model
	LayerForbidden Layer = "forbidden" // a limit does
)

// Vote is a companion's state on a message: the body of the seed (from, messageId, state, importance, selected, closing)
// and ours. From and MessageID are set by code, never by a model.
type Vote struct {
	From       CompanionID    `json:"from"`
	MessageID  MessageID      `json:"messageId"`
	State      State          `json:"state"`
	Importance float64        `json:"importance"` // 0..10
	Selected   bool           `json:"selected"`   // the speaker has called on this companion
	Closing    Closing        `json:"closing"`
	Layer      Layer          `json:"layer,omitempty"`   // which part of the decision it comes from; older devices do not say
	Certain    float64        `json:"certain,omitempty"` // of the rules, 0 to 1, where a model may be asked (Certainty)
	Reason     string         `json:"reason"`            // one sentence, in English
	Because    because.Reason `json:"because,omitempty"` // the same, for readers of any language
	Terms      []Term         `json:"terms,omitempty"`
	Spoke      uint64         `json:"spoke"` // companion turns of the room when it last spoke (0: never): ties go to the least recent
}

// called tells that the floor is its companion's to have: it was called on, and has something to say.
func (v Vote) called() bool { return v.Selected && v.able() }

// Whisper is who alone may know a message.
func (m Message) Whisper() (CompanionID, bool) {
	if len(m.To) != 1 {
		return "", false
	}
	return m.To[0].Companion()
}

func byPlace(a, b Message) int {
	return cmp.Or(cmp.Compare(a.Epoch.N, b.Epoch.N), cmp.Compare(a.Epoch.Device, b.Epoch.Device), cmp.Compare(a.Number, b.Number), cmp.Compare(a.ID, b.ID))
}

func hasCard(cards []Card, id CompanionID) bool {
	return slices.ContainsFunc(cards, func(c Card) bool { return c.ID == id })
}

// digestOf is FNV-1a over everything that a card says, so that a beat need not carry it.
func digestOf(cards []Card) string {
	h := fnv.New64a()
	add := func(parts ...string) {
		for _, p := range parts {
			_, _ = h.Write([]byte(p + "\xff")) // it never fails; no text has this byte
		}
	}
	for _, c := range cards {
		add(string(c.ID), c.Name, c.Role, string(c.Involvement), string(c.Renamed), strconv.Itoa(c.Talkativeness), strconv.FormatBool(c.Muted))
		for _, l := range [][]string{c.Aliases, c.Expertise, c.Skills, c.Traits} {
			add(l...)
			add("")
		}
		if c.Language != "" || len(c.Synonyms) > 0 { // else it is what older devices make of it
			add(c.Language)
			for _, of := range slices.Sorted(maps.Keys(c.Synonyms)) {
				add(of)
				add(c.Synonyms[of]...)
				add("")
			}
		}
	}
	return strconv.FormatUint(h.Sum64(), 36)
}
