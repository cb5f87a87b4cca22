package device

import (
	"os"
	"path/filepath"
	"slices"
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

func TestALibraryIsAFolderOfWAVFiles(t *testing.T) {
	dir := t.TempDir()
	f := folder(filepath.Join(dir, "library"))
	if all, err := f.titles(); err != nil || all != nil {
		t.Errorf("before there is one: %q, %v", all, err)
	}
	put(t, filepath.Join(dir, "library", "the_sea.wav"), 1)
	put(t, filepath.Join(dir, "library", "Melville", "Moby Dick.WAV"), 1)
	put(t, filepath.Join(dir, "library", ".trash", "old.wav"), 1)
	put(t, filepath.Join(dir, "secret.wav"), 1)
	for link, to := range map[string]string{"out.wav": "../secret.wav", "gone.wav": "nothing"} {
		if err := os.Symlink(to, filepath.Join(dir, "library", link)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "library", "notes.txt"), []byte("no sound"), 0o600); err != nil {
		t.Fatal(err)
	}
	all, err := f.titles()
	if want := []string{"Melville, Moby Dick", "gone", "out", "the sea"}; err != nil || !slices.Equal(all, want) {
		t.Errorf("%q, %v; want %q", all, err, want)
	}
	for title, ok := range map[string]bool{"the sea": true, "Melville, Moby Dick": true, "out": false, "gone": false, "nothing": false} {
		sound, err := f.open(title)
		if (err == nil) != ok {
			t.Errorf("%s: %v", title, err)
		}
		if err == nil {
			sound.Close()
		} else if !strings.HasPrefix(err.Error(), title) {
			t.Errorf("%s: %v", title, err)
		}
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
