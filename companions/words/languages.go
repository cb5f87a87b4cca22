package words

import (
	"errors"
	"fmt"
	"io/fs"
	"math/bits"
	"path"
	"slices"
	"strings"
	"unicode"

	"conch/device/spelling"
)

// Languages are what people say, in every language that is known. It is not written to: any number may read it.
type Languages struct {
	all    []language
	cue    [cues]phrases
	tells  map[string]tongues // the small words by which a language is told
	script map[string]tongues // those that are written in it
}

// tongues is a set of languages, by their places in Languages.
type tongues uint64

// readLanguages reads the files of a directory, in the order of their names. Those with a mistake are left out, and the error tells of each.
func readLanguages(dir fs.FS, in string) (all []language, err error) {
	files, err := fs.ReadDir(dir, in)
	for _, f := range files {
		name := path.Join(in, f.Name())
		st, e := fs.Stat(dir, name)
		if e == nil && (!st.Mode().IsRegular() || st.Size() > spelling.MaxTOML) {
			e = fmt.Errorf("%s: is no file of at most %d bytes: take it out", name, spelling.MaxTOML)
		}
		var data []byte
		if e == nil {
			data, e = fs.ReadFile(dir, name)
		}
		if e == nil {
			var l language
			if l, e = parseLanguage(f.Name(), data); e == nil {
				all = append(all, l)
			}
		}
		err = errors.Join(err, e)
	}
	return all, err
}

// With are these languages, and those of a directory of one's own, which may add words to them. Files with a mistake are left out, and the
// error tells of each.
func (x *Languages) With(dir fs.FS, in string) (*Languages, error) {
	own, err := readLanguages(dir, in)
	if len(own) > ownMost {
		err = errors.Join(err, fmt.Errorf("%d files of words: at most %d are read", len(own), ownMost))
		own = own[:ownMost]
	}
	if len(own) == 0 {
		return x, err
	}
	return newLanguages(slices.Concat(x.all, own)), err
}

// ownMost is how many files somebody may have: each may be a language.
const ownMost = 32

func newLanguages(files []language) *Languages {
	x := &Languages{tells: make(map[string]tongues), script: make(map[string]tongues)}
	for _, l := range files {
		i := slices.IndexFunc(x.all, func(o language) bool { return o.Language == l.Language })
		if i < 0 {
			i = len(x.all)
			x.all = append(x.all, l)
			x.script[l.Script] |= 1 << i
		}
		of := tongues(1) << i
		for c, name := range cueNames {
			for _, w := range l.Cue[name].Words {
				x.cue[c].add(w, of)
			}
		}
		for _, w := range l.Cue[cueNames[cueFunction]].Words {
			for _, f := range words(w) {
				x.tells[f.text] |= of
			}
		}
	}
	return x
}

// vocab is what is said in some of the languages.
type vocab struct {
	*Languages
	of tongues
}

// every is what is said in any of them.
func (x *Languages) every() vocab { return vocab{x, 1<<len(x.all) - 1} }

const tellingMost = 40 // words that are looked at

// vocab is that of the languages that a text may be of: by its script, and of several with that script those that most of its small words
// are of.
func (x *Languages) vocab(ws []word) vocab {
	var count [64]int
	most, latin := 0, false
	var t tongues
	for _, w := range ws[:min(len(ws), tellingMost)] {
		script := scriptOf(firstRune(w.text))
		if script != "latin" {
			t |= x.script[script]
			continue
		}
		latin = true
		for of := x.tells[w.text]; of != 0; of &= of - 1 {
			i := bits.TrailingZeros64(uint64(of))
			count[i]++
			most = max(most, count[i])
		}
	}
	if t&x.script["japanese"] != 0 {
		t &^= x.script["han"] // kana are only Japanese
	}
	switch {
	case most > 0:
		for i, n := range count {
			if n == most {
				t |= 1 << i
			}
		}
	case latin && t == 0 || len(ws) == 0:
		t |= x.script["latin"]
	}
	return vocab{x, t}
}

// LanguageOf returns the ISO 639-1 code of the language of a text: first or one of those given, the first of which is taken where the text
// does not tell them apart. A text in a script that none of them is written in is of the language that mostly has it.
func (x *Languages) LanguageOf(text, first string, of []string) string {
	wanted := append([]string{first}, of...)
	if written := writtenIn(text); written != nil {
		for _, l := range wanted {
			if slices.Contains(written, l) {
				return l
			}
		}
		return written[0]
	}
	ws := words(text)
	t := x.vocab(ws).of
	place := func(l string) int { return slices.IndexFunc(x.all, func(o language) bool { return o.Language == l }) }
	for _, l := range wanted {
		if i := place(l); i >= 0 && t&(1<<i) != 0 && (place(first) >= 0 || x.tellsMuch(ws, 1<<i)) {
			return l
		}
	}
	if len(of) == 0 && t != 0 {
		return x.all[bits.TrailingZeros64(uint64(t))].Language
	}
	return first
}

// tellsMuch says that a quarter of the words tell a language: so much is asked where nothing is known of the other one.
func (x *Languages) tellsMuch(ws []word, of tongues) bool {
	n := 0
	for _, w := range ws {
		if x.tells[w.text]&of != 0 {
			n++
		}
	}
	return n > 0 && 4*n >= len(ws)
}

type alphabet struct {
	table *unicode.RangeTable
	of    []string
}

