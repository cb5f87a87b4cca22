package room

import (
	"maps"
	"regexp"
	"slices"
	"testing"

	"conch/companions"
	"conch/companions/round"
	"conch/companions/round/because"
	"conch/device/language"
)

// Each reason that a device may give has its sentence in each language, with its arguments, in English word for word.
func TestReasonsAreInTheLanguages(t *testing.T) {
	if said, given := language.Keys("why"), slices.Sorted(maps.Keys(because.Sentences())); !slices.Equal(said, given) {
		t.Errorf("the languages have %v; round has %v", said, given)
	}
	gap := regexp.MustCompile(`\{\w+\}`)
	for _, l := range language.All() {
		own := l.Section("why")
		for code, text := range because.Sentences() {
			want, got := gap.FindAllString(text, -1), gap.FindAllString(own[code], -1)
			slices.Sort(want)
			slices.Sort(got)
			if own[code] == "" || !slices.Equal(got, want) || l == language.English && own[code] != text {
				t.Errorf("%s is %q in %s; round says %q", code, own[code], l, text)
			}
		}
	}
}

// A reason is told in the reader's language, with names; what has no code that is known is shown as it came.
func TestAReasonIsToldInTheReadersLanguage(t *testing.T) {
	n := namer{{Device: "dev1", Name: "Küche", Cards: []round.Card{{ID: "ada", Name: "Ada"}, {ID: "ben", Name: "Ben"}}}}
	for _, row := range []struct {
		in            language.Language
		because, text string
		want          string
	}{
		{"de", "next\x1fwho\x1fben", "Ben is next", "Ben ist an der Reihe"},
		{"de", "two_talk\x1fwho\x1fada ben", "", "Ada und Ben reden miteinander"},
		{"fr", "two_talk\x1fwho\x1fada ben", "", "Ada et Ben se parlent"},
		{"de", "addressed\x1fby\x1fhuman:dev1", "", "jemand in Küche hat es angesprochen"},
		{"en", "chain\x1fn\x1f6", "", "6 companion turns without a person are the limit"},
		{"de", "", "nobody: it likes to join in; importance 1.0 is below 5", "it likes to join in; importance 1.0 is below 5"},
		{"de", "of_later\x1fwho\x1fben", "ben knows more.", "Ben knows more"},
	} {
		if got := companions.Sentence(row.in, because.Reason(row.because), row.text, n.called(row.in)); got != row.want {
			t.Errorf("%q %q in %s: %q, want %q", row.because, row.text, row.in, got, row.want)
		}
	}
}
