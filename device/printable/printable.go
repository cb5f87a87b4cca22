// Package printable makes text that somebody else has written harmless where a person reads it: names, roles, transcripts, reasons,
// whatever came from another device, a model or a file.
//
//	foreign text ──> Text, Name, Quote: one line, what can be seen, cut ──┐
//	foreign name ──> IsName: refused at the door                          ├──> Writer ──> terminal, pipe, journal
//	our own layout: Writer.Steer ─────────────────────────────────────────┘    nothing that steers a terminal passes Write
//
// Both are needed. The Writer stands before standard output and standard error (cmd/conch), so that nothing that any command prints,
// today or later, reaches a terminal as a control sequence. It cannot know whose a newline is: that nobody writes a line in another's
// name, or a name over the whole screen, is for whoever prints a field.
package printable

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Bounds.
const (
	maxName  = 40 // characters of a name in a line or a table
	maxMarks = 8  // that stand upon one another: no script needs more
	maxTags  = 7  // letters of a flag (UTS 51, ED-14a), the end included
)

// Text is s on one line: line breaks and tabs are spaces, characters that are not seen or that turn the direction of writing are left out
// (but for the joiners that emoji and Arabic or Indic words are spelled with), control characters and bytes that are no text are U+FFFD,
// one for a run of them. Text(Text(s)) is Text(s).
func Text(s string) string {
	if plain(s) {
		return s
	}
	var b strings.Builder
	b.Grow(len(s))
	before, marks, tags := rune(0), 0, 0 // what was written last; how many marks in a row; of the flag that is being read
	for i, r := range s {
		_, size := utf8.DecodeRuneInString(s[i:])
		switch {
		case breaks(r):
			if before == ' ' {
				continue
			}
			r = ' '
		case r == utf8.RuneError && size == 1, unicode.IsControl(r), noCharacter(r):
			if before == utf8.RuneError {
				continue
			}
			r = utf8.RuneError
		case r == zwj || r == zwnj:
			if !joins(before, s[i+size:]) {
				continue
			}
		case tag(r):
			if before != blackFlag && tags == 0 || tags == maxTags {
				continue
			}
			tags++
			b.WriteRune(r)
			before = r
			if r == endTag {
				tags = 0
			}
			continue
		case unseen(r):
			continue
		case unicode.Is(unicode.M, r):
			if marks++; marks > maxMarks {
				continue
			}
			b.WriteRune(r)
			before = r
			continue
		}
		marks, tags = 0, 0
		b.WriteRune(r)
		before = r
	}
	return b.String()
}

// Name is Text, cut to what a line has room for.
func Name(s string) string { return Cut(Text(s), maxName) }

// Quote is Text in quotation marks, its own ones and backslashes with a backslash before them.
func Quote(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(Text(s)) + `"`
}

// Cut is at most most characters of s, the last one an ellipsis where something was cut.
func Cut(s string, most int) string {
	n := 0
	for i, r := range s {
		if unicode.Is(unicode.M, r) || r == zwj || r == zwnj || tag(r) {
			continue // takes no room
		}
		if n++; n > most {
			return strings.TrimRightFunc(cutTo(s[:i], most-1), func(r rune) bool { return r == zwj || r == zwnj }) + "…"
		}
	}
	return s
}

func cutTo(s string, most int) string {
	n := 0
	for i, r := range s {
		if unicode.Is(unicode.M, r) || r == zwj || r == zwnj || tag(r) {
			continue
		}
		if n++; n > most {
			return s[:i]
		}
	}
	return s
}

// IsName says whether s can be a name: it is shown as it is, has something to be seen, and no space at either end.
func IsName(s string) bool {
	seen := func(r rune) bool { return r != utf8.RuneError && unicode.IsGraphic(r) && !unicode.Is(unicode.M, r) }
	return IsText(s) && strings.TrimSpace(s) == s && strings.ContainsFunc(s, seen)
}

// IsText says whether s is shown as it is.
func IsText(s string) bool { return utf8.ValidString(s) && Text(s) == s }

