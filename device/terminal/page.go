package terminal

import (
	"fmt"
	"slices"
	"strings"
)

// What a person sees, as a pure function: events go in, and what is to be written comes out. A page has two parts. What is above is
// written once and belongs to the terminal, which scrolls it. Below it stands what still changes, at most a few rows, drawn anew with each event:
//
//	Ada: 2 plus 2 is 4.                                        above: whole lines
//	you: tell me a story
//	Ada: Once upon a time a shell lay on a beach and           ┐ what is being said, as far as it was heard
//	[Ada speaks; space silences] > and a joke, ple_            ┘ the prompt, with what is being typed
//
//	event       what is drawn
//	lines       above; while somebody speaks, notes wait for the end of that, and what is urgent goes before it
//	asked       above, "you: …"
//	speaking    below, as far as it was heard; rows that no longer fit below go above for good
//	said        above, in the place of what was being said; what nobody heard is struck out
//	doing       the prompt
//	typing      the prompt
//	closed      below becomes nothing, until the next doing
//	erased      the same, until the next event
//	lost        below is forgotten but for the row of the cursor: somebody else may have written there

type event any

type (
	lines struct {
		text string // with newlines
		note bool   // can wait, and is drawn dimly
	}
	asked    struct{ text string }
	speaking struct{ Speech }
	said     struct {
		Speech
		cut string // how it was cut; empty: it was not
	}
	doing  struct{ state State }
	typing struct {
		text string
		at   int // of the cursor, in bytes
	}
	closed struct{}
	erased struct{}
	lost   struct{}
)

// Speech is what somebody says.
type Speech struct {
	ID    string // of the turn
	Who   string
	Place string // another device than the one at hand; may be empty
	Heard string
	Rest  string // that came and was not heard yet
}

// State is what the prompt says.
type State struct{ Long, Short string } // the second where there is little room

// page is the state.
type page struct {
	live   bool // there is a prompt
	state  State
	typed  string
	at     int
	speech Speech // being said; no Who: nobody speaks
	above  int    // bytes of the speech's text that were written above for good
	notes  []lines
	over   []string // turns whose end was drawn
	hues   []string // names, in the order in which they came
	drawn  drawn
}

// drawn is what stands below.
type drawn struct {
	rows []int // columns of each
	x, y int   // of the cursor
}

// width is that of the row where the cursor is.
func (d drawn) width() int {
	if d.y < len(d.rows) {
		return d.rows[d.y]
	}
	return 0
}

const (
	keptOver = 8    // turns
	mostRest = 160  // bytes of words that nobody heard
	indent   = "  " // of what belongs to the row before
	eraseAll = "\x1b[J"
)

// step is the page after an event, and what is to be written for that.
func (p page) step(l Look, ev event) (page, string) {
	l = l.known()
	before := p
	var rows []string
	switch e := ev.(type) {
	case lines:
		if e.note && p.speech.Who != "" {
			p.notes = append(slices.Clip(p.notes), e)
			return p, ""
		}
		rows = p.lines(l, e)
	case asked:
		rows = l.rows(indent, span{text: l.Language.Phrase("terminal.you") + ": ", style: style{dim: true}}, span{text: e.text})
	case speaking:
		if slices.Contains(p.over, e.ID) {
			return p, ""
		}
		rows = p.speak(l, e.Speech)
	case said:
		rows = p.end(l, e)
	case doing:
		p.live, p.state = true, e.state
	case typing:
		p.typed, p.at = e.text, e.at
	case closed:
		p.live, p.drawn = false, drawn{}
		return p, before.erase(l)
	case erased:
		p.drawn = drawn{}
		return p, before.erase(l)
	case lost:
		p.drawn = drawn{}
		before.drawn = drawn{rows: []int{before.drawn.width()}} // the row where the cursor is: empty, or where it was left
	}
	below, d := p.below(l)
	out := below
	if len(rows) > 0 {
		out = strings.Join(rows, "\r\n") + "\r\n" + below
	}
	p.drawn = d
	return p, before.erase(l) + out
}

// lines are whole lines; a note is dim.
func (p *page) lines(l Look, e lines) (rows []string) {
	for line := range strings.Lines(e.text) {
		line = strings.TrimSuffix(line, "\n")
		rows = append(rows, l.rows(l.hanging(line), span{line, style{dim: e.note}})...)
	}
	return rows
}

