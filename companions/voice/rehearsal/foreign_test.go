package rehearsal

import (
	"strings"
	"testing"
	"time"
)

// TestWhoDoesNotSpeakEnglish: a user of another language is answered in it that this voice knows English alone; what it understands, it does.
func TestWhoDoesNotSpeakEnglish(t *testing.T) {
	aloud := func(text string) Thought {
		return Thought{Words: text, Heard: &Heard{Text: text, Words: true, Level: -20, Length: time.Second}}
	}
	for _, row := range []struct {
		name     string
		language string // of the device
		t        Thought
		in, says string
	}{
		{"German, typed", "de", Thought{Words: "Wie spät ist es in der Küche?"}, "de", "nur Englisch"},
		{"German, spoken, and heard as English", "de", aloud("the spit is is"), "de", "nur Englisch"},
		{"German, spoken, and no word understood", "de", aloud(""), "de", "nur Englisch"},
		{"German, with nothing that hears words", "de", Thought{Heard: &Heard{Level: -20, Length: time.Second}}, "de", "nur Englisch"},
		{"silence is silence", "de", Thought{Heard: &Heard{Words: true, Level: -90, Length: time.Second}}, "", "only silence"},
		{"English at a German device", "de", Thought{Words: "what is two plus three"}, "", "2 plus 3 is 5"},
		{"an English sentence that no rule knows", "de", Thought{Words: "what do you think of the sea in the north"}, "", "I understood"},
		{"French at a French device", "fr", Thought{Words: "quelle heure est-il dans la cuisine"}, "fr", "anglais"},
		{"Japanese at an English device", "en", Thought{Words: "今何時ですか"}, "ja", "英語しか"},
		{"Russian at an English device", "en", Thought{Words: "который сейчас час"}, "ru", "английский"},
		{"Greek at an English device", "en", Thought{Words: "Τι ώρα είναι;"}, "", "I know English only"},
		{"Swedish at a Swedish device", "sv", Thought{Words: "hur mycket är klockan i köket"}, "", "I know English only"},
		{"English", "en", Thought{Words: "tell me of the sea and the moon"}, "", "I understood"},
		{"a sentence of the device", "de", Thought{Prompt: "Say exactly: Die Nudeln sind fertig."}, "de", "Die Nudeln sind fertig."},
		{"an English sentence of the device", "de", Thought{Prompt: "Say exactly: The noodles are done."}, "en", "The noodles are done."},
	} {
		row.t.Language = row.language
		got := Rules{}.Think(row.t)
		if got.Language != row.in || !strings.Contains(got.Text, row.says) {
			t.Errorf("%s: %q in %q; want %q in %q", row.name, got.Text, got.Language, row.says, row.in)
		}
	}
}
