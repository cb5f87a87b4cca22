// Package recorded puts recorded dialogues to the rules that choose speakers in a room, and counts how many of their answers are right.
package recorded

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"conch/companions/round"
	"conch/companions/words"
)

// Dialogue is a recorded conversation with what is known about whom a message was for and who spoke next: one line of a
// file. Where no companions are given, whoever speaks counts as a person and everybody else as a companion of no field,
// so that the rules of a room apply to a conversation of people.
type Dialogue struct {
	Dialogue     string       `json:"dialogue"`
	About        string       `json:"about,omitempty"` // what kind of dialogue it is
	Participants []string     `json:"participants"`
	Companions   []round.Card `json:"companions,omitempty"`
	Messages     []Line       `json:"messages"`
	Gold         []Gold       `json:"gold"`
}

// Line is what somebody said.
type Line struct {
	ID   string `json:"id"`
	From string `json:"from"`
	Text string `json:"text"`
}

// Gold is one thing known about a dialogue. Which of three kinds it is shows in its fields.
type Gold struct {
	Message     string   `json:"message,omitempty"`
	To          []string `json:"to,omitempty"`           // whom Message addresses
	Explicit    bool     `json:"explicit,omitempty"`     // it began with the name,
	TextWithout string   `json:"text_without,omitempty"` // and this is the rest

	After string `json:"after,omitempty"` // after this message
	Next  string `json:"next,omitempty"`  // they spoke

	Speaker json.RawMessage `json:"speaker,omitempty"` // who should speak after Message: a name, null, or names in order
	Want    [][]string      `json:"want,omitempty"`    // any of these instead (wanted)
}

// Kinds of gold, and of what is counted.
const (
	KindAddressed = "addressed" // a message that begins with a name: whom does it call?
	KindWithout   = "without"   // the same with the name taken off: whom is it for?
	KindReply     = "reply"     // a message that does not begin with a name: whom is it for?
	KindUnnamed   = "unnamed"   // the same: does it call nobody it is not for?
	KindNext      = "next"      // who speaks next, when somebody does?
	KindSpeaker   = "speaker"   // who should speak, if anybody?
)

// Answer is what the room's judgement says to one entry of gold.
type Answer struct {
	Dialogue  string       `json:"dialogue"`
	About     string       `json:"about,omitempty"`
	Message   string       `json:"message"`
	Kind      string       `json:"kind"`
	Addressed []string     `json:"addressed"`      // whom the words call, in order
	Selected  *string      `json:"selected"`       // the next speaker; null is nobody
	Then      []string     `json:"then,omitempty"` // who speaks after that one
	Order     []string     `json:"order"`          // all of them
	Reason    string       `json:"reason"`
	Rule      string       `json:"rule,omitempty"`    // words.Whom of a person's line
	Terms     []round.Term `json:"terms"`             // of the selected one's vote
	Room      string       `json:"room,omitempty"`    // why the room would have let nobody speak, where one is named all the same
	Without   *Answer      `json:"without,omitempty"` // the answer to the text without the name
	HeldOut   bool         `json:"held_out"`
	Right     bool         `json:"right"`

	calledWrong bool // it calls somebody it is not for
	simple      bool // the simple rule is right
}

// ReadDialogues reads the lines of a file.
func ReadDialogues(data []byte) ([]Dialogue, error) {
	var all []Dialogue
	for i, line := range bytes.Split(data, []byte("\n")) {
		if len(bytes.TrimSpace(line)) == 0 {
			continue
		}
		var d Dialogue
		if err := json.Unmarshal(line, &d); err != nil {
			return nil, fmt.Errorf("line %d: not a dialogue: %w", i+1, err)
		}
		if err := d.check(); err != nil {
			return nil, fmt.Errorf("line %d: dialogue %q: %w", i+1, d.Dialogue, err)
		}
		all = append(all, d)
	}
	return all, nil
}

