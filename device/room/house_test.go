package room

import (
	"strings"
	"testing"

	"conch/companions"
	"conch/companions/round"
	"conch/device/language"
)

func TestMissing(t *testing.T) {
	house := func(hall bool) (h House) {
		for i, name := range []string{"kitchen", "bedroom", "hall"} {
			card := companions.DefaultCards()[i].Card
			h.Homes = append(h.Homes, Home{name, name != "hall" || hall, []round.Card{card}})
		}
		return h
	}
	on, off := house(true), house(false)
	cut, german := off, off
	cut.Cut, german.Language = true, "de"
	for _, c := range []struct {
		text  string
		house House
		want  string
	}{
		{"garage: hello", on, "there is no garage; kitchen, bedroom, hall"},
		{"bedroom: hello", on, ""}, {"Bedroom: hello", on, ""}, {"ben: hello", on, ""},
		{"it is 12:30", on, ""}, {"http://example.org", on, ""}, {"my plan for today: nothing", on, ""},
		{"Cleo, are you there", off, "Cleo is not here: hall is off"},
		{"what does Cleo like", off, ""}, {"Cleo, are you there", on, ""}, {"Ada, are you there", off, ""},
		{"Dora, are you there", on, "nobody here is called Dora; Ada, Ben, Cleo"},
		{"Well, what time is it", on, ""}, {"Thanks, Ada", on, ""}, {"thank you", on, ""}, {"Kitchen, hello", on, ""}, {"I, for one, like rain", on, ""},
		{"Cleo, are you there", cut, "Cleo is not here: this device does not reach the room"},
		{"Cleo, bist du da", german, "Cleo ist nicht da: hall ist aus"}, {"Danke, Ada", german, ""}, {"Unfortunately, it rains", on, ""},
		{"garage: hello", off, "there is no garage; kitchen, bedroom"}, {"hall: hello", off, ""}, {"Dora, hello", off, "nobody here is called Dora; Ada, Ben"},
		{"what do you all think about rain", off, ""}, {"", on, ""},
	} {
		if got, place := c.house.Missing(c.text); got != c.want || place != strings.HasPrefix(c.want, "there is no") {
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
		if got := Settled(language.English, why); got != want {
			t.Errorf("%q: %q; want %q", why, got, want)
		}
	}
}
