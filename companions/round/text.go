package round

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// textMost bounds how much of a message is looked at, in bytes: more than anybody says in a turn.
const textMost = 8 << 10

// word is one word of a text, folded for comparison. A character of a script that writes no spaces is a word of its own.
type word struct {
	text       string // lower case, without accents
	start, end int    // bytes in the original
	cjk        bool
}

// words splits a text. It is linear in the length of the text, which is cut at textMost.
func words(s string) []word {
	s = clip(s)
	ws := make([]word, 0, len(s)/5+1)
	var b strings.Builder // of a word that is not all ASCII
	start, plain := -1, true
	flush := func(end int) {
		if start >= 0 {
			text := b.String()
			if plain {
				text = strings.ToLower(s[start:end])
			}
			ws = append(ws, word{text: text, start: start, end: end})
		}
		start, plain = -1, true
		b.Reset()
	}
	for i, r := range s {
		switch {
		case spaceless(r):
			flush(i)
			ws = append(ws, word{text: string(r), start: i, end: i + utf8.RuneLen(r), cjk: true})
		case unicode.IsLetter(r) || unicode.IsDigit(r):
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

// lexicon is a list of phrases to look for in a line.
type lexicon struct {
	all   []string            // with a space at either end
	first map[string][]string // by the first word
}

// lex makes a lexicon of phrases as words folds them, "|" between them.
func lex(phrases string) lexicon {
	l := lexicon{first: make(map[string][]string)}
	for p := range strings.SplitSeq(phrases, "|") {
		w, _, _ := strings.Cut(p, " ")
		l.all = append(l.all, " "+p+" ")
		l.first[w] = append(l.first[w], " "+p+" ")
	}
	return l
}

// at is the longest phrase that stands at the line's beginning, which is a space; empty: none does.
func (l lexicon) at(line string) string {
	if line == "" {
		return ""
	}
	w, _, _ := strings.Cut(line[1:], " ")
	best := ""
	for _, p := range l.first[w] {
		if len(p) > len(best) && strings.HasPrefix(line, p) {
			best = p
		}
	}
	return best
}

// says reports the first phrase in a line.
func says(line string, l lexicon) (string, bool) {
	for i := 0; i < len(line)-1; {
		if p := l.at(line[i:]); p != "" {
			return strings.TrimSpace(p), true
		}
		n := strings.IndexByte(line[i+1:], ' ')
		if n < 0 {
			break
		}
		i += 1 + n
	}
	return "", false
}

func says1(line string, l lexicon) bool { _, ok := says(line, l); return ok }

// begins and ends say whether one of the phrases stands at the line's beginning or end.
func begins(line string, l lexicon) bool { return l.at(line) != "" }

func ends(line string, l lexicon) bool {
	for _, p := range l.all {
		if strings.HasSuffix(line, p) {
			return true
		}
	}
	return false
}

// set makes a set of the words of a string.
func set(s string) map[string]bool {
	m := make(map[string]bool)
	for w := range strings.FieldsSeq(s) {
		m[w] = true
	}
	return m
}

// common are words that say nothing about a topic.
var common = set(`a an the this that these those it its i im ive id ill me my mine you your youre yours he she they them his her
	we us our is are was were be been am do does did done have has had having can could will would should shall may might must
	not no yes yeah ok okay so and or but if then than as at by for from in into of off on onto out over to up down with without
	about after again all also any anybody anyone because before both each else even ever every few get gets getting go goes
	going got how just know let lets like make many more most much need never new now one only other own please really right
	said same say says see some somebody someone something still such sure tell thanks thank thing things think there their
	too try trying two use using very want way well what whats when where which while who whom why work works yet hi hello hey
	lol oh um hmm dont doesnt didnt isnt cant wont s t d m re ve ll don doesn didn isn wasn aren couldn wouldn
	der die das ein eine und oder ist sind ich du wir sie es nicht mit von zu den dem le la les un une et est je tu il elle nous
	vous de des el los las y es yo que en por para`)

// contents are the words of a text that say what it is about, simple endings removed.
func contents(ws []word) map[string]bool {
	m := make(map[string]bool)
	for i, w := range ws {
		if w.cjk { // two neighbouring characters are nearer to a word than one
			if i > 0 && ws[i-1].cjk && ws[i-1].end == w.start && !unicodeHiragana(w.text) {
				m[ws[i-1].text+w.text] = true
			}
			continue
		}
		if len(w.text) > 2 && !common[w.text] {
			m[stem(w.text)] = true
		}
	}
	return m
}

func unicodeHiragana(s string) bool {
	r, _ := utf8.DecodeRuneInString(s)
	return unicode.Is(unicode.Hiragana, r)
}

// stem removes the commonest endings of English, so that "recipes" meets "recipe"; for other languages it does little harm.
func stem(s string) string {
	for _, end := range []string{"ings", "ing", "ies", "es", "ed", "s"} {
		if t, ok := strings.CutSuffix(s, end); ok && len(t) >= 3 {
			if end == "ies" {
				return t + "y"
			}
			if n := len(t); end != "s" && n > 3 && t[n-1] == t[n-2] { // "planning", "plan"
				return t[:n-1]
			}
			return strings.TrimSuffix(t, "e")
		}
	}
	return strings.TrimSuffix(s, "e")
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