func (d Dialogue) check() error {
	ids := make(map[string]bool, len(d.Messages))
	for _, m := range d.Messages {
		if m.ID == "" || ids[m.ID] {
			return fmt.Errorf("message %q: its id is empty or used twice", m.ID)
		}
		ids[m.ID] = true
	}
	cards := make(map[round.CompanionID]bool, len(d.Companions))
	for _, c := range d.Companions {
		if c.ID == "" || cards[c.ID] {
			return fmt.Errorf("companion %q: its id is empty or used twice", c.ID)
		}
		cards[c.ID] = true
	}
	for _, g := range d.Gold {
		if at := cmp.Or(g.Message, g.After); !ids[at] {
			return fmt.Errorf("gold: message %q is not in the dialogue", at)
		}
		if g.Message != "" && len(g.To) == 0 && g.Speaker == nil && len(g.Want) == 0 {
			return fmt.Errorf("gold: message %q: neither to, speaker nor want is given", g.Message)
		}
		if _, err := g.speakers(); err != nil {
			return fmt.Errorf("gold: message %q: speaker = %s: must be a name, null, or a list of names", g.Message, g.Speaker)
		}
	}
	return nil
}

// wanted says whether who speaks, in order, is one of those lists. In a list "-" is nobody, "one" exactly one, "any" somebody, "*" whoever, and
// "x+" x first.
func (g Gold) wanted(order []string) bool {
	return slices.ContainsFunc(g.Want, func(list []string) bool {
		if len(list) == 1 {
			first, more := strings.CutSuffix(list[0], "+")
			switch {
			case list[0] == "-":
				return len(order) == 0
			case list[0] == "one":
				return len(order) == 1
			case list[0] == "any":
				return len(order) > 0
			case list[0] == "*":
				return true
			case more:
				return len(order) > 0 && order[0] == first
			}
		}
		return slices.Equal(order, list)
	})
}

// speakers are who should speak, in order.
func (g Gold) speakers() ([]string, error) {
	if g.Speaker == nil {
		return nil, nil
	}
	var one *string
	if json.Unmarshal(g.Speaker, &one) == nil {
		if one == nil {
			return nil, nil
		}
		return []string{*one}, nil
	}
	var many []string
	err := json.Unmarshal(g.Speaker, &many)
	return many, err
}

// Answers puts every entry of gold to the shipped rules: words.Names.Read for whom the words call, round.JudgeAll and
// round.Decide for who speaks. Where the gold says that somebody spoke or was meant, and the room would have let nobody
// speak, the one whose exchange with the speaker is closest is named (nearest), because the question was not whether;
// Room says that it is so.
func (d Dialogue) Answers() []Answer {
	t := newTable(d)
	all := make([]Answer, 0, len(d.Gold))
	for _, g := range d.Gold {
		i := t.index[cmp.Or(g.Message, g.After)]
		text := d.Messages[i].Text
		var a Answer
		switch {
		case g.After != "":
			a = t.ask(i, text, KindNext, true)
			a.Right = a.selects(g.Next)
			a.simple = t.mostActive(i) == g.Next
		case len(g.Want) > 0:
			a = t.ask(i, text, KindSpeaker, false)
			a.Right = g.wanted(a.Order)
		case g.Speaker != nil:
			a = t.ask(i, text, KindSpeaker, false)
			want, _ := g.speakers()
			a.Right = slices.Equal(a.Order[:min(len(a.Order), max(len(want), 1))], want)
		case g.Explicit:
			a = t.ask(i, text, KindAddressed, true)
			a.Right = slices.Equal(a.Addressed, g.To)
			if g.TextWithout != "" {
				w := t.ask(i, g.TextWithout, KindWithout, true)
				w.Right = w.selects(g.To...)
				w.simple = slices.Contains(g.To, t.lastPartner(i))
				a.Without = &w
			}
		default:
			a = t.ask(i, text, KindReply, true)
			a.Right = a.selects(g.To...)
			a.simple = slices.Contains(g.To, t.lastPartner(i))
			a.calledWrong = slices.ContainsFunc(a.Addressed, func(n string) bool { return !slices.Contains(g.To, n) })
		}
		all = append(all, a)
	}
	return all
}

