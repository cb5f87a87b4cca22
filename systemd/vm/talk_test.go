package vm

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// here runs a line of shell on this machine.
func here(t *testing.T, line string) string {
	t.Helper()
	out, err := exec.Command("bash", "-c", line).CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", line, err, out)
	}
	return string(out)
}

// question is a spoken one, as a file in the guest.
func (b *box) question(text string) (path string) {
	b.t.Helper()
	wav := filepath.Join(b.t.TempDir(), "question.wav")
	here(b.t, fmt.Sprintf("flite -voice slt -t %q -o %q", text, wav))
	path = "/run/" + strings.ReplaceAll(text, " ", "-") + ".wav"
	b.put(wav, path, 0o644)
	return path
}

// heard is what a recogniser makes of a recording of the guest's loudspeaker.
func (b *box) heard(path string) string {
	b.t.Helper()
	kept := b.get(path)
	return strings.ToLower(here(b.t, fmt.Sprintf(
		`sox %q -r 16000 -c 1 -b 16 %q.16.wav norm -3 2>/dev/null && pocketsphinx_continuous -infile %q.16.wav -logfn /dev/null`, kept, kept, kept)))
}

// understood says that a recording holds at least n of the words. A small recogniser gets some of them wrong.
func (b *box) understood(path string, n int, words string) {
	b.t.Helper()
	text := b.heard(path)
	found := 0
	for word := range strings.FieldsSeq(words) {
		if strings.Contains(text, word) {
			found++
		}
	}
	b.t.Logf("heard from the loudspeaker: %s", strings.Join(strings.Fields(text), " "))
	if found < n {
		b.t.Errorf("of %q only %d words were heard in %q; want %d", words, found, text, n)
	}
}

// answers asks a typed question and hears the answer.
func (b *box) answers() {
	b.t.Helper()
	r := b.try("conch ask what time is it")
	if r.Code != 0 || !strings.Contains(r.Out, "It is") {
		b.t.Fatalf("conch ask: exit status %d\n%s\n%s", r.Code, r.Text(), b.try("conch why --all | tail -n 30; journalctl -u conch -n 30 --no-pager -o cat").Out)
	}
}

func (b *box) volume(percent int) {
	b.t.Helper()
	b.run(fmt.Sprintf("conch ask set the volume to %d percent", percent))
	if now := b.volumeNow(); now != percent {
		b.t.Fatalf("the volume is %d %% after it was asked to be %d", now, percent)
	}
}

func (b *box) volumeNow() int {
	b.t.Helper()
	return number(b.t, b.run(`cat /var/lib/conch/volume.json | tr -dc 0-9`))
}

// storyWords are of the beginning of the rehearsal voice's story.
const storyWords = "once upon time shell lay beach listened every evening sea told same story pretended hear first"

// TestTalked is a whole conversation by hand, ear and eye: press and the light is on, ask aloud, be answered aloud, press
// into the answer and it is silent.
func TestTalked(t *testing.T) {
	b := ready(t)
	b.active(time.Minute)
	file := b.question("tell me a story")
	ask := fmt.Sprintf(`
		until dark 30s
		press
		until light 5s
		say %s
		said
		wait 300ms
		release
		until sound 90s
		wait 15s
		until sound 5s
		keep /run/answer.wav
	`, file)
	// Whoever is not understood asks again: the recogniser has 20 s, and on a busy machine it may need more.
	var err error
	for range 3 {
		if _, err = b.handTry(4*time.Minute, ask); err == nil {
			break
		}
		t.Logf("asking again: %v", err)
		b.hand(2*time.Minute, "until quiet 90s")
	}
	if err != nil {
		t.Fatal(err)
	}
	b.understood("/run/answer.wav", 3, storyWords)
	saw := b.hand(time.Minute, `
		until sound 5s
		press
		until quiet 5s
		until light 1s
		wait 1s
		release
		until dark 30s
	`)
	t.Logf("silent %.0f ms after the press, by the recording", saw["quiet"].after(t))
	if ms := saw["quiet"].after(t); ms > 1000 {
		t.Errorf("silent only %.0f ms after the press", ms)
	}
}

// TestListensAtOnce: the light is on while it listens, and follows the button.
func TestListensAtOnce(t *testing.T) {
	b := ready(t)
	b.active(time.Minute)
	for range 3 {
		saw := b.hand(time.Minute, "until dark 20s\npress\nuntil light 5s\nwait 400ms\nrelease\nuntil dark 20s")
		t.Logf("light %.1f ms after the press", saw["light"].after(t))
	}
}

// TestSilence measures from the press to the last sample that is not zero, at the other end of the card. The figures are
// printed and not judged, but that each press silenced it: emulated time is not a Pi's. The cues are muted, so that what is
// audible after the press is old. What the measurement itself adds is measured too, with players that are killed.
func TestSilence(t *testing.T) {
	b := readyStopped(t)
	saw := b.hand(5*time.Minute, "calibrate 20")["calibrate"]
	t.Logf("of the measurement itself: %s", distribution(saw.MS))
	b.run("printf '[audio]\\ncue_volume = 0\\n\\n' >>/etc/conch/conch.toml; systemctl start conch")
	b.active(time.Minute)
	t.Logf("%s", b.run("journalctl -u conch -o cat --no-pager | grep 'event=audio.up what=speaker'"))
	n := 100
	if v := os.Getenv("CONCH_VM_PRESSES"); v != "" {
		n = number(t, v)
	}
	saw = b.hand(time.Duration(n)*30*time.Second, fmt.Sprintf("silence %d %d", n, seed(t)))["silence"]
	t.Logf("press to silence, %d presses (%d more fell into a pause of the speech): %s", len(saw.MS), saw.Quiet, distribution(saw.MS))
	if saw.Never > 0 || len(saw.MS) < n {
		t.Errorf("after %d presses it was not silent while the button was held; %d were measured, want %d", saw.Never, len(saw.MS), n)
	}
}
