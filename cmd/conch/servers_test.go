package main

import (
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
	"time"

	"conch/companions/voice/serverstest"
	"conch/device/control"
)

// A person at a device whose voice is a llama-server and a whisper-server: asks while the model loads, has the volume set, presses into an
// answer, and the server stands still, dies and comes back while it runs. Speech is espeak-ng's, to a null card.
func TestADeviceConversesWithRealServers(t *testing.T) {
	const (
		year   = "The earth goes around its star, the sun, once in a year."
		done   = "It is done as you wished."
		called = "<tool_call>\n{\"name\": \"set_volume\", \"arguments\": {\"percent\": 85}}\n</tool_call>"
	)
	long := strings.Join(strings.Fields(`I walk to the shore each morning before anybody else is up, and I look at what the sea has brought in the night.
		Some days there is nothing but weed. On other days a bottle lies there, or a shoe, and I ask myself who lost it.`), " ")
	chat := serverstest.Llama(t, serverstest.Mind{Wide: 40_000, Chains: []serverstest.Chain{
		{When: "messages[-1].role == 'tool'", Says: done},
		{When: "'louder' in messages[-1].content", Says: called},
		{When: "'story' in messages[-1].content and not 'year' in messages[-1].content", Says: long},
		{Says: year},
	}})
	ear := serverstest.Whisper(t, serverstest.Ear{Writes: "What is a year?"}).Begin()
	chat.Start()
	serverstest.Await(t, "it loads", func() bool { s := chat.Health(); return s == http.StatusServiceUnavailable || s == http.StatusOK })
	a := newAppliance(t, "kitchen", "Ada", "CONCH_VOICE_KIND=auto", "CONCH_VOICE_URL="+chat.URL(), "CONCH_VOICE_HEAR=whisper.cpp "+ear.URL(),
		"CONCH_VOICE_SPEAK=espeak-ng")
	asks := func(text, want string) {
		t.Helper()
		if out, status := a.conch(t, "ask", text); status != 0 || strings.TrimSpace(out) != want {
			t.Errorf("%q: status %d, %q; want %q\n%s", text, status, out, want, a.read(t, "log"))
		}
	}
	asks("what is a year?", year)
	asks("louder please", done)
	if out, _ := a.conch(t, "volume"); !strings.HasPrefix(out, "volume 85,") {
		t.Errorf("the volume is %q", out)
	}
	if out, status := a.conch(t, "doctor", "-v"); status != 0 || !strings.Contains(out, "(llama.cpp), model /tmp/") ||
		!strings.Contains(out, "(whisper.cpp), model whisper: a second of sound") {
		t.Errorf("doctor: status %d\n%s", status, out)
	}

	type said struct {
		text   string
		status int
	}
	begin := func(text string) <-chan said {
		asked := make(chan said, 1)
		go func() {
			out, status := a.conch(t, "ask", text)
			asked <- said{strings.TrimSpace(out), status}
		}()
		return asked
	}

	cut := begin("tell me a story")
	serverstest.Await(t, "it tells the story", func() bool {
		var now control.Status
		r, err := control.Dial(a.config())
		return err == nil && r.Do(t.Context(), "GET", "/status", nil, &now) == nil && strings.HasPrefix(now.State, "IN_RESPONSE")
	})
	asks("and the year?", year)
	if s := <-cut; s.status == 0 || strings.Contains(s.text, "who lost it") {
		t.Errorf("what was cut ended with status %d and %q", s.status, s.text)
	}

	chat.Freeze()
	asked := begin("and what is a year?")
	<-time.After(5 * time.Second) // what is tried is a wait of that length
	chat.Thaw()
	if s := <-asked; s.text != year || s.status != 0 {
		t.Errorf("after it stood still: status %d, %q", s.status, s.text)
	}

	chat.Kill()
	out, status := a.conch(t, "ask", "what is a year?")
	if status == 0 || !strings.Contains(out, "ask: ") || strings.Contains(out, year) {
		t.Errorf("no answer: status %d, %q", status, out)
	}
	t.Logf("without a server: %s", out)
	chat.Begin()
	serverstest.Await(t, "it answers again", func() bool {
		out, status := a.conch(t, "ask", "what is a year?")
		return status == 0 && strings.TrimSpace(out) == year
	})
}

// The doctor reads the context's size from the server, and says when it is small for what a device asks with.
func TestADoctorKnowsTheContextOfARealServer(t *testing.T) {
	chat := serverstest.Llama(t, serverstest.Mind{Chains: []serverstest.Chain{{Says: "Yes."}}}, "--ctx-size", "2048").Begin()
	cmd := exec.Command("conch", "doctor", "--verbose")
	cmd.Env = append(os.Environ(), "HOME="+t.TempDir(), "CONCH_STATE_DIR="+t.TempDir(), "CONCH_AUDIO_BACKEND=null", "CONCH_VOICE_KIND=auto",
		"CONCH_VOICE_URL="+chat.URL(), "CONCH_VOICE_HEAR=pocketsphinx", "CONCH_VOICE_SPEAK=espeak-ng")
	out, _ := cmd.CombinedOutput()
	if !regexp.MustCompile(`chat +\S+: its context of 2048 tokens is small for the prompt \([0-9]+ bytes, [0-9]+ tokens\)`).Match(out) {
		t.Errorf("%s", out)
	}
}
