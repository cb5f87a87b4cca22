package language

import (
	"cmp"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var argument = regexp.MustCompile(`\{([a-z]+)\}`)

// arguments are the names in braces, each once.
func arguments(text string) []string {
	var all []string
	for _, m := range argument.FindAllStringSubmatch(text, -1) {
		all = append(all, m[1])
	}
	slices.Sort(all)
	return slices.Compact(all)
}

func read(t *testing.T, l Language) *table {
	t.Helper()
	text, err := files.ReadFile(string(l) + ".toml")
	if err != nil {
		t.Fatal(err)
	}
	parsed, err := parse(string(text))
	if err != nil {
		t.Fatalf("%s.toml: %v", l, err)
	}
	return parsed
}

// difference is what is wrong with a language beside English.
func difference(own, english *table) (problems []string) {
	for key, en := range english.phrases {
		p, ok := own.phrases[key]
		if !ok {
			problems = append(problems, key+": is missing")
			continue
		}
		for _, f := range p {
			form, text := f.form, f.text
			if strings.TrimSpace(text) != text || text == "" || strings.ContainsAny(text, "\n\t") {
				problems = append(problems, key+": "+form+" is no line")
			}
			if got, want := arguments(text), arguments(en.as(other)); !slices.Equal(got, want) {
				problems = append(problems, key+": "+form+" has the arguments "+strings.Join(got, " ")+", English "+strings.Join(want, " "))
			}
			if strings.Count(text, "{") != len(argument.FindAllString(text, -1)) || strings.Count(text, "}") != strings.Count(text, "{") {
				problems = append(problems, key+": "+form+" has a brace that is no argument's")
			}
		}
		want := []string{other}
		if len(en) > 1 { // it counts
			want = forms(families[own.Plural])
		}
		for _, form := range want {
			if p.as(form) == "" {
				problems = append(problems, key+": has no form "+form)
			}
		}
		if len(p) != len(want) {
			problems = append(problems, key+": has a form that its language does not")
		}
	}
	for key := range own.phrases {
		if _, ok := english.phrases[key]; !ok {
			problems = append(problems, key+": is not in English")
		}
	}
	for what, s := range map[string]string{"name": own.Name, "espeak": own.Espeak} {
		if s == "" {
			problems = append(problems, what+": is empty")
		}
	}
	slices.Sort(problems)
	return problems
}

// forms are those that a family needs; other is always one of them.
func forms(family func(int) string) []string {
	all := []string{other}
	for n := range 200 {
		all = append(all, family(n))
	}
	slices.Sort(all)
	return slices.Compact(all)
}

func TestEachLanguageHasEachSentence(t *testing.T) {
	if all := All(); len(all) < 4 || !slices.Contains(all, English) {
		t.Fatalf("languages %v", all)
	}
	for _, l := range All() {
		for _, p := range difference(read(t, l), read(t, English)) {
			t.Errorf("%s.toml: %s", l, p)
		}
	}
}

func TestLanguageCheckCanFail(t *testing.T) {
	const head = "name = \"A\"\nenglish = \"A\"\nespeak = \"a\"\nplural = \"en\"\n[a]\n"
	en, err := parse(head + "b = \"{x} is {y}\"\nc = { one = \"{n} thing\", other = \"{n} things\" }\nd = \"d\"\n")
	if err != nil {
		t.Fatal(err)
	}
	own, err := parse(strings.Replace(head, `espeak = "a"`, "", 1) +
		"b = \"{y} {z}\"\nc = { other = \"{n} Dinge\", few = \"{n}\" }\ne = \"e {N}\"\n")
	if err != nil {
		t.Fatal(err)
	}
	got := strings.Join(difference(own, en), "\n")
	const want = "a.b: other has the arguments y z, English x y\na.c: has no form one\na.d: is missing\na.e: is not in English\nespeak: is empty"
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	for _, bad := range []string{"plural = \"xx\"", head + "b = 1", head + "b = {one = 1}", "a"} {
		if _, err := parse(bad); err == nil {
			t.Errorf("%q is taken", bad)
		}
	}
}

func TestPhrase(t *testing.T) {
	for _, c := range []struct {
		l    Language
		key  string
		args []any
		want string
	}{
		{"de", "pair.paired_with", []any{"peer", "Küche"}, "Gekoppelt mit Küche."},
		{"de", "pair.tries", []any{"n", 1}, "Bisher 1 falscher Code."},
		{"de", "pair.tries", []any{"n", 2}, "Bisher 2 falsche Codes."},
		{"es", "pair.tries", []any{"n", 0}, "Hasta ahora, 0 códigos incorrectos."},
		{"", "pair.paired", nil, "Paired."},
		{"xx", "pair.paired", nil, "Paired."},
		{"en", "pair.moved", []any{"peer", "{name}"}, "{name} keeps the room now."}, // what a name looks like does not matter
		{"de", "no.such", nil, "no.such"},
	} {
		if got := c.l.Phrase(c.key, c.args...); got != c.want {
			t.Errorf("%s %s %v: %q; want %q", c.l, c.key, c.args, got, c.want)
		}
	}
}

func TestPlurals(t *testing.T) {
	for family, want := range map[string]string{
		"ja": "other other other other other other other", "en": "other one other other other other other", "fr": "one one other other other other other",
		"pl": "many one few many many many few", "ru": "many one few many many one few", "cs": "other one few other other other other",
	} {
		var got []string
		for _, n := range []int{0, 1, 2, 5, 11, 21, 22} {
			got = append(got, families[family](n))
		}
		if s := strings.Join(got, " "); s != want {
			t.Errorf("%s: %s; want %s", family, s, want)
		}
	}
}

func TestFromEnvironment(t *testing.T) {
	for _, c := range []struct {
		env  map[string]string
		want Language
		code string // of an answer; "": the same
	}{
		{nil, English, ""},
		{map[string]string{"LANG": "de_DE.UTF-8"}, "de", ""},
		{map[string]string{"LANG": "de_AT@euro"}, "de", ""},
		{map[string]string{"LANG": "DE"}, "de", ""},
		{map[string]string{"LANG": "C.UTF-8"}, English, ""},
		{map[string]string{"LANG": "tlh_KX"}, English, ""},
		{map[string]string{"LANG": "ja_JP.UTF-8"}, English, "ja"},
		{map[string]string{"LANG": "de_DE", "LC_MESSAGES": "fr_FR"}, "fr", ""},
		{map[string]string{"LANG": "de_DE", "LC_MESSAGES": "fr_FR", "LC_ALL": "es_MX.UTF-8"}, "es", ""},
		{map[string]string{"LANG": "de_DE", "LC_ALL": "C"}, English, ""},
		{map[string]string{"LANG": "tlh_KX", "LANGUAGE": "nds:fr:de"}, "fr", ""},
		{map[string]string{"LANG": "C", "LANGUAGE": "fr"}, English, ""},
		{map[string]string{"LANG": "../../etc/passwd"}, English, ""},
	} {
		if got, code := FromEnvironment(func(name string) string { return c.env[name] }); got != c.want || code != cmp.Or(c.code, string(c.want)) {
			t.Errorf("%v: %s, %s; want %s, %s", c.env, got, code, c.want, c.code)
		}
	}
}
