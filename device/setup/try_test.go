package setup

import (
	"slices"
	"strings"
	"testing"

	"conch/device/control"
	"conch/device/language"
)

// What is not there leaves no gap in a sentence, in any language.
func TestNoGapInASentence(t *testing.T) {
	for _, l := range []language.Language{"en", "de", "es", "fr"} {
		for _, s := range []control.Status{{}, {Button: "GPIO17"}, {Voice: "rehearsal"}, {Button: "GPIO17", Sound: "a card", Voice: "rehearsal"}} {
			for _, text := range []string{runs(l, s), held(l, s.Button)} {
				gap := func(what string) bool { return strings.Contains(text, what) }
				if slices.ContainsFunc([]string{"()", "; ;", ": ;", "{"}, gap) || strings.HasSuffix(text, ":") {
					t.Errorf("%s, %+v: %q", l, s, text)
				}
			}
			if s.Voice != "" && !strings.Contains(runs(l, s), s.Voice) {
				t.Errorf("%s: %q does not name the voice", l, runs(l, s))
			}
		}
	}
}
