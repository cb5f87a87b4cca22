package words

import (
	"errors"
	"io/fs"
	"path"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

// TestLanguages: of each file every cue recognises its example and not its counter-example, and its words are words.
func TestLanguages(t *testing.T) {
	if n := len(Known().all); n != 13 {
		t.Errorf("%d languages", n)
	}
	for i, l := range Known().all {
		t.Run(l.Language, func(t *testing.T) {
			v := vocab{Known(), 1 << i}
			for name, c := range l.Cue {
				cue := cue(slices.Index(cueNames[:], name))
				if c.Example == "" || c.Counter == "" || len(c.Words) == 0 {
					t.Errorf("[cue.%s] has no words, no example or no counter-example", name)
					continue
				}
				if !recognises(v, i, cue, c.Example) {
					t.Errorf("[cue.%s] does not recognise its example %q", name, c.Example)
				}
				if recognises(v, i, cue, c.Counter) {
					t.Errorf("[cue.%s] recognises its counter-example %q by %q", name, c.Counter, v.in(cue, phrase(words(c.Counter))))
				}
			}
		})
	}
}

// Where the rules look for a cue; the others are looked for anywhere.
var (
	atBeginning = []cue{
		cueQuestion, cueImperative, cueOpening, cueGoesOn, cueStart, cueAbout, cueHello, cueSureAuxiliary, cueAuxiliary, cueYouDo, cueIntroduce,
	}
	between   = []cue{cueJoiner, cueEither}
	asWritten = []cue{cueHonorific, cueAfterName, cueCueAfterName}
)

// recognises says whether a text holds one of a cue's phrases where the rules look for it.
func recognises(v vocab, language int, c cue, text string) bool {
	line := phrase(words(text))
	in := func(list []cue) bool { return slices.Contains(list, c) }
	switch {
	case c == cueFunction:
		return Known().vocab(words(text)).of&(1<<language) != 0
	case c == cueApproval, c == cueApprovalMore:
		return v.onlyOf(line, cueApproval, cueApprovalMore)
	case c == cueOpener && spaceless(firstRune(text)):
		lead, _, _ := strings.Cut(text, "、")
		lead, _, _ = strings.Cut(lead, "，")
		return v.written(c, lead)
	case c == cueOpener:
		return v.begins(c, line)
	case in(between):
		return slices.ContainsFunc(strings.Fields(strings.ToLower(text)), func(w string) bool { return v.written(c, w) })
	case in(asWritten):
		return slices.ContainsFunc(v.cue[c].raw, func(p said) bool { return p.of&v.of != 0 && strings.Contains(text, p.text) })
	case in(atBeginning):
		return v.begins(c, line)
	}
	return v.says(c, line)
}

// TestTongues: a text is read by the words of its own language: "was" is German in a German line and English in an English one.
func TestTongues(t *testing.T) {
	for text, want := range map[string]string{
		"What is the time?": "en", "Was ist das denn für ein Hund?": "de", "Quelle heure est-il dans la cuisine ?": "fr", "¿Qué hay para la cena?": "es",
		"Che cosa mangiamo stasera con gli altri?": "it", "Wat eten we vanavond en wie kookt het?": "nl", "Która jest teraz godzina i co jest na obiad?": "pl",
		"O que você quer comer hoje?": "pt", "Который час?": "ru", "今何時ですか": "ja", "现在几点了": "zh", "지금 몇 시야": "ko", "كم الساعة الآن": "ar",
	} {
		of := Known().vocab(words(text)).of
		found := false
		for i, l := range Known().all {
			found = found || of&(1<<i) != 0 && l.Language == want
		}
		if !found {
			t.Errorf("%q is not %s", text, want)
		}
	}
	dog := []Named{{"ben", []string{"Ben"}}}
	for text, called := range map[string]bool{"Ben was my dog": false, "Ben, was ist das?": true, "Ben was ist das denn": true} {
		if got := len(Known().Names(dog).Read(text).Called) > 0; got != called {
			t.Errorf("%q calls Ben: %v", text, got)
		}
	}
}

// TestOwnWords: a file of one's own adds words to a language, or a language; a bad one is told of, and the others count.
func TestOwnWords(t *testing.T) {
	const head = "language = \"%s\"\nname = \"X\"\nscript = \"latin\"\n"
	file := func(code, rest string) *fstest.MapFile {
		return &fstest.MapFile{Data: []byte(strings.ReplaceAll(head, "%s", code) + rest)}
	}
	x, err := Known().With(fstest.MapFS{
		"w/en.toml": file("en", "[cue.goodbye]\nwords = [\"toodle pip\"]\n"),
		"w/la.toml": file("la", "[cue.function]\nwords = [\"est\", \"quid\"]\n[cue.goodbye]\nwords = [\"vale\"]\n"),
		"w/no.toml": file("no", "[cue.goodby]\nwords = [\"ha det\"]\n"),
	}, "w")
	if err == nil || !strings.HasPrefix(err.Error(), "no.toml:4: [cue.goodby]: no such cue") {
		t.Errorf("the bad file: %v", err)
	}
	if len(x.all) != len(Known().all)+1 {
		t.Errorf("%d languages; want one more than %d", len(x.all), len(Known().all))
	}
	for text, want := range map[string][2]Intent{
		"toodle pip": {Statement, Farewell}, "vale, quid est": {Statement, Farewell}, "bye": {Farewell, Farewell}, "the vale is green": {Statement, Statement},
	} {
		if before, after := Known().IntentOf(text), x.IntentOf(text); before != want[0] || after != want[1] {
			t.Errorf("%q is a %s, with own words a %s; want %v", text, before, after, want)
		}
	}
}

// TestBadWordsFile: what is wrong is said with file, line and what is allowed; the others load.
func TestBadWordsFile(t *testing.T) {
	const head = "language = \"xx\"\nname = \"X\"\nscript = \"latin\"\n"
	good := "language = \"yy\"\nname = \"Y\"\nscript = \"latin\"\n[cue.goodbye]\nexample = \"baba\"\ncounter = \"bobo\"\nwords = [\"baba\"]\n"
	for data, want := range map[string]string{
		head + "[cue.goodby]\nwords = [\"baba\"]\n":              "xx.toml:4: [cue.goodby]: no such cue; there are",
		head + "[cue.goodbye]\nwords = \"baba\"\n":               "xx.toml:",
		head + "[cue.goodbye]\nword = [\"baba\"]\n":              "xx.toml:5: cue.goodbye.word: no such key; there are",
		head + "[cue.goodbye]\nwords = [\"baba\"\n[cue.hello]\n": "xx.toml:",
		head + "[cue.goodbye]\nwords = [\"!\"]\n":                "xx.toml:4: [cue.goodbye]: \"!\" holds no word",
		"language = \"xx\"\nscript = \"runes\"\n":                "xx.toml:2: script = \"runes\": must be one of latin, cyrillic",
		"script = \"latin\"\n":                                   "xx.toml:1: language is missing: must be two letters (ISO 639-1)",
	} {
		all, err := readLanguages(fstest.MapFS{"d/xx.toml": {Data: []byte(data)}, "d/yy.toml": {Data: []byte(good)}}, "d")
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v; want %q", data, err, want)
		}
		if len(all) != 1 || all[0].Language != "yy" {
			t.Errorf("%q: the other one did not load: %+v", data, all)
		}
	}
	if _, err := readLanguages(fstest.MapFS{}, "d"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no directory: %v", err)
	}
	if all, err := readLanguages(langFiles, path.Clean("lang")); err != nil || len(all) != len(Known().all) {
		t.Errorf("embedded: %d, %v", len(all), err)
	}
}
