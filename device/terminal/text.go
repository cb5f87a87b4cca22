package terminal

import (
	"fmt"
	"strings"
	"unicode"

	"github.com/clipperhouse/displaywidth"

	"conch/device/language"
	"conch/device/printable"
)

// Text with a look, laid into the columns of a terminal. All pure.

// Look is what a terminal can show.
type Look struct {
	Width   int  // columns; 0: nobody knows
	Height  int  // rows; 0: nobody knows
	Moves   bool // its cursor goes up, and what is below it can be erased
	Colour  bool
	Strikes bool // words can be struck out
	ASCII   bool // shows nothing else

	Language language.Language // of who reads it
}

// known is a Look with a size.
func (l Look) known() Look {
	if l.Width <= 0 {
		l.Width = 80
	}
	if l.Height <= 0 {
		l.Height = 24
	}
	return l
}

// room is how many columns a row may have: what stands in the last one makes some terminals begin a new row, and some not.
func (l Look) room() int { return max(l.Width-1, 1) }

// style is how a piece of text looks.
type style struct {
	colour int // 1 to len(hues): whose it is; 0: nobody's
	dim    bool
	struck bool
}

// span is text in one style. It holds no newline and nothing that steers.
type span struct {
	text string
	style
}

// hues are the colours of companions, in the order in which they come: readable on black and on white, and none that says
// error or success by itself (SGR, ECMA-48 8.3.117).
var hues = [...]string{"36", "33", "35", "34", "32", "96", "93", "95"}

// paint is a row with its looks.
func (l Look) paint(row []span) string {
	var b strings.Builder
	for _, s := range row {
		text := l.spelled(s.text)
		var codes []string
		if s.dim && l.Colour {
			codes = append(codes, "2")
		}
		if s.struck && l.Strikes {
			codes = append(codes, "9")
		}
		if s.colour > 0 && l.Colour {
			codes = append(codes, hues[(s.colour-1)%len(hues)])
		}
		if len(codes) == 0 {
			b.WriteString(text)
			continue
		}
		fmt.Fprintf(&b, "\x1b[%sm%s\x1b[0m", strings.Join(codes, ";"), text)
	}
	return b.String()
}

// signs are what is said in other signs where there is only ASCII.
var signs = strings.NewReplacer("…", "...", "‘", "'", "’", "'", "“", `"`, "”", `"`, "„", `"`, "«", `"`, "»", `"`, "–", "-", "—", "-", "→", "->", "×", "x",
	"€", "EUR", "°", " deg", "\u00a0", " ", "ß", "ss", "æ", "ae", "Æ", "Ae", "œ", "oe", "Œ", "Oe", "¿", "?", "¡", "!")

// bare are letters without what stands on them, from U+00C0 to U+017F.
const bare = "AAAAAAACEEEEIIIIDNOOOOOxOUUUUYTsaaaaaaaceeeeiiiidnooooo/ouuuuyty" +
	"AaAaAaCcCcCcCcDdDdEeEeEeEeEeGgGgGgGgHhHhIiIiIiIiIiIiJjKkkLlLlLlLlLlNnNnNnnNnOoOoOoOoRrRrRrSsSsSsSsTtTtTtUuUuUuUuUuUuWwYyYZzZzZzs"

// spelled is text in the letters that the terminal has: without accents where there are none, and a question mark for the rest.
func (l Look) spelled(text string) string {
	text = printable.Escape(text)
	if !l.ASCII {
		return text
	}
	return strings.Map(func(r rune) rune {
		switch {
		case unicode.Is(unicode.M, r):
			return -1
		case r >= 0xc0 && r <= 0x17f:
			return rune(bare[r-0xc0])
		case r > unicode.MaxASCII:
			return '?'
		}
		return r
	}, signs.Replace(text))
}

// columns is how wide a terminal shows text.
func (l Look) columns(text string) int { return displaywidth.String(l.spelled(text)) }

// wrap lays spans into rows of so many columns: between words where there is a space, and within one that is too long. Rows but
// the first begin with an indent.
func (l Look) wrap(spans []span, columns int, indent string) [][]span {
	if len(indent) > columns/2 {
		indent = ""
	}
	columns = max(columns, 2) // one character may be two columns wide
	w := wrapping{look: l, columns: columns, indent: indent}
	for _, s := range spans {
		for _, word := range words(s.text) {
			w.word(span{word, s.style})
		}
	}
	return append(w.rows, w.row)
}

// hanging is the indent of a line that goes on: below what stands behind the first gap of two spaces, where that is near in this width.
func (l Look) hanging(line string) string {
	text := strings.TrimLeft(line, " ")
	lead := len(line) - len(text)
	word, rest, gap := strings.Cut(text, "  ")
	column := lead + l.columns(word) + 2 + len(rest) - len(strings.TrimLeft(rest, " "))
	if !gap || column > min(24, l.Width/3) {
		column = lead + len(indent)
	}
	return strings.Repeat(" ", column)
}

// words cuts text before each run of spaces that is followed by something else.
func words(text string) (list []string) {
	from, inWord := 0, false
	for i, r := range text {
		if r == ' ' && inWord {
			list, from, inWord = append(list, text[from:i]), i, false
		} else if r != ' ' {
			inWord = true
		}
	}
	return append(list, text[from:])
}

type wrapping struct {
	look    Look
	columns int
	indent  string

	rows [][]span
	row  []span
	used int
}

func (w *wrapping) word(s span) {
	n := w.look.columns(s.text)
	if w.used+n > w.columns && w.used > 0 && strings.HasPrefix(s.text, " ") {
		w.next()
		s.text = strings.TrimLeft(s.text, " ")
		n = w.look.columns(s.text)
	}
	for w.used+n > w.columns {
		head := w.fit(s.text)
		if head == "" {
			w.next()
			continue
		}
		w.put(span{head, s.style})
		if s.text = s.text[len(head):]; s.text == "" {
			return
		}
		w.next()
		n = w.look.columns(s.text)
	}
	w.put(s)
}

// fit is as much of text as the row has room for; a row takes one character at least.
func (w *wrapping) fit(text string) string {
	used, fits := w.used, 0
	for g := displaywidth.StringGraphemes(text); g.Next(); {
		n := w.look.columns(g.Value())
		if used+n > w.columns && (fits > 0 || w.used > len(w.indent)) {
			break
		}
		used += n
		fits += len(g.Value())
	}
	return text[:fits]
}

func (w *wrapping) put(s span) {
	w.used += w.look.columns(s.text)
	if n := len(w.row); n > 0 && w.row[n-1].style == s.style {
		w.row[n-1].text += s.text
		return
	}
	w.row = append(w.row, s)
}

func (w *wrapping) next() {
	w.rows, w.row, w.used = append(w.rows, w.row), nil, 0
	if w.indent != "" {
		w.put(span{text: w.indent})
	}
}

// graphemes are what a person takes for characters.
func graphemes(text string) (list []string) {
	for g := displaywidth.StringGraphemes(text); g.Next(); {
		list = append(list, g.Value())
	}
	return list
}
