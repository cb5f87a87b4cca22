package rehearse

import (
	"strings"
	"testing"
)

func TestMissing(t *testing.T) {
	off := func(device string) bool { return device != "hall" }
	on := func(string) bool { return true }
	for _, c := range []struct {
		text  string
		alive func(string) bool
		want  string
	}{
		{"garage: hello", on, "there is no garage; kitchen, bedroom, hall"},
		{"bedroom: hello", on, ""}, {"Bedroom: hello", on, ""}, {"ben: hello", on, ""},
		{"it is 12:30", on, ""}, {"http://example.org", on, ""}, {"my plan for today: nothing", on, ""},
		{"Cleo, are you there", off, "Cleo is not here: hall is off"},
		{"what does Cleo like", off, ""}, {"Cleo, are you there", on, ""}, {"Ada, are you there", off, ""},
		{"Dora, are you there", on, "nobody here is called Dora; Ada, Ben, Cleo"},
		{"Well, what time is it", on, ""}, {"Thanks, Ada", on, ""}, {"thank you", on, ""}, {"Kitchen, hello", on, ""}, {"I, for one, like rain", on, ""},
		{"what do you all think about rain", off, ""}, {"", on, ""},
	} {
		if got, place := DefaultRoom().missing(c.text, c.alive); got != c.want || place != strings.HasPrefix(c.want, "there is no") {
			t.Errorf("%q: %q; want %q", c.text, got, c.want)
		}
	}
}

func TestWhatWasAskedForIsConfirmed(t *testing.T) {
	for why, want := range map[string]string{
		"involvement off, as somebody said at kitchen":     "as somebody said at kitchen: only when asked; to undo: join in again",
		"muted, as somebody said at hall":                  "as somebody said at hall: muted; to undo: unmute",
		"involvement medium and not muted, at this device": "at this device: as before",
		"something newer":                                  "something newer",
	} {
		if got := settled(why); got != want {
			t.Errorf("%q: %q; want %q", why, got, want)
		}
	}
}