// plain is most text: no need to look twice.
func plain(s string) bool {
	for i := range len(s) {
		if s[i] < ' ' || s[i] >= 0x7f {
			return false
		}
	}
	return true
}

const (
	zwnj      = '\u200c'
	zwj       = '\u200d'
	blackFlag = '\U0001f3f4'
	endTag    = '\U000e007f'
	emojiLook = '\ufe0f' // VARIATION SELECTOR-16
)

// breaks are line breaks (Unicode 5.8) and tabs.
func breaks(r rune) bool {
	return r >= '\t' && r <= '\r' || r == 0x85 || r == '\u2028' || r == '\u2029'
}

func tag(r rune) bool { return r >= '\U000e0020' && r <= endTag }

// noCharacter: Unicode 23.7.
func noCharacter(r rune) bool { return r >= 0xfdd0 && r <= 0xfdef || r&0xfffe == 0xfffe }

// blank are letters, marks and signs of which nothing is seen (DerivedCoreProperties, Default_Ignorable_Code_Point, and the empty braille cell).
var blank = &unicode.RangeTable{
	R16: []unicode.Range16{
		{Lo: 0x034f, Hi: 0x034f, Stride: 1}, {Lo: 0x115f, Hi: 0x1160, Stride: 1}, {Lo: 0x17b4, Hi: 0x17b5, Stride: 1},
		{Lo: 0x2065, Hi: 0x2065, Stride: 1}, {Lo: 0x2800, Hi: 0x2800, Stride: 1}, {Lo: 0x3164, Hi: 0x3164, Stride: 1},
		{Lo: 0xffa0, Hi: 0xffa0, Stride: 1}, {Lo: 0xfff0, Hi: 0xfff8, Stride: 1},
	},
	R32: []unicode.Range32{{Lo: 0xe0000, Hi: 0xe0fff, Stride: 1}},
}

// seenFormats are characters of the category Cf that are seen: the signs which Arabic, Syriac and Kaithi write before numbers.
var seenFormats = &unicode.RangeTable{
	R16: []unicode.Range16{
		{Lo: 0x0600, Hi: 0x0605, Stride: 1}, {Lo: 0x06dd, Hi: 0x06dd, Stride: 1}, {Lo: 0x070f, Hi: 0x070f, Stride: 1},
		{Lo: 0x0890, Hi: 0x0891, Stride: 1}, {Lo: 0x08e2, Hi: 0x08e2, Stride: 1},
	},
	R32: []unicode.Range32{{Lo: 0x110bd, Hi: 0x110bd, Stride: 1}, {Lo: 0x110cd, Hi: 0x110cd, Stride: 1}},
}

func unseen(r rune) bool {
	return unicode.Is(unicode.Cf, r) && !unicode.Is(seenFormats, r) || unicode.Is(blank, r)
}

// joining are the scripts in which a joiner is spelling (Unicode 23.2, and 12 for the Indic ones).
var joining = []*unicode.RangeTable{
	unicode.Arabic, unicode.Syriac, unicode.Mandaic, unicode.Mongolian, unicode.Nko, unicode.Phags_Pa, unicode.Devanagari, unicode.Bengali,
	unicode.Gurmukhi, unicode.Gujarati, unicode.Oriya, unicode.Tamil, unicode.Telugu, unicode.Kannada, unicode.Malayalam, unicode.Sinhala,
	unicode.Khmer, unicode.Myanmar, unicode.Tibetan, unicode.Balinese, unicode.Javanese,
}

// joins says whether a joiner is spelling: behind a letter or mark of a joining script (an Arabic word may end in one), or between two emoji.
func joins(before rune, rest string) bool {
	if unicode.In(before, joining...) {
		return unicode.IsLetter(before) || unicode.Is(unicode.M, before)
	}
	after, _ := utf8.DecodeRuneInString(rest)
	return pictograph(before) && pictograph(after)
}

func pictograph(r rune) bool {
	return r == emojiLook || r >= 0x1f000 && r <= 0x1faff || unicode.Is(unicode.So, r) && !unicode.Is(blank, r)
}
