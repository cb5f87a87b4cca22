package companions

import (
	"strconv"
	"strings"
	"unicode"

	"conch/device/printable"
)

// hidden are controls, and characters that change the direction or are not seen at all (Unicode category Cf but for the
// joiners that some scripts spell with).
func hidden(c rune) bool {
	if c == '\u200c' || c == '\u200d' || c == '\n' || c == '\t' {
		return false
	}
	return unicode.Is(unicode.Cc, c) || unicode.Is(unicode.Cf, c)
}

func oneVisibleLine(s string) bool { return printable.IsText(s) }

func quote(s string) string { return short(strconv.Quote(s)) }

func short(s string) string {
	if r := []rune(s); len(r) > 60 {
		return string(r[:57]) + "…"
	}
	return s
}

func visible(s string) string {
	return strings.Map(func(c rune) rune {
		if unicode.IsControl(c) {
			return '?'
		}
		return c
	}, s)
}

func clipRunes(s string, most int) string {
	s = strings.ToValidUTF8(s, "?")
	n := 0
	for i := range s {
		if n == most {
			return s[:i] + "…"
		}
		n++
	}
	return s
}

// label keeps a name from breaking out of its brackets.
func label(s string) string {
	return printable.Name(strings.Join(strings.FieldsFunc(printable.Text(s), func(c rune) bool { return strings.ContainsRune(" []<>\"\\|", c) }), " "))
}
