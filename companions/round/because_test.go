package round

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"conch/companions/round/because"
)

// A score below five is told by what took it there, and never by what speaks for the companion.
func TestASilenceIsNotExplainedByAReasonToSpeak(t *testing.T) {
	term := func(name string, value float64) Term { return Term{Name: name, Value: value} }
	for want, row := range map[string]struct {
		terms []Term
		whys  []because.Reason
		sum   float64
		all   float64 // with the settings
	}{
		"it has nothing to add":                   {nil, nil, 0, 0},
		"it has too little to say about that":     {[]Term{term("talkativeness", 1)}, []because.Reason{because.Of("talkative")}, 1, 1},
		"it likes to join in":                     {[]Term{term("talkativeness", 5)}, []because.Reason{because.Of("talkative")}, 5, 5},
		"it spoke last":                           {[]Term{term("open", 5), term("spoke", -2)}, []because.Reason{because.Of("open"), because.Of("spoke_last")}, 3, 3},
		"it is set to join in less":               {[]Term{term("open", 5)}, []because.Reason{because.Of("open")}, 5, 3},
		"it is set to join in more":               {nil, nil, 0, 6},
		"a person asks, and it is nobody's field": {[]Term{term("open", 5), term("silent", 1)}, []because.Reason{because.Of("open"), because.Of("long_silent")}, 6, 8},
	} {
		if got := decisive(row.terms, row.whys, row.sum, row.all).English(because.IDs); got != want {
			t.Errorf("%v: %q, want %q", row.terms, got, want)
		}
	}
}

// What decides and what is told of it go together: a reason has a code, the code a sentence, and the sentence its arguments.
func TestReasonsHaveCodes(t *testing.T) {
	gap := regexp.MustCompile(`\{\w+\}`)
	c := meet(t)
	for _, text := range []string{"Ada, how long does an egg boil?", "Thank you.", "What do you all think?", "anyone but Ada: is it late?", "Max, dinner!", "Good night!"} {
		c.says(eva, text)
		told := append([]Silent{{Reason: c.d.Reason, Because: c.d.Because}}, c.d.Silent...)
		for _, x := range told {
			if sentence := x.Because.English(because.IDs); sentence == "" || gap.MatchString(sentence) {
				t.Errorf("%q: the reason %q of %s has no sentence: %q", text, x.Reason, x.Companion, sentence)
			}
		}
	}
}

// Each code that is given, here and by the rules of words, is a sentence's, and each sentence is somebody's.
func TestEachCodeHasASentence(t *testing.T) {
	given := map[string]bool{}
	for glob, pattern := range map[string]string{
		"*.go":             `because\.Of\("([a-z_]+)"|code :?= "([a-z_]+)"`,
		"../words/whom.go": `Why: "([a-z_]+)"|Rule\w+, "([a-z_]+)"`,
		"../words/tie.go":  `return "([a-z_]+)"`,
	} {
		files, err := filepath.Glob(glob)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range files {
			text, err := os.ReadFile(f)
			if err != nil {
				t.Fatal(err)
			}
			for _, m := range regexp.MustCompile(pattern).FindAllSubmatch(text, -1) {
				if !strings.HasSuffix(f, "_test.go") {
					given[string(bytes.Join(m[1:], nil))] = true
				}
			}
		}
	}
	for code := range because.Sentences() {
		if !given[strings.TrimSuffix(code, "_with")] {
			t.Errorf("nobody gives %s", code)
		}
	}
	for code := range given {
		if because.Sentences()[code] == "" {
			t.Errorf("%s has no sentence", code)
		}
	}
}

func TestBecauseOnTheWire(t *testing.T) {
	v := Vote{From: "ada", Reason: "Ben is next", Because: because.Of("next", "who", "ben")}
	text, err := json.Marshal(v)
	if err != nil || !strings.Contains(string(text), `"reason":"Ben is next","because":["next","who","ben"]`) {
		t.Errorf("%s %v", text, err)
	}
	for data, want := range map[string]because.Reason{
		`{"reason":"x"}`: "", `{"because":null}`: "", `{"because":"next"}`: "", `{"because":7}`: "", `{"because":["next","who"]}`: "",
		`{"because":["next","who","ben"]}`:                          v.Because,
		`{"because":["` + strings.Repeat("x", 1<<10) + `"]}`:        "",
		`{"because":["a\u001fb"]}`:                                  "",
		`{"because":["a","1","1","2","2","3","3","4","4","5","5"]}`: "",
	} {
		var got Vote
		if err := json.Unmarshal([]byte(data), &got); err != nil || got.Because != want {
			t.Errorf("%.60s: %q %v, want %q", data, got.Because, err, want)
		}
	}
	if text, _ := json.Marshal(Vote{Reason: "x"}); strings.Contains(string(text), "because") {
		t.Errorf("a reason without a code has one: %s", text)
	}
}