// String is an answer as a line.
func (a Answer) String() string {
	list := func(names []string, sep string) string { return cmp.Or(strings.Join(names, sep), "nobody") }
	terms := make([]string, len(a.Terms))
	for i, t := range a.Terms {
		terms[i] = fmt.Sprintf("%s %+.1f", t.Name, t.Value)
	}
	wrong := ""
	if !a.Right {
		wrong = "  (not as given)"
	}
	return fmt.Sprintf("%s %s %s: calls %s; selected %s: %s [%s]%s", a.Dialogue, a.Message, a.Kind, list(a.Addressed, ", "), list(a.Order, ", then "),
		a.Reason, strings.Join(terms, ", "), wrong)
}

func (a Answer) selects(names ...string) bool {
	return a.Selected != nil && slices.Contains(names, *a.Selected)
}

// table is a dialogue as a room.
type table struct {
	d     Dialogue
	index map[string]int
	names []string // participants, and who else speaks
	card  map[string]round.Card
	calls [][]string       // per message, for the simple rules: whom its first words name
	meta  []round.Metadata // per message, where companions are given: what their devices would have known
}

func newTable(d Dialogue) *table {
	t := &table{d: d, index: make(map[string]int), card: make(map[string]round.Card)}
	t.names = slices.Clone(d.Participants)
	for i, m := range d.Messages {
		t.index[m.ID] = i
		if !slices.Contains(t.names, m.From) {
			t.names = append(t.names, m.From)
		}
	}
	for _, n := range t.names {
		if len(d.Companions) == 0 {
			t.card[n] = round.Card{ID: round.CompanionID(cmp.Or(n, "_")), Name: cmp.Or(n, "_")}
		}
		for _, c := range d.Companions {
			if string(c.ID) == n || c.Name == n || slices.Contains(c.Aliases, n) {
				t.card[n] = c
			}
		}
	}
	for _, c := range d.Companions { // present, though it says nothing
		if !slices.ContainsFunc(t.names, func(n string) bool { return t.card[n].ID == c.ID }) {
			t.names = append(t.names, string(c.ID))
			t.card[string(c.ID)] = c
		}
	}
	for _, m := range d.Messages {
		t.calls = append(t.calls, t.prefix(m))
	}
	t.meta = make([]round.Metadata, len(d.Messages))
	if len(d.Companions) > 0 {
		for i, m := range d.Messages {
			t.meta[i] = round.PersonMetadata(m.Text, nil)
			if c, ok := t.card[m.From]; ok && i > 0 {
				v := t.view(i-1, d.Messages[i-1].Text)
				dec, _ := decide(v)
				t.meta[i] = round.AnswerMetadata(v, c.ID, dec, m.Text)
			}
		}
	}
	return t
}

// participant is how the room knows somebody, in a round that sender opened.
func (t *table) participant(name, sender string) round.Participant {
	if c, ok := t.card[name]; ok && (name != sender || len(t.d.Companions) > 0) {
		return round.Participant(c.ID)
	}
	return round.Participant("human:" + name)
}

func (t *table) nameOf(p round.Participant) string {
	if name, ok := strings.CutPrefix(string(p), "human:"); ok {
		return name
	}
	for _, n := range t.names {
		if string(t.card[n].ID) == string(p) {
			return n
		}
	}
	return string(p)
}

// recentLines is how much of a dialogue a round sees: what a device keeps.
const recentLines = 50

// view is what a device sees when message i is said, with the given words.
func (t *table) view(i int, text string) round.View {
	sender := t.d.Messages[i].From
	v := round.View{Manners: round.DefaultManners()}
	for k, m := range t.d.Messages[:i+1] {
		msg := round.Message{ID: round.MessageID(m.ID), From: t.participant(m.From, sender), Text: m.Text, Number: k + 1, Metadata: t.meta[k]}
		if !msg.From.Human() {
			v.Turns++
		}
		if k < i {
			v.Threads = v.Threads.Next(msg, 0)
		}
		if k == i {
			if text != m.Text {
				msg.Text, msg.Metadata = text, round.Metadata{}
			}
			v.Message = msg
		} else if k >= i-recentLines {
			v.Recent = append(v.Recent, msg)
		}
	}
	here := round.Member{Device: "replay"}
	for _, n := range t.names {
		p := t.participant(n, sender)
		if c, ok := t.card[n]; ok && p == round.Participant(c.ID) {
			here.Cards = append(here.Cards, c)
		} else if p.Human() {
			v.Members = append(v.Members, round.Member{Device: round.DeviceID(n), Name: n})
		}
	}
	v.Members = append(v.Members, here)
	return v
}