// alphabets that are not Latin, and the languages that are written in each; the first has most readers.
var alphabets = []alphabet{
	{unicode.Hiragana, []string{"ja"}}, {unicode.Katakana, []string{"ja"}}, {unicode.Han, []string{"zh", "ja"}}, {unicode.Hangul, []string{"ko"}},
	{unicode.Cyrillic, []string{"ru", "uk", "bg", "sr", "be", "mk", "kk", "mn"}}, {unicode.Arabic, []string{"ar", "fa", "ur"}},
	{unicode.Hebrew, []string{"he", "yi"}}, {unicode.Greek, []string{"el"}}, {unicode.Thai, []string{"th"}}, {unicode.Devanagari, []string{"hi", "mr", "ne"}},
	{unicode.Bengali, []string{"bn"}}, {unicode.Tamil, []string{"ta"}}, {unicode.Telugu, []string{"te"}}, {unicode.Gujarati, []string{"gu"}},
	{unicode.Gurmukhi, []string{"pa"}}, {unicode.Kannada, []string{"kn"}}, {unicode.Malayalam, []string{"ml"}}, {unicode.Georgian, []string{"ka"}},
	{unicode.Armenian, []string{"hy"}}, {unicode.Myanmar, []string{"my"}},
}

// writtenIn is the languages of the script that most letters of a text are of; nil: it is Latin, or has no letters.
func writtenIn(text string) []string {
	count, latin := make([]int, len(alphabets)), 0
	for _, r := range text {
		if unicode.Is(unicode.Latin, r) {
			latin++
		} else if i := slices.IndexFunc(alphabets, func(s alphabet) bool { return unicode.Is(s.table, r) }); i >= 0 {
			count[i]++
		}
	}
	most := 0
	for i := range count {
		if count[i] > count[most] {
			most = i
		}
	}
	switch {
	case count[most] <= latin:
		return nil
	case alphabets[most].table == unicode.Han && count[0]+count[1] > 0: // kana are only Japanese
		most = 0
	}
	return alphabets[most].of
}

func scriptOf(r rune) string {
	switch {
	case r < 0x250:
		return "latin"
	case unicode.In(r, unicode.Hiragana, unicode.Katakana) || r == 'ー':
		return "japanese"
	case unicode.Is(unicode.Han, r):
		return "han"
	case unicode.Is(unicode.Hangul, r):
		return "hangul"
	case unicode.Is(unicode.Cyrillic, r):
		return "cyrillic"
	case unicode.Is(unicode.Arabic, r):
		return "arabic"
	}
	return "latin"
}

// phrases are what a cue is told by.
type phrases struct {
	first map[string][]said // with a space at either end, by the first word
	last  map[string][]said // ... by the last
	words map[string]tongues
	raw   []said // as written
}

// said is a phrase, and the languages that have it.
type said struct {
	text string
	of   tongues
}

func (l *phrases) add(raw string, of tongues) {
	ws := words(raw)
	if len(ws) == 0 {
		return
	}
	if l.first == nil {
		l.first, l.last, l.words = make(map[string][]said), make(map[string][]said), make(map[string]tongues)
	}
	also := func(list []said, text string) []said {
		if i := slices.IndexFunc(list, func(p said) bool { return p.text == text }); i >= 0 {
			list[i].of |= of
			return list
		}
		return append(list, said{text, of})
	}
	p, a, z := phrase(ws), ws[0].text, ws[len(ws)-1].text
	l.first[a], l.last[z], l.raw = also(l.first[a], p), also(l.last[z], p), also(l.raw, raw)
	if len(ws) == 1 {
		l.words[a] |= of
	}
}

// at is the longest phrase that stands at the line's beginning, which is a space; empty: none does.
func (v vocab) at(c cue, line string) (best string) {
	if line == "" {
		return ""
	}
	w, _, _ := strings.Cut(line[1:], " ")
	for _, p := range v.cue[c].first[w] {
		if p.of&v.of != 0 && len(p.text) > len(best) && strings.HasPrefix(line, p.text) {
			best = p.text
		}
	}
	return best
}

// in is the first of the phrases in a line; empty: none is there.
func (v vocab) in(c cue, line string) string {
	for i := 0; i < len(line)-1; {
		if p := v.at(c, line[i:]); p != "" {
			return strings.TrimSpace(p)
		}
		n := strings.IndexByte(line[i+1:], ' ')
		if n < 0 {
			break
		}
		i += 1 + n
	}
	return ""
}

// end is the longest phrase that the line ends with.
func (v vocab) end(c cue, line string) (best string) {
	if len(line) < 2 {
		return ""
	}
	w := line[strings.LastIndexByte(line[:len(line)-1], ' ')+1 : len(line)-1]
	for _, p := range v.cue[c].last[w] {
		if p.of&v.of != 0 && len(p.text) > len(best) && strings.HasSuffix(line, p.text) {
			best = p.text
		}
	}
	return best
}

func (v vocab) says(c cue, line string) bool { return v.in(c, line) != "" }

// begins and ends say whether a phrase stands at the line's beginning or end.
func (v vocab) begins(c cue, line string) bool { return v.at(c, line) != "" }

func (v vocab) ends(c cue, line string) bool { return v.end(c, line) != "" }

// has says whether a word is one of the list.
func (v vocab) has(c cue, w string) bool { return v.cue[c].words[w]&v.of != 0 }

// written says whether a text is one of the phrases as they are written.
func (v vocab) written(c cue, text string) bool {
	return slices.ContainsFunc(v.cue[c].raw, func(p said) bool { return p.of&v.of != 0 && p.text == text })
}

// prefix is the first of the phrases, as they are written, that a text begins with.
func (v vocab) prefix(c cue, text string) string {
	for _, p := range v.cue[c].raw {
		if p.of&v.of != 0 && strings.HasPrefix(text, p.text) {
			return p.text
		}
	}
	return ""
}
