package language

import (
	"strings"
	"testing"
)

// Of what the device says of itself in English, the pieces are translated, and names stay as they are.
func TestPiecesAreToldInTheLanguage(t *testing.T) {
	for _, c := range []struct{ section, is, want string }{
		{"value", "no loudspeaker (no sound card, no sound server); no microphone (no sound card, no sound server)",
			"kein Lautsprecher (keine Soundkarte, kein Soundserver); kein Mikrofon (keine Soundkarte, kein Soundserver)"},
		{"value", "rehearsal, on this machine (no key is stored); for a real one: sudo conch setup voice (the key alone: sudo conch key)",
			"Probe, auf diesem Gerät (kein Schlüssel ist gespeichert); für eine echte: sudo conch setup voice (nur der Schlüssel: sudo conch key)"},
		{"value", "realtime, gpt at api.openai.com (there is a key)", "Realtime, gpt bei api.openai.com (es gibt einen Schlüssel)"},
		{"value", "cascade, its model at http://box:11434, heard by a, spoken by b (voice.kind)",
			"Kette, its model bei http://box:11434, gehört von a, gesprochen von b (voice.kind)"},
		{"value", "GPIO17; key of /dev/input/event0 (not there)", "GPIO17; Taste von /dev/input/event0 (nicht da)"},
		{"value", "loudspeaker USB no microphone; silent within 21 ms of a press", "Lautsprecher USB no microphone; still binnen 21 ms nach einem Druck"},
		{"cut", "Ben is muted: conch room control --companion Ben --unmute to undo",
			"Ben ist stumm: conch room control --companion Ben --unmute macht es rückgängig"},
		{"outcome", "delivered", "gesagt"},
		{"value", "", ""},
	} {
		if got := Language("de").Retell(c.section, c.is); got != c.want {
			t.Errorf("%s\ngot  %s\nwant %s", c.is, got, c.want)
		}
		if got := English.Retell(c.section, c.is); got != c.is {
			t.Errorf("in English: %s", got)
		}
	}
	for _, l := range All() { // a piece alone is the whole of its sentence
		for _, section := range []string{"value", "cut", "outcome"} {
			for _, key := range Keys(section) {
				is := strings.NewReplacer("{", "", "}", "").Replace(English.Phrase(section + "." + key))
				want := strings.NewReplacer("{", "", "}", "").Replace(l.Phrase(section + "." + key))
				if got := l.Retell(section, is); got != want {
					t.Errorf("%s %s.%s: %q, want %q", l, section, key, got, want)
				}
			}
		}
	}
}
