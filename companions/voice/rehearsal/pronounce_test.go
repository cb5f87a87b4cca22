package rehearsal

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
)

func TestNamesAreReadFromThePrompt(t *testing.T) {
	for prompt, want := range map[string]string{
		"Names: Ada, Mary Ann, 小愛.":           "Ada|Mary Ann|小愛",
		"Names: .":                            "",
		"Expect words about boats.":           "",
		"":                                    "",
		"Names: " + strings.Repeat("x,", 100): strings.Repeat("x|", mostNames-1) + "x",
	} {
		if got := strings.Join(maySay(prompt), "|"); got != want {
			t.Errorf("%q: %q; want %q", prompt, got, want)
		}
	}
}

func TestWhatWasHeard(t *testing.T) {
	names := []string{"Ada", "Ben"}
	for out, want := range map[string]string{
		"": "",
		"what time is it\n<s> 0.380 0.640 1.000100\nwhat(2) 1.070 1.270 0.653084\ntime 1.280 1.460 0.994415\n[SPEECH] 2.240 2.310 0.755079\n": "what time",
		"well hello\nwell(101) 0.1 0.2 0.5\nhello 0.2 0.3 0.5\n":                                                                              "ben hello",
		"oh oh hello\noh(100) 0.1 0.2 0.5\noh(100) 0.2 0.3 0.5\nhello 0.2 0.3 0.5\n":                                                          "ada hello", // once, however often it hears it in one word
		"oh\noh(199) 0.1 0.2 0.5\n": "oh", // of nobody
		"oh\noh(100) 0.1 0.2 0.1\n": "",   // hardly
		"a b\na 0.1 0.2 1\nb 0.2 0.3 1\noh(100) 0.3 0.4 0.3\nd 0.4 0.5 1\ne 0.5 0.6 1\n": "a b d e", // hardly, within a line
		"a b\na 0.1 0.2 0.5\n\nc d\nc 0.1 0.2 0.5\n":                                     "a c",     // two utterances
	} {
		if got := heardWords(out, names); got != want {
			t.Errorf("%q: %q; want %q", out, got, want)
		}
	}
}

// Companions are called as flite says it, and other lines call nobody. Without the names in its dictionary pocketsphinx hears one of the
// six.
func TestNamesAreHeard(t *testing.T) {
	recognizer, synthesizer := NewRecognizer(), NewSynthesizer()
	s, ok := recognizer.(*sphinx)
	if !ok || s.names.base == "" {
		t.Skip("missing: pocketsphinx_continuous (apt install pocketsphinx pocketsphinx-en-us)")
	}
	if s, ok := synthesizer.(*synth); !ok || s.flite == "" {
		t.Skip("missing: flite (apt install flite)")
	}
	names := []string{"Ada", "Ben", "Cleo"}
	hear := func(voice, text string) []string {
		pcm, err := synthesizer.Say(t.Context(), voice, text)
		if err != nil {
			t.Fatal(err)
		}
		h, err := recognizer.Hear(t.Context(), pcm, names)
		if err != nil {
			t.Fatal(err)
		}
		var called []string
		for _, n := range names {
			if slices.Contains(strings.Fields(h.Text), strings.ToLower(n)) {
				called = append(called, n)
			}
		}
		t.Logf("%s: %q: %q", voice, text, h.Text)
		return called
	}
	right := 0
	for _, voice := range []string{"slt", "rms"} {
		for _, n := range names {
			if called := hear(voice, n+", what time is it?"); slices.Equal(called, []string{n}) {
				right++
			}
		}
	}
	if right < 5 {
		t.Errorf("%d of 6 names were heard; want 5", right)
	}
	for _, text := range []string{"what is for dinner?", "the bench is in the garden"} {
		if called := hear("rms", text); len(called) > 0 {
			t.Errorf("%q calls %s", text, fmt.Sprint(called))
		}
	}
}

// Names that no dictionary has are spoken as flite would, a few of them, and what cannot be spoken is left out.
func TestPronunciations(t *testing.T) {
	p := newPronouncer()
	if p.base == "" || p.flite == "" {
		t.Skip("missing: pocketsphinx-en-us or flite (apt install pocketsphinx-en-us flite)")
	}
	lines := func(names ...string) string {
		base, err := os.Open(p.base)
		if err != nil {
			t.Fatal(err)
		}
		defer base.Close()
		return string(p.linesFor(t.Context(), base, names))
	}
	got := lines("Ada", "Zorbly", "小愛", "-o /etc/passwd", "Mary Ann")
	for _, want := range []string{"oh(100) EY D AH\n", "(101) Z AO R B L IY\n", "(104) M EH R IY AE N\n"} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is missing in:\n%s", want, got)
		}
	}
	if strings.Contains(got, "(102)") {
		t.Errorf("what nobody can say is in it:\n%s", got)
	}
	var many []string
	for i := range mostNames {
		many = append(many, "zorb"+string(rune('a'+i%26))+"ly"+strings.Repeat("b", i/26))
	}
	if n := strings.Count(lines(many...), "\n"); n != mostGuesses {
		t.Errorf("%d of %d strange names were guessed; want %d", n, len(many), mostGuesses)
	}
}

// Without a dictionary it hears all but names.
func TestNoDictionary(t *testing.T) {
	p := newPronouncer()
	p.base = "/nowhere"
	if f := p.dictionary(t.Context(), []string{"Ada"}); f != nil {
		t.Error("there is a dictionary")
	}
}