// rows lays a paragraph out. A terminal whose cursor does not move breaks its rows itself.
func (l Look) rows(indent string, spans ...span) (rows []string) {
	if !l.Moves {
		return []string{l.paint(spans)}
	}
	for _, row := range l.wrap(spans, l.room(), indent) {
		rows = append(rows, l.paint(row))
	}
	return rows
}

// hue is the colour of a companion: the next one for a new name.
func (p *page) hue(who string) int {
	i := slices.Index(p.hues, who)
	if i < 0 {
		p.hues = append(slices.Clip(p.hues), who)
		i = len(p.hues) - 1
	}
	return i + 1
}

// head is what stands before the words of somebody.
func (p *page) head(s Speech) []span {
	head := []span{{text: s.Who, style: style{colour: p.hue(s.Who)}}}
	if s.Place != "" {
		head = append(head, span{text: " (" + s.Place + ")", style: style{dim: true}})
	}
	return append(head, span{text: ":"})
}

// speak takes how far somebody has come, and returns what no longer fits below.
func (p *page) speak(l Look, s Speech) (rows []string) {
	if !l.Moves || !p.live {
		return nil // what cannot be drawn anew is drawn when it is over
	}
	if p.speech.ID != s.ID || p.above > len(s.Heard) || p.speech.Heard[:min(p.above, len(p.speech.Heard))] != s.Heard[:p.above] {
		p.above = 0
	}
	p.speech = s
	prompt, _ := p.prompt(l)
	for most := max(min(8, l.Height-len(prompt)-1), 1); ; {
		text := p.spoken(l, s)
		if len(text) <= most {
			return rows
		}
		n := len(plainText(text[0])) - p.prefix(s)
		if n <= 0 { // not even the name fits into a row
			p.speech, p.above = Speech{}, 0
			return nil
		}
		rows = append(rows, l.paint(text[0]))
		p.above += n
		for p.above < len(s.Heard) && s.Heard[p.above] == ' ' {
			p.above++
		}
	}
}

// prefix is how many bytes stand before the speech's own text in the first row that is still below.
func (p *page) prefix(s Speech) int {
	if p.above == 0 {
		return len(plainText(p.head(s))) + 1
	}
	return len(indent)
}

// spoken are the rows of what is being said, without those that are above.
func (p *page) spoken(l Look, s Speech) [][]span {
	if p.above == 0 {
		return l.wrap(append(p.head(s), span{text: " " + s.Heard}), l.room(), indent)
	}
	return l.wrap([]span{{text: indent + s.Heard[p.above:]}}, l.room(), indent)
}

func plainText(row []span) string {
	var b strings.Builder
	for _, s := range row {
		b.WriteString(s.text)
	}
	return b.String()
}

// end takes what somebody has said, and the notes that have waited for it.
func (p *page) end(l Look, e said) (rows []string) {
	if e.ID != "" {
		p.over = append(slices.Clip(p.over), e.ID)
		p.over = p.over[max(0, len(p.over)-keptOver):]
	}
	spans := append(p.head(e.Speech), span{text: " " + e.Heard})
	if p.speech.ID == e.ID && p.speech.Who != "" {
		if p.above > 0 && p.above <= len(e.Heard) && p.speech.Heard[:p.above] == e.Heard[:p.above] {
			spans = []span{{text: indent + e.Heard[p.above:]}}
		}
		p.speech, p.above = Speech{}, 0
	}
	if e.cut != "" {
		spans = append(spans, span{text: " …"})
		if rest := cutWords(e.Rest); rest != "" && l.Strikes {
			spans = append(spans, span{text: " "}, span{text: rest, style: style{dim: true, struck: true}})
		}
		spans = append(spans, span{text: " (" + e.cut + ")", style: style{dim: true}})
	}
	if e.Heard != "" || e.cut != "" {
		rows = l.rows(indent, spans...)
	}
	if p.speech.Who == "" {
		for _, n := range p.notes {
			rows = append(rows, p.lines(l, n)...)
		}
		p.notes = nil
	}
	return rows
}

