package words

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// textMost bounds how much of a message is looked at, in bytes: more than anybody says in a turn.
const textMost = 8 << 10

// word is one word of a text, folded for comparison. A character of a script that writes no spaces is a word of its own.
type word struct {
	text       string // lower case, without accents
	accent     string // lower case, with them; empty: it has none
	start, end int    // bytes in the original
	cjk        bool
}

func letter(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }

func firstRune(s string) rune { r, _ := utf8.DecodeRuneInString(s); return r }

func startsWith(s string, prefixes []string) bool {
	return slices.ContainsFunc(prefixes, func(p string) bool { return strings.HasPrefix(s, p) })
}

// words splits a text. It is linear in the length of the text, which is cut at textMost.
func words(s string) []word {
	s = clip(s)
	ws := make([]word, 0, len(s)/5+1)
	var b strings.Builder // of a word that is not all ASCII
	start, plain := -1, true
	flush := func(end int) {
		if start >= 0 {
			w := word{text: strings.ToLower(s[start:end]), start: start, end: end}
			if !plain {
				w.text, w.accent = b.String(), w.text
			}
			ws = append(ws, w)
		}
		start, plain = -1, true
		b.Reset()
	}
	for i, r := range s {
		switch {
		case spaceless(r):
			flush(i)
			ws = append(ws, word{text: string(r), start: i, end: i + utf8.RuneLen(r), cjk: true})
		case letter(r):
			if start < 0 {
				start = i
			}
			if r >= utf8.RuneSelf && plain {
				plain = false
				b.WriteString(strings.ToLower(s[start:i]))
			}
			if !plain {
				b.WriteString(foldRune(r))
			}
		case unicode.IsMark(r): // an accent written as a character of its own
			if start >= 0 && plain {
				plain = false
				b.WriteString(strings.ToLower(s[start:i]))
			}
		default:
			flush(i)
		}
	}
	flush(len(s))
	return ws
}

// clip cuts a text at textMost, between characters.
func clip(s string) string {
	if len(s) <= textMost {
		return s
	}
	n := textMost
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}

func spaceless(r rune) bool {
	return r > 0x2e7f && (unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana) || r == 'ー')
}

// accents are the folded letters of Latin scripts, in the order of what they fold to.
var accents = func() map[rune]string {
	m := map[rune]string{'ß': "ss", 'æ': "ae", 'œ': "oe", 'ø': "o", 'đ': "d", 'ł': "l", 'þ': "th", 'ð': "d", 'ı': "i"}
	for to, from := range map[string]string{
		"a": "àáâãäåāăąǎ", "c": "çćĉċč", "d": "ď", "e": "èéêëēĕėęě", "g": "ĝğġģ", "h": "ĥ", "i": "ìíîïĩīĭį",
		"j": "ĵ", "k": "ķ", "l": "ĺļľ", "n": "ñńņňŉ", "o": "òóôõöōŏőǒ", "r": "ŕŗř", "s": "śŝşšș", "t": "ţťț",
		"u": "ùúûüũūŭůűų", "w": "ŵ", "y": "ýÿŷ", "z": "źżž",
		"е": "ё",
	} {
		for _, r := range from {
			m[r] = to
		}
	}
	return m
}()

func foldRune(r rune) string {
	r = unicode.ToLower(r)
	if r < utf8.RuneSelf {
		return string(r)
	}
	if to, ok := accents[r]; ok {
		return to
	}
	return string(r)
}

// alike are letters of other scripts that look like Latin ones (UTS 39, confusables; those of whole names in capitals, too), after folding.
var alike = func() map[rune]rune {
	m := map[rune]rune{}
	const other, latin = "авсԁеғһіјкӏмнорԛѕтуүхѵԝьαβγεζηικμνορτυχωϲϳ", "abcdefhijklmhopqstyyxvwbabyezhikmvoptuxwcj"
	to := []rune(latin)
	for i, r := range []rune(other) {
		m[r] = to[i]
	}
	return m
}()

// Heard is what a name comes to for people, who hear it or read it in passing: letters and digits, without case, accents and width, and whatever
// looks like a Latin letter as that. Two names with one Heard cannot be told apart.
func Heard(name string) string {
	var b strings.Builder
	for _, r := range name {
		if r >= '！' && r <= '～' { // full width
			r -= '！' - '!'
		}
		if !unicode.IsLetter(r) && !unicode.IsNumber(r) {
			continue
		}
		for _, f := range foldRune(r) {
			if l, ok := alike[f]; ok {
				f = l
			}
			b.WriteRune(f)
		}
	}
	return b.String()
}

// phrase is a text as a line of its words, with a space at either end, so that a phrase can be looked for in it.
func phrase(ws []word) string {
	var b strings.Builder
	b.WriteByte(' ')
	for _, w := range ws {
		b.WriteString(w.text)
		b.WriteByte(' ')
	}
	return b.String()
}

// contents are the words of a text that say what it is about, without the endings of a language.
func contents(v vocab, ws []word, language string) map[string]bool {
	m := make(map[string]bool)
	s := stemmerOf(language)
	for i, w := range ws {
		if w.cjk { // two neighbouring characters are nearer to a word than one
			if i > 0 && ws[i-1].cjk && ws[i-1].end == w.start && !unicode.Is(unicode.Hiragana, firstRune(w.text)) {
				m[ws[i-1].text+w.text] = true
			}
			continue
		}
		if len(w.text) > 2 && !v.has(cueCommon, w.text) {
			m[s.stem(w)] = true
		}
	}
	return m
}

// shared counts the content words two texts have in common.
func shared(a, b map[string]bool) int {
	if len(b) < len(a) {
		a, b = b, a
	}
	n := 0
	for w := range a {
		if b[w] {
			n++
		}
	}
	return n
}

// Similarity says how much of two texts is the same, 0 to 1: the share of pairs of neighbouring words they have in common
// (Dice's coefficient), of words where one has fewer than two. Case, accents and punctuation do not count.
func Similarity(a, b string) float64 {
	wa, wb := words(a), words(b)
	if len(wa) == 0 || len(wb) == 0 {
		return 0
	}
	n := 2
	if len(wa) < 2 || len(wb) < 2 {
		n = 1
	}
	count := make(map[string]int)
	for i := n - 1; i < len(wa); i++ {
		count[gram(wa, i, n)]++
	}
	same := 0
	for i := n - 1; i < len(wb); i++ {
		if g := gram(wb, i, n); count[g] > 0 {
			count[g]--
			same++
		}
	}
	return 2 * float64(same) / float64(len(wa)+len(wb)-2*(n-1))
}

func gram(ws []word, i, n int) string {
	if n == 1 {
		return ws[i].text
	}
	return ws[i-1].text + " " + ws[i].text
}
