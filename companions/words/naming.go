package words

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// longestOwn bounds a name that somebody says, in bytes.
const longestOwn = 24

// OwnName is the name that somebody gives as theirs: "I am Max", "hi, my name is Max", "ich heiße Max"; empty: they give none. "I am hungry"
// gives none: behind words that need not introduce anybody it has to be written as a name, and has to be all that is said of the speaker.
// Whether "Ich bin Bäcker" is a name only who knows names can tell.
func (x *Languages) OwnName(text string) string {
	text = clip(text)
	ws := words(text)
	if len(ws) == 0 || len(ws) > ownWords {
		return ""
	}
	s := scan{text: text, words: ws, v: x.vocab(ws), cased: strings.ToLower(text) != text}
	s.mark()
	quoted := quotations(text)
	for i, w := range ws {
		gap := strings.TrimSpace(s.gap(i))
		within := func(z [2]int) bool { return z[0] <= w.start && w.start < z[1] }
		if i > 0 && !s.start[i] && !strings.HasSuffix(gap, ",") || slices.ContainsFunc(quoted, within) {
			continue
		}
		line := s.lineAfter(i)
		named, sure := s.v.at(cueOwnName, line), true
		if named == "" {
			named, sure = s.v.at(cueNaming, line), false
		}
		at := i + len(strings.Fields(named))
		if named == "" || at >= len(ws) || strings.TrimSpace(s.gap(at)) != "" || !sure && !s.cased || !s.likeName(at) {
			continue
		}
		end := at
		for end < len(ws)-1 && s.gap(end+1) == "-" { // "Jean-Luc"
			end++
		}
		name, after := text[ws[at].start:ws[end].end], strings.TrimSpace(s.gap(end+1))
		over := end == len(ws)-1 && after == "" || after != "" && strings.ContainsAny(after[:1], ",.!;") ||
			after == "" && s.v.written(cueJoiner, ws[min(end+1, len(ws)-1)].text)
		if _, owner := genitive(text[ws[end].end:]); over && !owner && len(name) <= longestOwn && utf8.RuneCountInString(name) > 1 {
			_, first := utf8.DecodeRuneInString(name)
			return strings.ToUpper(name[:first]) + name[first:]
		}
	}
	return ""
}

// introduces says whether somebody gives a name as theirs.
func (l *Line) introduces() bool {
	line := phrase(l.words)
	return (l.v.says(cueOwnName, line) || l.v.says(cueNaming, line)) && l.v.OwnName(l.Text) != ""
}

// ownWords is how long a line is at most in which somebody gives a name.
const ownWords = 16

// Consents says whether a line is a yes, and nothing besides. The names in it do not count.
func (n *Names) Consents(text string) bool {
	text = clip(text)
	ws := words(text)
	if len(ws) == 0 || strings.Contains(text, "?") {
		return false
	}
	v := n.of.vocab(ws)
	l := Line{Reading: n.read(text, ws, v, false), words: ws}
	return n.of.every().onlyOf(l.bare(), cueConsent, cueCourtesy)
}
