package rehearsal

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// What a room says to a companion (companions/roomline.go has the same; a test there compares). The marker begins the
// instructions of an answer in a room; lines of others begin with who said them, where.
const (
	RoomMarker = "In the room:"
	RoomPerson = "person"
	roomNotes  = "room" // notes on what was heard, by nobody
	roomIn     = " in "
)

// maxTalk bounds the lines of a conversation that a brain is shown.
const maxTalk = 40

// Line is one thing that was said.
type Line struct {
	Who   string // a companion's name; empty for a person
	Place string // empty: here
	Text  string
	Mine  bool // said by this companion
}

// Person says whether a person said it.
func (l Line) Person() bool { return l.Who == "" && !l.Mine }

// roomLine takes "[Ada in kitchen] text" apart; text without brackets was said here, by a person.
func roomLine(text string) Line {
	head, rest, ok := strings.Cut(text, "]")
	head, bracket := strings.CutPrefix(head, "[")
	if !ok || !bracket || strings.TrimSpace(head) == "" || strings.ContainsAny(head, "\n[") {
		return Line{Text: text}
	}
	l := Line{Who: head, Text: strings.TrimSpace(rest)}
	if quotation().FindString(l.Text) == l.Text {
		l.Text = unquoted(l.Text)
	}
	if i := strings.LastIndex(head, roomIn); i > 0 {
		l.Who, l.Place = head[:i], head[i+len(roomIn):]
	}
	if l.Who == RoomPerson {
		l.Who = ""
	}
	return l
}

// talkOf is the conversation as lines, the last one last. What has not been heard out yet has no text.
func talkOf(items []*item) []Line {
	var out []Line
	for _, it := range items {
		if it.kind != "message" || it.text == "" && it.hearing == nil {
			continue
		}
		switch it.role {
		case "assistant":
			out = append(out, Line{Text: it.text, Mine: true})
		case "user":
			if l := roomLine(it.text); l.Who != roomNotes {
				out = append(out, l)
			}
		}
	}
	return out[max(0, len(out)-maxTalk):]
}

// self is what a companion's instructions say of it and of the room.
type self struct {
	name, role, place string
	topics            []*topic
	knows             []string
	others            []other
	lines             []string
}

type other struct {
	name, role, place string
	topics            []*topic
}

// readInstructions finds what companions.Card.Instructions has written; other instructions give at least a name.
func readInstructions(text string) self {
	me := self{name: name(text)}
	section := ""
	for line := range strings.Lines(text) {
		line = unquoted(strings.TrimSpace(line))
		entry, listed := strings.CutPrefix(line, "- ")
		switch {
		case listed && section == "others":
			me.others = append(me.others, readOther(entry))
		case listed && section == "lines":
			me.lines = append(me.lines, entry)
		case strings.HasPrefix(line, "You are in a room with"), line == presentHead:
			section = "others"
		case strings.HasPrefix(line, "This is how you talk"):
			section = "lines"
		default:
			section = ""
			if rest, ok := strings.CutPrefix(line, "You are "+me.name+", "); ok && me.role == "" {
				me.role = strings.TrimSuffix(rest, ".")
			}
			if rest, ok := strings.CutPrefix(line, "You live in the device called "); ok {
				me.place = strings.TrimSuffix(rest, ".")
			}
			if rest, ok := strings.CutPrefix(line, "You know about: "); ok {
				me.knows = strings.Split(strings.TrimSuffix(rest, "."), ", ")
			}
		}
	}
	me.topics = topicsOf(me.role + " " + strings.Join(me.knows, " "))
	return me
}

// presentHead begins the list of those who are there now, in the guidance of an answer (companions.Present).
const presentHead = "Other companions present:"

// readOther reads "Ben, the reader of the house (bedroom): sleep, books".
func readOther(entry string) other {
	head, knows, _ := strings.Cut(entry, ": ")
	var o other
	if i := strings.LastIndex(head, " ("); i > 0 && strings.HasSuffix(head, ")") {
		head, o.place = head[:i], head[i+2:len(head)-1]
	}
	o.name, o.role, _ = strings.Cut(head, ", ")
	o.topics = topicsOf(o.role + " " + knows)
	return o
}

