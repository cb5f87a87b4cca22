package printable

import (
	"slices"
	"strings"
	"unicode"

	"github.com/clipperhouse/displaywidth"
	"golang.org/x/text/unicode/norm"
)

// Width is how many columns of a terminal a text takes: two for a Chinese character, none for a mark on a letter.
func Width(s string) int { return displaywidth.String(s) }

// Pad is a text with spaces behind it, up to so many columns.
func Pad(s string, columns int) string { return s + strings.Repeat(" ", max(0, columns-Width(s))) }

// Key is what two names are compared by before both may be in one place: names of one key sound alike or look alike. Case does not count,
// nor how a letter is encoded (UAX 15, NFKC), nor which of space, hyphen and underscore is between words; a Cyrillic or Greek letter that
// looks like a Latin one is that.
func Key(s string) string {
	var b strings.Builder
	gap := false
	for _, r := range norm.NFKC.String(strings.ToLower(norm.NFKC.String(s))) {
		if unicode.IsSpace(r) || r == '_' || unicode.Is(unicode.Pd, r) {
			gap = b.Len() > 0
			continue
		}
		if gap {
			b.WriteByte(' ')
			gap = false
		}
		if to, ok := alike[r]; ok {
			r = to
		}
		b.WriteRune(r)
	}
	return b.String()
}

// alike are letters that look like Latin ones, small or large (UTS 39, confusables: what has a key on people's keyboards).
var alike = map[rune]rune{
	'а': 'a', 'в': 'b', 'с': 'c', 'ԁ': 'd', 'е': 'e', 'һ': 'h', 'н': 'h', 'і': 'i', 'ј': 'j', 'к': 'k', 'м': 'm', 'о': 'o', 'р': 'p', 'ѕ': 's',
	'т': 't', 'у': 'y', 'х': 'x', 'ѵ': 'v',
	'α': 'a', 'β': 'b', 'ε': 'e', 'ζ': 'z', 'η': 'h', 'ι': 'i', 'κ': 'k', 'μ': 'm', 'ν': 'v', 'ο': 'o', 'ρ': 'p', 'τ': 't', 'υ': 'y', 'χ': 'x',
}

// loose is Key without the marks on letters, for who types on another keyboard: kuche for Küche.
func loose(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.Is(unicode.Mn, r) {
			return -1
		}
		return r
	}, norm.NFD.String(Key(s)))
}

// Find is which of the names somebody means: the one with that Key, else the only one that is like it but for the marks on letters; -1: none.
func Find(names []string, want string) int {
	if i := slices.IndexFunc(names, func(n string) bool { return Key(n) == Key(want) }); i >= 0 {
		return i
	}
	found := -1
	for i, n := range names {
		if loose(n) == loose(want) {
			if found >= 0 {
				return -1
			}
			found = i
		}
	}
	return found
}
