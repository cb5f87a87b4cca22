package rehearsal

import (
	"strings"
	"testing"
)

// TestSpokenQuestionsAreAnswered goes the whole way: flite asks, the wire carries, pocketsphinx hears, the rules answer,
// flite speaks.
func TestSpokenQuestionsAreAnswered(t *testing.T) {
	recognizer, synthesizer := NewRecognizer(), NewSynthesizer()
	if _, ok := recognizer.(*sphinx); !ok {
		t.Skip("missing: pocketsphinx_continuous (apt install pocketsphinx pocketsphinx-en-us)")
	}
	if s, ok := synthesizer.(*synth); !ok || s.flite == "" {
		t.Skip("missing: flite (apt install flite)")
	}
	o := quick()
	o.Recognizer, o.Synthesizer = recognizer, synthesizer
	_, url := serve(t, o)
	for _, voice := range []string{"slt", "rms"} {
		for _, row := range []struct{ ask, want string }{
			{"what time is it", "It is 3:04 PM"},
			{"what is your name", "My name is Ada"},
			{"tell me a story", "Once upon a time"},
			{"count to twenty", "nineteen, twenty"},
		} {
			t.Run(voice+"/"+row.ask, func(t *testing.T) {
				c := dial(t, url)
				c.send(`{"type":"session.update","session":{"type":"realtime","instructions":"You are Ada, a companion.","audio":{"input":{"turn_detection":null,"transcription":{"model":"gpt-transcribe"}}}}}`)
				c.until("session.updated")
				pcm, err := synthesizer.Say(t.Context(), voice, row.ask+"?")
				if err != nil {
					t.Fatal(err)
				}
				c.speak(pcm)
				c.until("conversation.item.done")
				from := len(c.seen)
				c.send(`{"type":"response.create"}`)
				c.until("response.done")
				if got := c.words(from); !strings.Contains(got, row.want) {
					t.Errorf("%s asked %q; answered %q; want %q in it", voice, row.ask, got, row.want)
				}
			})
		}
	}
}