// name is who the instructions say the companion is: words that begin with a capital, or letters of a script without.
func name(instructions string) string {
	for _, mark := range []string{"You are ", "you are ", "Your name is ", "your name is ", "named "} {
		_, rest, ok := strings.Cut(instructions, mark)
		if !ok {
			continue
		}
		rest, _, _ = strings.Cut(rest, "\n")
		if i := strings.IndexAny(rest, ",.;:!?"); i >= 0 {
			rest = rest[:i]
		}
		var words []string
		for w := range strings.FieldsSeq(rest) {
			first, _ := utf8.DecodeRuneInString(w)
			if !unicode.IsLetter(first) || unicode.IsLower(first) {
				break
			}
			words = append(words, w)
		}
		if all := strings.Fields(rest); len(words) == 0 && len(all) == 1 && mark == "You are " && strings.HasPrefix(instructions, mark) {
			words = all // that is how a card begins: a name that somebody has written small
		}
		if got := strings.Join(words, " "); got != "" && utf8.RuneCountInString(got) <= 40 {
			return got
		}
	}
	return "conch"
}

// scene is the moment at which a companion speaks in a room. Built once for a Think.
type scene struct {
	self
	t      Thought
	asked  Line     // what a person wants, the last thing that can be answered
	words  []string // of asked
	joined []string // what the same person said just before it and nobody has answered
	since  []Line   // said by companions after it
	handed bool     // the last line hands the floor to this companion by name
}

func newScene(t Thought) scene {
	s := scene{self: readInstructions(t.Instructions), t: t}
	if strings.Contains(t.Guidance, presentHead) {
		s.others = readInstructions(t.Guidance).others
	}
	at := -1
	for i, l := range slices.Backward(t.Talk) {
		if l.Person() && l.Text != "" {
			if at < 0 {
				at = i
			}
			s.asked = l
			// "And you, Ben?" means what was asked before.
			if !handsOver(normal(l.Text)) || len(normal(l.Text)) > 6 {
				for k := i - 1; k >= 0 && t.Talk[k].Person(); k-- {
					s.joined = append([]string{t.Talk[k].Text}, s.joined...)
				}
				break
			}
		}
	}
	if at >= 0 {
		s.since = t.Talk[at+1:]
	} else if len(t.Talk) > 0 {
		s.asked = t.Talk[len(t.Talk)-1]
		if s.asked.Mine {
			s.asked = Line{}
		}
	}
	if n := len(t.Talk); n > 0 {
		last := t.Talk[n-1]
		words := normal(last.Text)
		s.handed = !last.Mine && handsOver(words) && s.called(words)
	}
	s.words = normal(s.asked.Text)
	return s
}

// handsOver recognises "over to you", "your turn", "what about you", "and you".
func handsOver(words []string) bool {
	text := " " + strings.Join(words, " ") + " "
	return slices.ContainsFunc([]string{" over to you ", " your turn ", " what about you ", " how about you ", " and you "},
		func(phrase string) bool { return strings.Contains(text, phrase) })
}

// called says whether this companion's name is among the words.
func (s *self) called(words []string) bool {
	return strings.Contains(" "+strings.Join(words, " ")+" ", " "+strings.Join(normal(s.name), " ")+" ")
}

// said tells whether somebody has said this already.
func (s *scene) said(text string) bool {
	return slices.ContainsFunc(s.t.Talk, func(l Line) bool { return strings.Contains(l.Text, strings.TrimRight(text, ".!?")) })
}

// unsaid is the first of the texts that nobody has said, beginning at a place that depends on who speaks of what; empty
// when all were said: it never says the same twice to go on talking.
func (s *scene) unsaid(texts ...string) string {
	if len(texts) == 0 {
		return ""
	}
	start := 0
	for _, c := range []byte(s.name + s.asked.Text) {
		start = (start*31 + int(c)) % 1009
	}
	for i := range texts {
		if text := texts[(start+i)%len(texts)]; !s.said(text) {
			return text
		}
	}
	return ""
}

// earlier is what people wanted before, the latest first.
func (s *scene) earlier() (out []string) {
	for _, l := range slices.Backward(s.t.Talk) {
		if l.Person() && l.Text != s.asked.Text {
			out = append(out, l.Text)
		}
	}
	return out
}

// mine is the companion's own last line.
func (s *scene) mine() string {
	for _, l := range slices.Backward(s.t.Talk) {
		if l.Mine && l.Text != "" {
			return l.Text
		}
	}
	return ""
}

// guided looks for words of the guidance. The line with the reason ("You, Ada, speak now because …") tells what happened,
// not what to do, and is left out.
func (s *scene) guided(words ...string) bool {
	for line := range strings.Lines(strings.ToLower(s.t.Guidance)) {
		if !strings.HasPrefix(line, "you, ") && slices.ContainsFunc(words, func(w string) bool { return strings.Contains(line, w) }) {
			return true
		}
	}
	return false
}
