package cascade

import (
	"context"
	"log/slog"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"conch/companions/voice"
	"conch/companions/voice/cascadetest"
	"conch/companions/voice/kit"
	"conch/companions/voice/rehearsal"
	"conch/coordinator/turn"
)

// converse asks a question aloud of a chain with these settings, whose chat is a script, and returns what was understood and what came.
func converse(t *testing.T, question []int16, own map[string]string) (heard, said string, pcm int) {
	t.Helper()
	set := settings()
	set.Own, set.Languages, set.Mouth = own, []string{"en"}, "en"
	_, heard, said, pcm = talkAs(t, "", cascadetest.Script{Chat: func(q cascadetest.Request) cascadetest.Reply {
		return cascadetest.Reply{Text: "You asked me: " + q.Text + ". It is a quarter past three.", Pace: 30}
	}}, set, question)
	return heard, said, pcm
}

// talkAs asks a question aloud of a chain of that script, at which the settings point with SERVER.
func talkAs(t *testing.T, of string, script cascadetest.Script, set voice.Settings, question []int16) (chain *cascadetest.Chain, heard, said string, pcm int) {
	t.Helper()
	script.Models = []string{"m"}
	chain = cascadetest.New(script)
	s := httptest.NewServer(chain)
	defer s.Close()
	set.URL = s.URL
	for k, v := range set.Own {
		set.Own[k] = strings.ReplaceAll(v, "SERVER", s.URL)
	}
	cfg, err := Configure(set, voice.Companion{Voice: of, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	c, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	d := &tape{deaf: deaf{facts: make(chan turn.Event, 4096)}}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { defer close(done); _ = c.Run(ctx, d) }()
	defer func() { cancel(); <-done }()
	d.until(t, func(ev turn.Event) bool { _, ok := ev.(turn.SessionReady); return ok })
	c.Do(turn.ClearInput{Turn: "t-1"})
	c.Append("t-1", question)
	c.Do(turn.CommitInput{Turn: "t-1"})
	c.Do(turn.CreateResponse{Turn: "t-1"})
	d.until(t, func(ev turn.Event) bool {
		switch e := ev.(type) {
		case turn.Transcribed:
			heard = e.Text
		case turn.Spoken:
			said += e.Text
		case turn.ResponseRefused:
			t.Errorf("%+v", e)
			return true
		case turn.InputRefused:
			t.Errorf("%+v", e)
			return true
		case turn.ResponseDone:
			if e.Status != turn.ResponseCompleted {
				t.Errorf("%+v", e)
			}
			return true
		}
		return false
	})
	return chain, heard, said, len(d.pcm)
}

// tape keeps what was said.
type tape struct {
	deaf
	pcm []int16
}

func (d *tape) Audio(_ context.Context, _ turn.ID, pcm []int16) int {
	d.pcm = append(d.pcm, pcm...)
	return len(pcm)
}

func have(t *testing.T, programs ...string) {
	t.Helper()
	for _, p := range programs {
		if _, err := exec.LookPath(p); err != nil {
			t.Skipf("missing: %s", p)
		}
	}
}

// Ears and mouth of this machine, for real, around a mind that is a script: what flite says pocketsphinx understands, and the answer is
// spoken by flite and by espeak-ng.
func TestProgramsOfThisMachineConverse(t *testing.T) {
	have(t, "pocketsphinx_continuous", "flite", "espeak-ng")
	question, err := rehearsal.NewSynthesizer().Say(t.Context(), "slt", "what time is it")
	if err != nil {
		t.Fatal(err)
	}
	for _, mouth := range []string{"flite", "espeak-ng"} {
		heard, said, pcm := converse(t, question, map[string]string{"hear": "pocketsphinx", "speak": mouth})
		t.Logf("%s: heard %q, said %q in %.1f s", mouth, heard, said, float64(pcm)/kit.Rate)
		if heard != "what time is it" || !strings.Contains(said, "what time is it. It is a quarter past three.") || pcm < 2*kit.Rate {
			t.Errorf("%s: heard %q, said %q in %d samples", mouth, heard, said, pcm)
		}
	}
}

// Programs that are not in Debian are asked as their own pages have it: whisper-cli gets a WAV of 16 kHz and gives text, piper gets text and
// gives a WAV. Stand-ins hold the arguments.
func TestProgramsAreAskedAsTheirPagesSay(t *testing.T) {
	dir := t.TempDir()
	wav := filepath.Join(dir, "voice.wav")
	if err := os.WriteFile(wav, kit.WAV(cascadetest.Sound(1, 22050), 22050), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, model := range []string{"en.onnx", "ggml.bin"} {
		if err := os.WriteFile(filepath.Join(dir, model), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for name, script := range map[string]string{
		"piper":       "#!/bin/sh\n[ \"$*\" = \"--model " + dir + "/en.onnx --output_file -\" ] || exit 3\nread line\n[ -n \"$line\" ] || exit 4\nexec cat " + wav + "\n",
		"whisper-cli": "#!/bin/sh\n[ \"$*\" = \"-m " + dir + "/ggml.bin -f - -nt -np -l en\" ] || exit 3\nhead -c 4 | grep -q RIFF || exit 4\ncat >/dev/null\necho; echo ' What time is it?'\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(script), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	heard, said, pcm := converse(t, cascadetest.Sound(2, kit.Rate), map[string]string{"hear": dir + "/whisper-cli " + dir + "/ggml.bin", "speak": dir + "/piper " + dir + "/en.onnx"})
	if heard != "What time is it?" || !strings.Contains(said, "quarter past three") || pcm < kit.Rate/2 {
		t.Errorf("heard %q, said %q in %d samples", heard, said, pcm)
	}
}

// A stage whose server is gone is done by this machine, if it can: nobody is left without an answer, and the log says so.
func TestAStageWithoutAServerIsDoneHere(t *testing.T) {
	have(t, "flite")
	_, said, pcm := converse(t, cascadetest.Sound(2, kit.Rate), map[string]string{"speak": "http://127.0.0.1:1"})
	if !strings.Contains(said, "quarter past three") || pcm < 2*kit.Rate {
		t.Errorf("said %q in %d samples", said, pcm)
	}
}

// What stands in voice.hear and voice.speak.
func TestTargets(t *testing.T) {
	for _, row := range []struct{ text, want, refused string }{
		{"", "compatible box.lan:8000", ""},
		{"http://pc.lan:11434", "ollama pc.lan:11434", ""},
		{"kokoro http://pc.lan:1/v2", "kokoro pc.lan:1", ""},
		{"https://api.openai.com", "openai api.openai.com", ""},
		{"flite", " flite", ""},
		{"piper", "", "needs the file of a model"},
		{"piper http://pi.lan:5000", "piper pi.lan:5000", ""},
		{"piper /usr/share/piper/en.onnx", " piper", ""},
		{"ftp://pc.lan", "", "must be an address"},
		{"rm -rf /", "", "must be an address"},
		{"wavenet http://pc.lan", "", "must be an address"},
		{"http://user:secret@pc.lan", "", "user name"},
	} {
		got, err := parseTarget("speak", row.text, "http://box.lan:8000", speaking)
		name := strings.TrimPrefix(got.profile.Name+" "+got.String(), " ")
		if row.refused != "" {
			if err == nil || !strings.Contains(err.Error(), row.refused) {
				t.Errorf("%q: %v; want %q", row.text, err, row.refused)
			}
		} else if err != nil || name != strings.TrimPrefix(row.want, " ") {
			t.Errorf("%q is %q (%v); want %q", row.text, name, err, row.want)
		}
	}
}