// cutWords are the first words of what nobody heard.
func cutWords(rest string) string {
	rest = strings.TrimSpace(rest)
	if len(rest) <= mostRest {
		return rest
	}
	i := strings.LastIndexByte(rest[:mostRest], ' ')
	if i < 0 {
		return ""
	}
	return rest[:i] + " …"
}

// below is what still changes, and where it stands then.
func (p *page) below(l Look) (string, drawn) {
	if !p.live {
		return "", drawn{}
	}
	if !l.Moves {
		return p.oneRow(l)
	}
	var d drawn
	var rows [][]span
	if p.speech.Who != "" {
		rows = p.spoken(l, p.speech)
	}
	prompt, at := p.prompt(l)
	d.x, d.y = at.x, len(rows)+at.y
	rows = append(rows, prompt...)
	var b strings.Builder
	for i, row := range rows {
		if i > 0 {
			b.WriteString("\r\n")
		}
		b.WriteString(l.paint(row))
		d.rows = append(d.rows, l.columns(plainText(row)))
	}
	if up := len(rows) - 1 - d.y; up > 0 {
		fmt.Fprintf(&b, "\x1b[%dA", up)
	}
	b.WriteString("\r")
	if d.x > 0 {
		fmt.Fprintf(&b, "\x1b[%dC", d.x)
	}
	return b.String(), d
}

// oneRow is the prompt of a terminal whose cursor only goes back to the left: its last columns of what is typed.
func (p *page) oneRow(l Look) (string, drawn) {
	said, typed := p.says(l), p.typed
	for typed != "" && l.columns(said+typed) > l.room() {
		_, after, _ := strings.Cut(typed, " ")
		if r := []rune(typed); after == "" {
			after = string(r[1:])
		}
		typed = after
	}
	text := l.spelled(said + typed)
	return text, drawn{rows: []int{l.columns(text)}, x: l.columns(text)}
}

type place struct{ x, y int }

// says is the prompt without what is typed.
func (p *page) says(l Look) string {
	long, short := p.state.Long, p.state.Short
	switch {
	case l.Width >= 60 && long != "":
		return "[" + long + "] > "
	case l.columns(short)+16 <= l.Width && short != "":
		return "[" + short + "] > "
	}
	return "> "
}

// prompt is what the space bar would do and what is typed, in rows, and where the cursor is. Of a text that would fill the screen, the rows
// around the cursor are drawn.
func (p *page) prompt(l Look) ([][]span, place) {
	says := p.says(l)
	rows := [][]span{{{text: says, style: style{dim: true}}}}
	x, at := l.columns(says), place{-1, 0}
	for i, g := 0, graphemes(p.typed); i <= len(p.typed); {
		text := ""
		if len(g) > 0 {
			text, g = g[0], g[1:]
		}
		n := l.columns(text)
		if x+n > l.room() || text == "" && x >= l.room() {
			rows, x = append(rows, nil), 0
		}
		if at.x < 0 && i+len(text) > p.at || text == "" && at.x < 0 {
			at = place{x, len(rows) - 1}
		}
		if text == "" {
			break
		}
		last := len(rows) - 1
		if k := len(rows[last]); k > 0 && rows[last][k-1].style == (style{}) {
			rows[last][k-1].text += text
		} else {
			rows[last] = append(rows[last], span{text: text})
		}
		x += n
		i += len(text)
	}
	most := max(l.Height/2, 1)
	if len(rows) > most {
		from := min(max(at.y-most+1, 0), len(rows)-most)
		rows, at.y = rows[from:from+most], at.y-from
	}
	return rows, at
}

// erase takes what is below away. Since it was drawn the terminal may have become narrower, and have broken its rows anew.
func (p page) erase(l Look) string {
	d := p.drawn
	if len(d.rows) == 0 {
		return ""
	}
	if !l.Moves {
		return "\r" + strings.Repeat(" ", min(d.rows[0], l.room())) + "\r"
	}
	up := d.x / l.Width
	for _, n := range d.rows[:d.y] {
		up += max(1, (n+l.Width-1)/l.Width)
	}
	up = min(up, l.Height-1)
	if up > 0 {
		return fmt.Sprintf("\r\x1b[%dA", up) + eraseAll
	}
	return "\r" + eraseAll
}
