package device

import (
	"testing"

	"conch/coordinator"
	"conch/coordinator/turn"
	"conch/device/control"
	"conch/device/terminal"
)

func TestPrompt(t *testing.T) {
	for _, c := range []struct {
		state        turn.State
		muted, hears bool
		who          string
		long, short  string
	}{
		{turn.Idle, false, true, "", "space talks", "talk"},
		{turn.Idle, false, false, "", "no microphone; type a question", "no mic"},
		{turn.Idle, true, false, "", "muted; type a question", "muted"}, // that is why there is none
		{turn.Listening, false, true, "", "listening; space sends", "listening"},
		{turn.Listening, true, false, "", "listening; space sends", "listening"}, // a press goes on; what it says comes at its end
		{turn.Committing, false, true, "", "thinking; space cancels", "thinking"},
		{turn.InResponse, false, true, "", "answering; space silences", "answering"},
		{turn.InResponse, true, true, "Ada", "Ada speaks; space silences", "Ada"},
	} {
		want := terminal.State{Long: c.long, Short: c.short}
		if got := prompt("", c.state, c.muted, c.hears, c.who); got != want {
			t.Errorf("%v, muted %v, hears %v, %q: %+v; want %+v", c.state, c.muted, c.hears, c.who, got, want)
		}
	}
}

func TestSpeechOfATurn(t *testing.T) {
	rec := func(reason, said, heard string, whole bool) control.Turn {
		return control.Turn{Who: "Ada", Record: coordinator.Record{Turn: "t-1", Reason: reason, Said: said, HeardText: heard, Whole: whole, HeardMS: 900}}
	}
	for _, c := range []struct {
		name             string
		turn             control.Turn
		heard, rest, cut string
	}{
		{"to its end", rec("done", "One. Two.", "One. Two.", false), "One. Two.", "", ""},
		{"cut", rec("interrupted", "One. Two.", "One.", false), "One.", " Two.", "cut after 0.9 s"},
		{"cut in the silence after its end", rec("interrupted", "One. Two.", "One. Two.", true), "One. Two.", "", ""},
		{"cut before anything", rec("interrupted", "", "", false), "", "", ""},
	} {
		s := SpeechOf(c.turn)
		if s.Heard != c.heard || s.Rest != c.rest || c.turn.Cut("") != c.cut {
			t.Errorf("%s: heard %q, rest %q, %q; want %q, %q, %q", c.name, s.Heard, s.Rest, c.turn.Cut(""), c.heard, c.rest, c.cut)
		}
	}
}
