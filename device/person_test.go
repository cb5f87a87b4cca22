package device

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"conch/audio/words"
	"conch/coordinator"
	"conch/coordinator/turn"
	"conch/device/condition"
	"conch/device/config"
	"conch/device/control"
	"conch/device/terminal"
)

func TestPrompt(t *testing.T) {
	for _, c := range []struct {
		state                turn.State
		muted, hears, sounds bool
		who                  string
		long, short          string
	}{
		{turn.Idle, false, true, false, "", "space talks", "talk"},
		{turn.Idle, false, false, false, "", "no microphone; type a question", "no mic"},
		{turn.Idle, true, false, false, "", "muted; type a question", "muted"}, // that is why there is none
		{turn.Idle, false, true, true, "", "space silences", "silence"},        // an announcement, music, a companion elsewhere
		{turn.Idle, true, false, true, "", "space silences", "silence"},
		{turn.Listening, false, true, false, "", "listening; space sends", "listening"},
		{turn.Listening, true, false, false, "", "listening; space sends", "listening"}, // a press goes on; what it says comes at its end
		{turn.Committing, false, true, false, "", "thinking; space cancels", "thinking"},
		{turn.InResponse, false, true, false, "", "answering; space silences", "answering"},
		{turn.InResponse, true, true, false, "Ada", "Ada speaks; space silences", "Ada"},
	} {
		want := terminal.State{Long: c.long, Short: c.short}
		if got := prompt("", c.state, c.muted, c.hears, c.sounds, c.who); got != want {
			t.Errorf("%v, muted %v, hears %v, sounds %v, %q: %+v; want %+v", c.state, c.muted, c.hears, c.sounds, c.who, got, want)
		}
	}
}

// A press without a microphone is told of once: with its cause, where that is new, else by itself.
func TestUnheardIsToldOnce(t *testing.T) {
	const s = time.Second
	for _, c := range []struct {
		name         string
		now, why     time.Duration // a turn from 10 s to 12 s
		hears, known bool
		tell, done   bool
	}{
		{"a dead microphone was told of while it was held", 12 * s, 11 * s, true, true, false, true},
		{"or right after", 12*s + s/10, 12*s + s/20, true, true, false, true},
		{"long before", 12 * s, 3 * s, true, true, true, true},
		{"there was none all the time", 12 * s, 0, false, true, true, true},
		{"it is gone, and nobody knows yet why", 12*s + s/10, 0, false, false, false, false},
		{"nor a second later", 13*s + s/10, 0, false, false, true, true},
		{"it came back meanwhile", 12*s + s/10, 0, true, false, true, true},
	} {
		u := unheard{began: 10 * s, ended: 12 * s}
		if tell, done := u.due(c.now, c.why, c.hears, c.known); tell != c.tell || done != c.done {
			t.Errorf("%s: told %v, done %v; want %v, %v", c.name, tell, done, c.tell, c.done)
		}
	}
}

// What a press would have been told stands with its cause.
func TestTroubleIsInTheLanguageOfTheDevice(t *testing.T) {
	for _, code := range []condition.Code{condition.SoundFlat, condition.SoundMicrophone} {
		got := trouble("de", condition.Condition{Code: code, Text: "no card", Do: "plug one in"})
		if want := "conch: " + words.Text("de", "no_microphone") + "\nconch: no card\n       -> plug one in\n"; got != want {
			t.Errorf("%s: %q; want %q", code, got, want)
		}
	}
	refused := condition.Condition{Code: condition.VoiceLost, Text: "no session", Do: "a key", Clip: "key_refused"}
	if got, want := trouble("de", refused), "conch: "+words.Text("de", "key_refused")+"\n"; !strings.HasPrefix(got, want) {
		t.Errorf("a key that is refused: %q; want %q first", got, want)
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

// A stream that breaks after its turn was told is told by itself, in the words that are heard.
func TestWordsOfAStreamThatBrokeAreOnTheScreen(t *testing.T) {
	var out bytes.Buffer
	a := &appliance{screen: terminal.New(&out), device: &Device{cfg: config.Default()}}
	a.says("t-1", turn.WordsStreamFailed)
	if want := words.Text("", string(turn.WordsStreamFailed)); want == "" || !strings.Contains(out.String(), want) {
		t.Errorf("the screen has %q; want %q", out.String(), want)
	}
}
