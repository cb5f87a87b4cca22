package device

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"conch/audio"
	"conch/audio/wav"
	"conch/companions/voice/rehearsal"
	"conch/coordinator/turn"
	"conch/device/config"
)

// put writes a whistle of so many seconds into a library.
func put(t *testing.T, file string, seconds int) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		t.Fatal(err)
	}
	f, err := os.Create(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	w, err := wav.NewFile(f, audio.Rate)
	if err != nil {
		t.Fatal(err)
	}
	pcm := whistle(oldHz, seconds*audio.Rate)
	b := make([]byte, 0, 2*len(pcm))
	for _, x := range pcm {
		b = append(b, byte(x), byte(uint16(x)>>8))
	}
	if _, err := w.Write(b); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
}

// By voice, with the rules that the rehearsal answers by: play, a question over it, stop, go on, stop.
func TestTheLibraryIsPlayedByVoice(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	put(t, filepath.Join(dir, "the_sea.wav"), 60)
	b := newBox(t, boxOptions{mind: rehearsal.Rules{}, config: func(c *config.Config) { c.Library.Folder = dir }})
	hears := func(what string, want bool) {
		t.Helper()
		b.until(what, func() bool {
			at := b.now()
			return b.coordinator.State() == turn.Idle && (pitch(b.card.Between(at-100*time.Millisecond, at-10*time.Millisecond), oldHz) > 1000) == want
		})
	}
	says := func(words string) {
		n := len(b.turnsEnded())
		b.question(words)
		b.until("at the end of the turn", func() bool { return len(b.turnsEnded()) > n })
	}
	says("play the sea")
	hears("playing", true)
	says("what is two plus two")
	if r := b.turnsEnded()[1]; !strings.Contains(r.Said, "2 plus 2 is 4") {
		t.Errorf("over it was said: %q", r.Said)
	}
	hears("playing again", true)
	says("stop")
	hears("silent", false)
	b.quiet()
	says("go on")
	hears("playing once more", true)
	says("stop")
	b.quiet()
	says("play chess")
	if r := b.turnsEnded()[5]; !strings.Contains(r.Said, "There is no chess. There is the sea.") {
		t.Errorf("of a title that is not there: %q", r.Said)
	}
	b.quiet()
}
