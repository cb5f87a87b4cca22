package words

import (
	"cmp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Named is somebody and what people call them.
type Named struct {
	Who   string
	Names []string
}

// Names finds names in texts.
type Names struct {
	of      *Languages
	first   map[string][]*entry // by the first word; the longest first
	bySound []*entry            // that can be told by their sound
	heads   uint32              // with which letters those begin (soundHead)
}

type entry struct {
	who   string
	words []string
	raw   string // lower case, as written
	lead  int    // bytes of raw before its first word
	plain bool   // it is a word of a language too: "will", "mark"
	sound string // of a name in one word of Latin letters
}

// nameMost bounds how many words a name has.
const nameMost = 6

// Names makes them ready to be looked for; the order in which they are given changes nothing.
func (x *Languages) Names(named []Named) *Names {
	n := &Names{of: x, first: make(map[string][]*entry, 2*len(named))}
	for _, who := range named {
		for _, name := range who.Names {
			ws := words(name)
			if len(ws) == 0 || len(ws) > nameMost*4 {
				continue
			}
			e := &entry{who: who.Who, raw: strings.ToLower(strings.TrimSpace(name)), plain: len(ws) == 1 && x.every().has(cuePlain, ws[0].text)}
			e.lead = strings.IndexFunc(e.raw, letter)
			e.words = make([]string, len(ws))
			for i, w := range ws {
				e.words[i] = w.text
			}
			if len(ws) == 1 && !e.plain && !strings.HasPrefix(who.Who, "human:") {
				e.sound = sound(ws[0].text)
			}
			if len(ws) > 1 && !ws[0].cjk && strings.ContainsAny(e.raw, "-0123456789") { // "R2-D2" is heard as one word
				one := *e
				one.words = []string{strings.Join(e.words, "")}
				n.first[one.words[0]] = append(n.first[one.words[0]], &one)
			}
			k := e.words[0]
			if !slices.ContainsFunc(n.first[k], func(o *entry) bool { return o.who == e.who && o.raw == e.raw }) {
				n.first[k] = append(n.first[k], e)
				if e.sound != "" {
					n.bySound = append(n.bySound, e)
					n.heads |= soundHead(e.sound[0])
				}
			}
		}
	}
	for _, es := range n.first {
		slices.SortFunc(es, func(a, b *entry) int {
			return cmp.Or(len(b.words)-len(a.words), len(b.raw)-len(a.raw), cmp.Compare(a.who, b.who), cmp.Compare(a.raw, b.raw))
		})
	}
	return n
}

// match is a name in a text.
type match struct {
	*entry
	i, j       int  // words
	start, end int  // bytes
	heard      bool // it only sounds like the name
	sure       bool // ... just like it
}

// match finds the longest name that begins at word i.
func (n *Names) match(s *scan, i int) (match, bool) {
	var found match
	ok := false
	for _, e := range n.first[s.words[i].text] {
		j := i + len(e.words)
		if ok && len(e.words) < found.j-found.i {
			break
		}
		if j > len(s.words) || !s.same(e, i) {
			continue
		}
		m := match{entry: e, i: i, j: j, start: s.words[i].start, end: s.words[j-1].end}
		raw := false
		if from := m.start - e.lead; from >= 0 && from+len(e.raw) <= len(s.text) && strings.ToLower(s.text[from:from+len(e.raw)]) == e.raw {
			if from+len(e.raw) >= m.end { // as written, signs included: "[ada]", "ada_"
				m.start, m.end, raw = from, from+len(e.raw), true
			}
		}
		if !s.apart(&m) || e.plain && s.cased && !unicode.IsUpper(firstRune(s.text[m.start:])) { // "I hope so"
			continue
		}
		if !ok || raw {
			found, ok = m, true
		}
		if raw {
			break
		}
	}
	return found, ok
}

// scan is a text being read.
type scan struct {
	text    string
	words   []word
	matches []match
	code    bool // it holds a pair of backticks
	slash   int  // where the first slash is
	v       vocab
	cased   bool   // it has capital letters
	start   []bool // word i begins a sentence, openings and greetings apart
	greet   []bool // word i-1 is a greeting that a name can follow without a comma
}

// same says whether the name stands at word i, its parts held together by no more than a space, hyphen, dot or underscore.
func (s *scan) same(e *entry, i int) bool {
	for k, w := range e.words {
		if s.words[i+k].text != w {
			return false
		}
		if k > 0 && strings.Trim(s.text[s.words[i+k-1].end:s.words[i+k].start], " -_.·・'’‐") != "" {
			return false
		}
	}
	return true
}

// apart says whether a match is a name standing by itself, and not part of an address, of a path, or of a longer word.
func (s *scan) apart(m *match) bool {
	for m.end < len(s.text) && strings.IndexByte("_`|^", s.text[m.end]) >= 0 && !s.code {
		m.end++ // nicknames that were taken
	}
	before, nb := utf8.DecodeLastRuneInString(s.text[:m.start])
	after, na := utf8.DecodeRuneInString(s.text[m.end:])
	next, _ := utf8.DecodeRuneInString(s.text[m.end+na:])
	last := s.words[m.j-1]
	if last.cjk {
		return s.apartSpaceless(*m, before, after)
	}
	switch {
	case strings.ContainsRune("#<=$~\\/%+&_.", before) && nb > 0 && before != '.':
		return false
	case before == '.' && m.start > 1 && s.text[m.start-2] != ' ' && s.text[m.start-2] != '.': // "www.ada"
		return false
	case before == '-' && m.start > 1 && s.text[m.start-2] != ' ' && s.text[m.start-2] != '-': // "non-ada"
		return false
	case before == '@' && m.start > 1 && !strings.ContainsRune(" ,;:(\n\t.!?", rune(s.text[m.start-2])):
		return false // "mail@ada.example"
	case strings.ContainsRune("@=\\(_", after) && na > 0:
		return false
	case after == '/' && !s.nameAt(m.end+1):
		return false
	case (after == '.' || after == '-' || after == '+') && letter(next):
		return false // "ada.py", "ada-like"
	case after == ':' && (next == '/' || next == '='), after == '>':
		return false
	}
	return true
}

// nameAt: after a slash another name may stand ("Ada/Bob"); a path goes on in lower case or with a dot.
func (s *scan) nameAt(i int) bool {
	r, _ := utf8.DecodeRuneInString(s.text[min(i, len(s.text)):])
	return unicode.IsUpper(r) && s.slash == i-1
}

// apartSpaceless is apart for scripts that write no spaces: the script must change, or something must follow that sets a
// name apart.
func (s *scan) apartSpaceless(m match, before, after rune) bool {
	first, _ := utf8.DecodeRuneInString(s.text[m.start:])
	last, _ := utf8.DecodeLastRuneInString(s.text[:m.end])
	if kana(last) && kana(after) || kana(first) && kana(before) {
		return false // a longer word in katakana
	}
	if kana(last) || !spaceless(after) {
		return true
	}
	return s.v.prefix(cueAfterName, s.text[m.end:]) != ""
}

func kana(r rune) bool { return unicode.Is(unicode.Katakana, r) || r == 'ー' }

// gap is what stands before word i.
func (s *scan) gap(i int) string {
	from, to := 0, len(s.text)
	if i > 0 {
		from = s.words[i-1].end
	}
	if i < len(s.words) {
		to = s.words[i].start
	}
	return s.text[from:to]
}
