package turn

import (
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

func TestHeardTextEndsAtAWord(t *testing.T) {
	for _, c := range []struct {
		text            string
		heard, received int
		want            string
	}{
		{"one two three four", 24000, 24000, "one two three four"},
		{"one two three four", 12000, 24000, "one two"},
		{"one two three four", 1000, 24000, ""},
		{"one two three four", 0, 24000, ""},
		{"one two three four", 30000, 24000, "one two three four"},
		{"one two", 100, 0, "one two"}, // no samples: text that makes no sound
		{"Äpfel und Öl", 18000, 24000, "Äpfel und"},
		{"Donaudampfschiff", 20000, 24000, ""},
		{"今日は良い天気です", 12000, 24000, "今日は良"},
		{"สวัสดีครับ", 12000, 24000, "สวัสด"},
		{"first\nsecond third", 12000, 24000, "first"},
	} {
		if got := HeardText(c.text, c.heard, c.received); got != c.want {
			t.Errorf("HeardText(%q, %d, %d) = %q; want %q", c.text, c.heard, c.received, got, c.want)
		}
	}
}

func TestHeardTextIsAlwaysABeginning(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.String().Draw(t, "text")
		heard, received := rapid.IntRange(0, 1000).Draw(t, "heard"), rapid.IntRange(1, 1000).Draw(t, "received")
		got := HeardText(text, heard, received)
		if !strings.HasPrefix(text, got) || utf8.ValidString(text) && !utf8.ValidString(got) {
			t.Fatalf("HeardText(%q, %d, %d) = %q", text, heard, received, got)
		}
		if heard < received && len(got) > len(text)*heard/received {
			t.Fatalf("HeardText(%q, %d, %d) = %q: more than was heard", text, heard, received, got)
		}
	})
}
