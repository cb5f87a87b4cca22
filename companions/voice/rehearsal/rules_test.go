package rehearsal

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"testing"
	"time"
)

func TestRules(t *testing.T) {
	offered := []string{"set_volume", "get_time", "stop"}
	for _, row := range []struct {
		words, prompt string
		tools         []string
		want          string // in the text, or the call
	}{
		{"what time is it", "", nil, "It is 3:04 PM."},
		{"What time is it?", "", offered, `get_time {}`},
		{"what day is it today", "", nil, "Saturday, November 21, 2026"},
		{"what's your name", "", nil, "My name is Ada."},
		{"who are you", "", nil, "My name is Ada."},
		{"tell me a story", "", nil, "The end."},
		{"count to fifty", "", nil, "forty nine, fifty."},
		{"come to twenty", "", nil, "nineteen, twenty."}, // pocketsphinx
		{"count to forty five", "", nil, "forty four, forty five."},
		{"set the volume to thirty percent", "", offered, `set_volume {"percent":30}`},
		{"louder", "", offered, `set_volume {"percent":90}`},
		{"louder", "", nil, "cannot reach the volume"},
		{"please stop", "", offered, `stop {}`},
		{"please play Moby Dick", "", []string{"play", "go_on"}, `play {"title":"moby dick"}`},
		{"play", "", []string{"play", "go_on"}, `play {"title":""}`},
		{"please go on", "", []string{"play", "go_on"}, `go_on {}`},
		{"play Moby Dick", "", nil, "I understood: play Moby Dick."},
		{"what is seven times six", "", nil, "7 times 6 is 42."},
		{"what is ten divided by four", "", nil, "2.5"},
		{"what is one divided by zero", "", nil, "Nothing can be divided by zero"},
		{"say exactly good morning Vietnam", "", nil, "good morning Vietnam."},
		{"what did i say", "", nil, "I heard you say: what did i say."},
		{"xylophones are green", "", nil, "I understood: xylophones are green. This is a rehearsal"},
		{"", "You are Ada.\n\nSay this to the room, word for word: Dinner is ready.", nil, "Dinner is ready."},
		{"what time is it", "Say this to the room, word for word: Dinner is ready.", nil, "Dinner is ready."},
		{"", "Tell the person that the tea is done.", nil, "the tea is done."},
		{"", "", nil, "Hello. I am Ada."},
	} {
		r := Rules{}.Think(Thought{
			Words: row.words, Prompt: row.prompt, Tools: row.tools, Instructions: "You are Ada, a companion.", Rand: newRand(1),
			Now: time.Date(2026, 11, 21, 15, 4, 0, 0, time.UTC),
		})
		got := r.Text
		for _, c := range r.Calls {
			got += c.Name + " " + c.Args
		}
		if !strings.Contains(got, row.want) {
			t.Errorf("%q (prompt %q) = %q; want %q in it", row.words, row.prompt, got, row.want)
		}
	}
}

func TestWithoutEarsTheRehearsalPlaysBackWhatItHeard(t *testing.T) {
	_, url := serve(t, quick())
	c := dial(t, url)
	tone, _ := Tones{}.Say(t.Context(), "alloy", "la la la")
	c.speak(tone)
	c.send(`{"type":"response.create"}`)
	c.until("response.done")
	if got := c.words(0); !strings.Contains(got, "install pocketsphinx") {
		t.Errorf("said %q", got)
	}
	var sound strings.Builder
	for _, e := range c.seen {
		if e["type"] == "response.output_audio.delta" {
			sound.WriteString(e["delta"].(string))
		}
	}
	if !strings.Contains(sound.String(), soundBase64(tone[:3*1000])) {
		t.Error("what was heard is not in the answer")
	}
}

// TestPromptReachesTheBrain: the text of a response's own instructions, beside the session's, is what is spoken.
// A recognizer that was too slow is not one that is missing: nobody is sent to install what is there.
func TestEarsThatAreTooSlowAreNoMissingOnes(t *testing.T) {
	var th Thought
	th.heard(&hearing{heard: Heard{Words: true, Length: time.Second, Level: -20}, err: context.DeadlineExceeded})
	if r := (Rules{}).Think(th); !strings.Contains(r.Text, "took too long") || strings.Contains(r.Text, "install") {
		t.Errorf("it says %q", r.Text)
	}
}