// decide lets everybody vote who is there, the sender excluded.
func decide(v round.View) (round.Decision, []round.Vote) {
	var roster []round.CompanionID
	for _, m := range v.Members {
		for _, c := range m.Cards {
			if round.Participant(c.ID) != v.Message.From {
				roster = append(roster, c.ID)
			}
		}
	}
	votes := round.JudgeAll(v, roster)
	return round.Decide(v.Message, roster, votes), votes
}

// nearest is whom a message is most likely for, or who is most likely to answer it, if somebody is: of those who vote the one with the
// strongest tie to its sender, and of equals whom the draw of the room takes.
func nearest(v round.View, votes []round.Vote, kind string) round.CompanionID {
	near := v.Conversation().Near
	weight := func(vote round.Vote) float64 {
		if kind == KindNext {
			return near[string(vote.From)].Next()
		}
		return near[string(vote.From)].Weight
	}
	var roster []round.CompanionID
	var best []round.Vote
	for _, vote := range votes {
		if len(best) > 0 && weight(vote) > weight(best[0]) {
			roster, best = nil, nil
		}
		if len(best) == 0 || weight(vote) == weight(best[0]) {
			roster = append(roster, vote.From)
			best = append(best, round.Vote{From: vote.From, MessageID: vote.MessageID, State: round.StateSpeak, Selected: true, Closing: round.ClosingNone})
		}
	}
	return round.Decide(v.Message, roster, best).Winner
}

// ask puts a message to the rules.
func (t *table) ask(i int, text, kind string, somebody bool) Answer {
	v := t.view(i, text)
	a := Answer{
		Dialogue: t.d.Dialogue, About: t.d.About, Message: t.d.Messages[i].ID, Kind: kind, Addressed: []string{}, Order: []string{}, Terms: []round.Term{},
	}
	var named []words.Named
	for _, n := range t.names {
		if p := t.participant(n, t.d.Messages[i].From); p != v.Message.From {
			who := words.Named{Who: string(p), Names: []string{n}}
			if c, ok := t.card[n]; ok {
				who.Names = append([]string{n, c.Name, string(c.ID)}, c.Aliases...)
			}
			named = append(named, who)
		}
	}
	for _, p := range words.Known().Names(named).Read(text).Called {
		a.Addressed = append(a.Addressed, t.nameOf(round.Participant(p)))
	}
	d, votes := decide(v)
	a.Reason = d.Reason
	if v.Message.From.Human() {
		a.Rule = v.Conversation().Whom().Rule
	}
	winner := d.Winner
	byScore := !slices.ContainsFunc(votes, func(x round.Vote) bool { return x.From == winner && x.Selected })
	if somebody && (winner == "" || kind == KindNext && byScore) { // the score tells whether somebody should, not who will
		if winner = nearest(v, votes, kind); winner != "" {
			a.Room = "nobody: " + strings.TrimPrefix(d.Reason, "nobody: ")
		}
	}
	for _, vote := range votes {
		if vote.From == winner {
			a.Terms = vote.Terms
			if d.Winner == "" {
				a.Reason = vote.Reason
			}
		}
	}
	if winner != "" {
		name := t.nameOf(round.Participant(winner))
		a.Selected = &name
	}
	for _, e := range d.Extras {
		a.Then = append(a.Then, t.nameOf(round.Participant(e)))
	}
	if a.Selected != nil {
		a.Order = append([]string{*a.Selected}, a.Then...)
	}
	return a
}
