package room

import (
	"fmt"
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
	cut, german, muted := off, off, house(true)
	cut.Cut, german.Language, on.People = true, "de", []string{"Lena"}
	muted.Homes[2].Cards[0].Muted = true
	const undo = `Cleo is muted; say "Cleo, you can talk again" to undo`
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
		{"lena, come down please", on, ""}, {"Lena, come down please", on, ""},
		{"Cleo, what time is it", muted, undo}, {"hall: Cleo, what time is it", muted, undo}, {"Cleo, what time is it", on, ""},
		{"Cleo and Ada, what time is it", muted, ""}, {"what does Cleo like", muted, ""}, {"Cleo, you can talk again", muted, ""},
		{"hall: Cleo, be quiet", muted, ""}, {"Ada, what time is it", muted, ""},
	} {
		if got, place := c.house.Missing(c.text); got != c.want || place != strings.HasPrefix(c.want, "there is no") {
			t.Errorf("%q: %q; want %q", c.text, got, c.want)
		}
	}
}

// A message that calls muted companions only, and wants an answer, has somebody told; not where another is called too.
func TestMutedCalled(t *testing.T) {
	cards := []round.Card{{ID: "ada", Name: "Ada"}, {ID: "ben", Name: "Ben", Muted: true}, {ID: "cleo", Name: "Cleo", Muted: true}}
	members := []round.Member{{Device: "k1", Cards: cards[:2]}, {Device: "h1", Cards: cards[2:]}}
	for text, want := range map[string]string{
		"Cleo, what time is it?": "[cleo]", "Ben and Cleo, what do you think?": "[ben cleo]", "Ben and Ada, what do you think?": "[]", "what time is it?": "[]",
		"Cleo, be quiet": "[]", "I bought it for Cleo": "[]", "Ada, are you there?": "[]", "Cleo, bist du da?": "[cleo]",
	} {
		if got := fmt.Sprint(mutedCalled(members, round.Message{Text: text})); got != want {
			t.Errorf("%q: %s", text, got)
		}
	}
	if got := fmt.Sprint(mutedCalled(members, round.Message{To: []round.Participant{"cleo"}, For: "h1"})); got != "[cleo]" { // a whisper
		t.Error(got)
	}
	if got := mutedCalled(members, round.Message{To: []round.Participant{"cleo", "ada"}, Text: "hello?"}); got != nil {
		t.Error(got)
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
