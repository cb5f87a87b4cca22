// Package language is what conch itself says and prints, in the languages there are: one file each (de.toml), which names the
// language and has each sentence under its key. The words of companions are the models' business, the help of the commands and the
// log are English.
//
//	language.Language("de").Phrase("pair.paired_with", "peer", "Küche")   "Gekoppelt mit Küche."
//
// A sentence has its arguments by name, in braces, so that each language orders them as it likes. One that counts has a form for
// each plural of its language, and takes the count as "n". Tests hold that every file has the same keys and arguments, and that whoever asks
// for a sentence asks for one there is, with what it needs.
//
// A language is a value: its zero value is English. Its file is read when something is first said in it.
package language

import (
	"embed"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/BurntSushi/toml"
)

// Language is a code of ISO 639-1 that a file has, as in "de". Empty, or of no file, it is English.
type Language string

// English is what everything is in that is in no language's file.
const English Language = "en"

//go:embed *.toml
var files embed.FS

// head is what a file of a language begins with, above its sentences.
type head struct {
	Name   string // in the language itself
	Espeak string // voice of espeak-ng that speaks it
	Plural string // of families
}

// table is a file of a language.
type table struct {
	head
	phrases map[string]phrase
}

// phrase is a sentence: the forms of its plural; other is what has none. A map of each would be half a megabyte a language.
type phrase []struct{ form, text string }

// as is the sentence in a form; empty: it has none such.
func (p phrase) as(form string) string {
	for _, f := range p {
		if f.form == form {
			return f.text
		}
	}
	return ""
}

// other is the form that each plural has.
const other = "other"

var tables sync.Map // Language to func() *table

// table reads the file, once.
func (l Language) table() *table {
	read, ok := tables.Load(l)
	if !ok {
		if !l.Known() {
			return English.table()
		}
		read, _ = tables.LoadOrStore(l, sync.OnceValue(func() *table { return must(l, parse) }))
	}
	return read.(func() *table)()
}

// must is what read makes of the file of a language that there is. A test reads every file.
func must[T any](l Language, read func(text string) (T, error)) T {
	text, err := files.ReadFile(l.Code() + ".toml")
	if err != nil {
		panic(err) //nolint:forbidigo // it is in the program
	}
	v, err := read(string(text))
	if err != nil {
		panic(fmt.Sprintf("language: %s.toml: %v", l, err)) //nolint:forbidigo // every file is read by a test
	}
	return v
}

// Section is all of one section of the language's file, by its keys: of those without a plural.
func (l Language) Section(name string) map[string]string {
	all := map[string]string{}
	for key, p := range l.table().phrases {
		if in, ok := strings.CutPrefix(key, name+"."); ok {
			all[in] = p.as(other)
		}
	}
	return all
}

// parseHead reads what stands above the sentences, and not the sentences: to name a language costs a hundredth of reading it.
func parseHead(text string) (h head, err error) {
	above, _, _ := strings.Cut(text, "\n[")
	if _, err := toml.Decode(above, &h); err != nil {
		return h, err
	}
	if _, ok := families[h.Plural]; !ok {
		return h, fmt.Errorf("plural = %q: want one of %s", h.Plural, strings.Join(familyNames(), ", "))
	}
	return h, nil
}

func parse(text string) (*table, error) {
	above, err := parseHead(text)
	if err != nil {
		return nil, err
	}
	var tree map[string]any
	if _, err := toml.Decode(text, &tree); err != nil {
		return nil, err
	}
	t := &table{above, map[string]phrase{}}
	for section, in := range tree {
		if keys, ok := in.(map[string]any); ok {
			for key, v := range keys {
				p, err := parsePhrase(v)
				if err != nil {
					return nil, fmt.Errorf("%s.%s: %w", section, key, err)
				}
				t.phrases[section+"."+key] = p
			}
		}
	}
	return t, nil
}

func parsePhrase(v any) (phrase, error) {
	switch v := v.(type) {
	case string:
		return phrase{{other, v}}, nil
	case map[string]any:
		p := make(phrase, 0, len(v))
		for form, text := range v {
			s, ok := text.(string)
			if !ok {
				return nil, fmt.Errorf("%s is no text", form)
			}
			p = append(p, struct{ form, text string }{form, s})
		}
		return p, nil
	}
	return nil, fmt.Errorf("%T is neither a sentence nor the forms of one", v)
}

// Known says whether there is a file of that language.
func (l Language) Known() bool { return l == English || slices.Contains(All(), l) }

// All are the languages that there are, by code.
func All() []Language {
	entries, err := files.ReadDir(".")
	if err != nil {
		panic(err) //nolint:forbidigo // it is in the program
	}
	var all []Language
	for _, e := range entries {
		all = append(all, Language(strings.TrimSuffix(e.Name(), ".toml")))
	}
	return all
}

// Code is the language's, "en" for one that there is not.
func (l Language) Code() string {
	if l.Known() {
		return string(l)
	}
	return string(English)
}

// Name is what the language is called by those who speak it.
func (l Language) Name() string { return must(l, parseHead).Name }

// Voice is what espeak-ng calls a voice that speaks it.
func (l Language) Voice() string { return must(l, parseHead).Espeak }

// Phrase is a sentence of the language, with its arguments: a name, then a value, as in Phrase("pair.moved", "peer", name). What the
// language does not have is said in English.
func (l Language) Phrase(key string, args ...any) string {
	t := l.table()
	p, ok := t.phrases[key]
	if !ok {
		t = English.table()
		if p, ok = t.phrases[key]; !ok {
			return key
		}
	}
	var pairs []string
	text := p.as(other)
	for i := 0; i+1 < len(args); i += 2 {
		name, value := fmt.Sprint(args[i]), args[i+1]
		if n, isCount := value.(int); isCount && name == "n" {
			if form := p.as(families[t.Plural](n)); form != "" {
				text = form
			}
		}
		pairs = append(pairs, "{"+name+"}", fmt.Sprint(value))
	}
	return strings.NewReplacer(pairs...).Replace(text)
}

// Keys are the sentences of a section, without its name, in order.
func Keys(section string) []string {
	var all []string
	for key := range English.table().phrases {
		if name, ok := strings.CutPrefix(key, section+"."); ok {
			all = append(all, name)
		}
	}
	slices.Sort(all)
	return all
}

// Has says whether there is such a sentence.
func Has(key string) bool {
	_, ok := English.table().phrases[key]
	return ok
}