func TestPromptReachesTheBrain(t *testing.T) {
	_, url := serve(t, quick())
	c := dial(t, url)
	c.send(`{"type":"session.update","session":{"type":"realtime","instructions":"You are Ada."}}`)
	c.until("session.updated")
	for _, instructions := range []string{
		`Say this to the room, word for word: The bath is full.`,
		`You are Ada.\n\nSay this to the room, word for word: The bath is full.`,
	} {
		from := len(c.seen)
		c.send(`{"type":"response.create","response":{"instructions":"%s"}}`, instructions)
		c.until("response.done")
		if got := c.words(from); got != "The bath is full." {
			t.Errorf("%q: said %q", instructions, got)
		}
	}
	c.send(`{"type":"conversation.item.create","item":{"type":"message","role":"system","content":[{"type":"input_text","text":"Tell the person that the kettle boils."}]}}`)
	c.until("conversation.item.done")
	from := len(c.seen)
	c.send(`{"type":"response.create"}`)
	c.until("response.done")
	if got := c.words(from); got != "the kettle boils." {
		t.Errorf("after a system message: said %q", got)
	}
}

func TestVoicesSoundDifferent(t *testing.T) {
	synthesizer, ok := NewSynthesizer().(*synth)
	if !ok {
		t.Skip("missing: flite and espeak-ng")
	}
	seen := map[string]string{}
	for _, v := range []string{"marin", "cedar", "alloy", "ash", "coral", "echo", "espeak:en-gb", "nobody"} {
		pcm, err := synthesizer.Say(t.Context(), v, "Hello. --help; $(reboot) <b>there</b>")
		if err != nil {
			t.Fatalf("%s: %v", v, err)
		}
		if len(pcm) < Rate/2 || measure(pcm).Level < -50 {
			t.Errorf("%s: %d samples at %.0f dB", v, len(pcm), measure(pcm).Level)
		}
		key := soundBase64(pcm)
		if other, same := seen[key]; same && v != "nobody" {
			t.Errorf("%s sounds like %s", v, other)
		}
		seen[key] = v
	}
}

// A card may name a voice that only its own service has.
func TestVoiceOfAnotherServiceIsSpokenWithOneOfOurs(t *testing.T) {
	for name, want := range map[string]string{"": "", "marin": "marin", "espeak:en-gb": "espeak:en-gb", "slt": "slt"} {
		if got := Voice(name); got != want {
			t.Errorf("%q: %q; want %q", name, got, want)
		}
	}
	for _, name := range []string{"nova", "af_heart", "Vivian", "espeak:../x"} {
		if got := Voice(name); voiceName("", got) != nil || got != Voice(name) {
			t.Errorf("%q is spoken with %q", name, got)
		}
	}
}

// The log of an appliance is kept for weeks and read by others: it says that something was asked, not what.
func TestLogKeepsNoDiary(t *testing.T) {
	var log bytes.Buffer
	o := quick()
	o.Log = slog.New(slog.NewTextHandler(&log, nil))
	s, url := serve(t, o)
	c := dial(t, url)
	c.until("session.created")
	if said := c.ask("please repeat marzipan"); said == "" {
		t.Fatal("no answer")
	}
	c.conn.CloseNow()
	s.Close() // nobody writes to the log any more
	if !strings.Contains(log.String(), logAnswer) {
		t.Errorf("the log does not tell of the answer: %s", &log)
	}
	for _, word := range append(strings.Fields(c.words(0)), "marzipan") {
		if len(word) > 5 && strings.Contains(log.String(), word) {
			t.Errorf("%q of the conversation is in the log: %s", word, &log)
		}
	}
}

func TestAnAnswerThatBrokeOffGoesOn(t *testing.T) {
	const story = "Once upon a time there was a shell. It lay on a beach. Every evening the sea came."
	for _, c := range []struct{ said, want string }{
		{"Once upon a time", story},
		{"a shell. It lay", " It lay on a beach. Every evening the sea came."},
		{"It lay on a beach.", " It lay on a beach. Every evening the sea came."},
		{"something else", story},
		{"", story},
	} {
		if got := goOn(story, c.said); got != c.want {
			t.Errorf("after %q it goes on with %q; want %q", c.said, got, c.want)
		}
	}
	rest, said, ok := resumes("In the room:\nYou know birds.\n\n" + resumeMarker + `; the person has heard: "… a shell. It". Go on.`)
	if rest != "In the room:\nYou know birds." || said != "a shell. It" || !ok {
		t.Errorf("read %q, %q, %v", rest, said, ok)
	}
}
