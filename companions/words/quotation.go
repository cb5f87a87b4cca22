package words

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// quotations are the parts of a text that are not the speaker's own words to somebody: quotations, code, addresses; sorted,
// as [from, to) in bytes. A quotation mark that is never closed quotes nothing. One pass: what has once not been found
// further on is not looked for again.
func quotations(text string) [][2]int {
	var zones [][2]int
	missing := make(map[string]bool)
	for i := 0; i < len(text); {
		r, n := utf8.DecodeRuneInString(text[i:])
		if end, ok := quoted(text, i, r, missing); ok {
			zones = append(zones, [2]int{i, end})
			i = end
			continue
		}
		if !unicode.IsSpace(r) && (i == 0 || text[i-1] == ' ' || text[i-1] == '\n' || text[i-1] == '\t') {
			if end := i + chunk(text[i:]); elsewhere(text[i:end]) {
				zones = append(zones, [2]int{i, end})
				i = end
				continue
			}
		}
		i += n
	}
	return zones
}

// closers are what ends what a mark begins.
var closers = map[rune]string{'"': `"`, '“': "”", '„': "“", '«': "»", '「': "」", '『': "』", '`': "`", '\'': "'", '‘': "’", '<': ">"}

// quoted is the end of the quotation that begins at i, if one does.
func quoted(text string, i int, r rune, missing map[string]bool) (int, bool) {
	if r == '>' && (i == 0 || text[i-1] == '\n') && strings.HasPrefix(text[i:], "> ") { // a quoted line
		if n := strings.IndexByte(text[i:], '\n'); n >= 0 {
			return i + n, true
		}
		return len(text), true
	}
	mark := closers[r]
	if mark == "" || missing[mark+string(r)] {
		return 0, false
	}
	single := r == '\'' || r == '‘'
	if single && i > 0 && !unicode.IsSpace(rune(text[i-1])) && text[i-1] != '(' {
		return 0, false // an apostrophe
	}
	from := i + utf8.RuneLen(r)
	if strings.HasPrefix(text[i:], "```") {
		mark, from = "```", i+3
		if missing[mark] {
			return 0, false
		}
	}
	for at := from; ; {
		n := strings.Index(text[at:], mark)
		if n < 0 {
			missing[mark+string(r)] = true
			missing[mark] = missing[mark] || mark == "```"
			return 0, false
		}
		end := at + n + len(mark)
		if next := firstRune(text[end:]); !single || end == len(text) || !unicode.IsLetter(next) {
			return end, true
		}
		at = end
	}
}

// chunk is the length of a text up to the next space.
func chunk(s string) int {
	if n := strings.IndexFunc(s, unicode.IsSpace); n >= 0 {
		return n
	}
	return len(s)
}

// elsewhere says whether a word is an address of something: a link, an e-mail address.
func elsewhere(w string) bool {
	if strings.Contains(w, "://") || strings.HasPrefix(w, "www.") {
		return true
	}
	at := strings.IndexByte(w, '@')
	return at > 0 && at+1 < len(w) && (unicode.IsLetter(rune(w[at-1])) || unicode.IsDigit(rune(w[at-1]))) && strings.Contains(w[at:], ".")
}
