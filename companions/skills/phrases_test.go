package skills

import (
	"slices"
	"testing"
)

func TestPhrases(t *testing.T) {
	p := Phrases{
		"over": {"en": "{what} is over, {ago} ago", "de": "{what} ist vorbei, seit {ago}", "fr": "{what} est fini"},
		"off":  {"en": "it is off", "de": ""},
	}
	for language, want := range map[string]string{"de": "die {ago} ist vorbei, seit 2", "en": "die {ago} is over, 2 ago", "": "die {ago} is over, 2 ago", "nl": "die {ago} is over, 2 ago"} {
		if got := p.In(language, "over", "what", "die {ago}", "ago", "2"); got != want {
			t.Errorf("%q: %q; want %q", language, got, want)
		}
	}
	want := []string{`off in de: ""`, `off in fr: ""`, `over in fr: "{what} est fini"`}
	if got := p.Lack("de", "fr"); !slices.Equal(got, want) {
		t.Errorf("%q; want %q", got, want)
	}
}
