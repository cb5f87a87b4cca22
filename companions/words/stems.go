package words

import (
	"cmp"
	"maps"
	"math/bits"
	"strings"
	"sync"

	"github.com/blevesearch/snowballstem"
	"github.com/blevesearch/snowballstem/arabic"
	"github.com/blevesearch/snowballstem/dutch"
	"github.com/blevesearch/snowballstem/english"
	"github.com/blevesearch/snowballstem/french"
	"github.com/blevesearch/snowballstem/german"
	"github.com/blevesearch/snowballstem/italian"
	"github.com/blevesearch/snowballstem/portuguese"
	"github.com/blevesearch/snowballstem/russian"
	"github.com/blevesearch/snowballstem/spanish"
)

// stemmers take the endings off, by language (ISO 639-1): Snowball's, as its compiler writes them for Go. A language that is not here is
// compared word by word.
var stemmers = map[string]func(*snowballstem.Env) bool{
	"ar": arabic.Stem, "de": german.Stem, "en": english.Stem, "es": spanish.Stem, "fr": french.Stem, "it": italian.Stem, "nl": dutch.Stem,
	"pt": portuguese.Stem, "ru": russian.Stem,
}

// fieldLanguage is that of a card that does not say, and whose role does not tell.
const fieldLanguage = "en"

// stemmer takes the endings off words, one after the other.
type stemmer struct {
	env  *snowballstem.Env
	take func(*snowballstem.Env) bool // nil: they stay as they are
}

func stemmerOf(language string) stemmer { return stemmer{snowballstem.NewEnv(""), stemmers[language]} }

// stem goes by accents, so it gets the word with them.
func (s stemmer) stem(w word) string {
	if s.take == nil || w.cjk {
		return w.text
	}
	s.env.SetCurrent(cmp.Or(w.accent, w.text))
	s.take(s.env)
	if w.accent == "" {
		return s.env.Current()
	}
	var b strings.Builder
	for _, r := range s.env.Current() {
		b.WriteString(foldRune(r))
	}
	return b.String()
}

// stemsOf is phrase of the words without their endings, in a language.
func stemsOf(language string, ws []word) string {
	s := stemmerOf(language)
	var b strings.Builder
	b.WriteByte(' ')
	for _, w := range ws {
		b.WriteString(s.stem(w))
		b.WriteByte(' ')
	}
	return b.String()
}

// Knowledge is what somebody knows about, and can do, as a card has it.
type Knowledge struct {
	Language string              // of the words below; empty: that of the role, as far as its small words tell, else fieldLanguage
	Role     string              // "the cook of the house"
	Fields   []string            // words and phrases
	Synonyms map[string][]string // other words for some of the fields
	Skills   []string            // when it is asked for
}

// language is that of what somebody knows.
func (k Knowledge) language(x *Languages) string {
	if k.Language != "" {
		return k.Language
	}
	told := ""
	if of := x.vocab(words(k.Role)).of; bits.OnesCount64(uint64(of)) == 1 {
		told = x.all[bits.TrailingZeros64(uint64(of))].Language
	}
	return cmp.Or(told, fieldLanguage)
}

// stemsIn are the words of a line, and of those that it goes on with, without the endings of a language.
func (l *Line) stemsIn(language string) string {
	s, ok := l.stems[language]
	if !ok {
		s = stemsOf(language, l.words)
		for _, o := range l.joined {
			s += stemsOf(language, o.words)
		}
		if l.stems == nil {
			l.stems = make(map[string]string)
		}
		l.stems[language] = s
	}
	return s
}

// holds is what of a field, by it or by a synonym, a line holds, without endings; empty: nothing.
func (l *Line) holds(k Knowledge, language, field string) string {
	line := l.stemsIn(language)
	for _, p := range append([]string{field}, k.Synonyms[field]...) {
		if s := stemsOfPhrase(language, p); s != " " && strings.Contains(line, s) {
			return s
		}
	}
	return ""
}

// About is the first field of somebody's knowledge that a line is about; empty: none.
func (l *Line) About(k Knowledge) string {
	language := k.language(l.v.Languages)
	for _, f := range k.Fields {
		if l.holds(k, language, f) != "" {
			return f
		}
	}
	return ""
}

// Skill is the first of somebody's skills that a line names; empty: none.
func (l *Line) Skill(k Knowledge) string {
	for _, f := range k.Skills {
		k.Fields, k.Synonyms = []string{strings.ReplaceAll(f, "_", " ")}, nil
		if l.About(k) != "" {
			return f
		}
	}
	return ""
}

// count is how much of somebody's fields and skills a line is about. Two fields that come to the same count once.
func (l *Line) count(k Knowledge) (n int) {
	language, seen := k.language(l.v.Languages), ""
	for _, f := range k.Fields {
		if s := l.holds(k, language, f); s != "" && !strings.Contains(seen, s) {
			n++
			seen += s
		}
	}
	for _, f := range k.Skills {
		if l.Skill(Knowledge{Language: language, Skills: []string{f}}) != "" {
			n++
		}
	}
	return n
}

// Topics counts the words of somebody's fields and role that a line has, but for those that say nothing.
func (l *Line) Topics(k Knowledge) int {
	language := k.language(l.v.Languages)
	text := strings.Join(k.Fields, " ; ") + " ; " + k.Role
	for _, f := range k.Fields {
		text += " ; " + strings.Join(k.Synonyms[f], " ; ")
	}
	content := contents(l.v, l.words, language)
	for _, o := range l.joined {
		maps.Copy(content, contents(o.v, o.words, language))
	}
	return shared(contents(l.v, words(text), language), content)
}

// phraseStems remembers what cards have said, since each line is held against all of it.
var phraseStems struct {
	sync.Mutex
	of map[[2]string]string
}

// maxPhraseStems is more than a room has.
const maxPhraseStems = 8192

// stemsOfPhrase is stemsOf a phrase of a card.
func stemsOfPhrase(language, p string) string {
	key := [2]string{language, p}
	phraseStems.Lock()
	defer phraseStems.Unlock()
	s, ok := phraseStems.of[key]
	if !ok {
		if len(phraseStems.of) >= maxPhraseStems || phraseStems.of == nil {
			phraseStems.of = make(map[[2]string]string)
		}
		s = stemsOf(language, words(p))
		phraseStems.of[key] = s
	}
	return s
}
