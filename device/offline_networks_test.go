package device

import (
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"conch/audio"
	"conch/audio/cue"
	"conch/audio/pulsetest"
	"conch/coordinator/turn"
	"conch/device/condition"
)

// The cable to the server is pulled while nobody talks, without a packet that says so: the appliance notices. A press says by
// the cue that nobody can answer, and is recorded; the cable is back, and the question is answered.
//
//	kitchen 10.97.0.11 ── bridge 10.97.0.1: the way :8080 to a rehearsal server ── PulseAudio hears and speaks
func TestPressWhileTheServersCableIsOut(t *testing.T) {
	t.Parallel()
	if err := pulsetest.Missing(); err != nil {
		t.Skipf("no PulseAudio: %v", err)
	}
	n := newNetworks(t)
	server, err := pulsetest.New()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Close)
	tape, err := server.Record()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { tape.Stop() })
	question := filepath.Join(t.TempDir(), "question.wav")
	if out, err := exec.Command("flite", "-voice", "slt", "-t", "what is two plus three", "-o", question).CombinedOutput(); err != nil {
		t.Skipf("no speech to ask with (flite: %v: %s)", err, out)
	}

	n.process("m", nil, n.binary, "rehearse", "--serve", "127.0.0.1:8081")
	n.way("0.0.0.0:8080>127.0.0.1:8081")
	b := n.box("kitchen", "Ada", 0)
	b.start(append(server.Environ(), "OPENAI_API_KEY=any"), "audio.backend=pulse", "voice.kind=realtime", "voice.url=ws://10.97.0.1:8080/v1/realtime", "room.discovery=off")
	lost := func() bool {
		return slices.ContainsFunc(b.status().Conditions, func(c condition.Condition) bool { return c.Code == condition.VoiceLost })
	}
	b.until("a session", 20*time.Second, func() bool { return b.status().Ready && !lost() })

	n.ip("-n", n.ns("m"), "link", "set", "v"+b.ns, "nomaster") // the kitchen's own link stays up
	pulled := time.Now()
	b.until("the loss noticed, which the light shows", 30*time.Second, lost) // 10 s where the machine has nothing else to do
	t.Logf("noticed after %v", time.Since(pulled).Round(100*time.Millisecond))

	from := len(tape.Samples())
	turns := b.status().Turns
	b.press()
	sound, err := audio.Resample(cue.Samples(turn.CueOffline.String()), audio.Rate, pulsetest.Rate)
	if err != nil {
		t.Fatal(err)
	}
	second := sound[len(sound)*47/100:] // the note that no other cue is beside: the first is beside that of the ready cue
	if !tape.WaitFor(20*time.Second, func(s []int16) bool { return contains(s[from:], second) }) {
		t.Error("the cue of no connection is not on the tape")
	}
	b.until("recording", 10*time.Second, func() bool { return b.state() == turn.Listening.String() })
	if err := server.PlayFile(nil, question); err != nil {
		t.Fatal(err)
	}
	n.ip("-n", n.ns("m"), "link", "set", "v"+b.ns, "master", "br0")
	b.release()
	b.until("the turn's end", 60*time.Second, func() bool { s := b.status(); return s.Turns > turns && s.State == turn.Idle.String() })
	var why struct{ Text string }
	if err := b.remote.Do(t.Context(), "GET", "/why", nil, &why); err != nil || !strings.Contains(why.Text, "spoke") || strings.Contains(why.Text, "broke off") {
		t.Errorf("why: %v, %q; want an answer that was heard", err, why.Text)
	}
}

// contains says whether a sound is somewhere in a recording, at any volume.
func contains(recording, sound []int16) bool {
	const step = 8
	if len(recording) < len(sound) {
		return false
	}
	for i := 0; i+len(sound) <= len(recording); i += step {
		if likeness(recording[i:i+len(sound)], sound) > 0.9 {
			return true
		}
	}
	return false
}
