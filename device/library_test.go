package device

import (
	"fmt"
	"math"
	"os"
	"os/exec"
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

// sweep makes an MP3 that rises by twenty hertz a second, so that what is heard says where in it that is.
func sweep(t *testing.T, file string, seconds int) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		t.Fatal(err)
	}
	wave := filepath.Join(t.TempDir(), "sweep.wav")
	for _, args := range [][]string{
		{"sox", "-n", "-r", "22050", "-b", "16", "-c", "1", wave, "synth", fmt.Sprint(seconds), "sine", fmt.Sprintf("400:%d", 400+20*seconds), "vol", "0.4"},
		{"lame", "--quiet", "-V5", wave, file},
	} {
		if _, err := exec.LookPath(args[0]); err != nil {
			t.Skipf("%s is not installed: no book", args[0])
		}
		if b, err := exec.Command(args[0], args[1:]...).CombinedOutput(); err != nil {
			t.Fatalf("%v: %v\n%s", args, err, b)
		}
	}
}

// read is where in a sweep the card is, by the crossings of zero in the last fifth of a second; false: it plays none.
func (b *box) read() (seconds float64, ok bool) {
	at := b.now()
	tape := b.card.Between(at-220*time.Millisecond, at-20*time.Millisecond)
	first, last, n := -1, 0, 0
	for i := 1; i < len(tape); i++ {
		if tape[i-1] < 0 && tape[i] >= 0 {
			if first < 0 {
				first = i
			} else {
				n++
			}
			last = i
		}
	}
	if n < 20 || last-first < len(tape)*9/10 {
		return 0, false
	}
	return (float64(n)*audio.CardRate/float64(last-first) - 400) / 20, true
}

// A real MP3 in two chapters: a question over it, a skip, a chapter, a pause; and after a restart it goes on a little before where it was.
func TestABookOfMP3KeepsItsPlace(t *testing.T) { //nolint:tparallel // one start after the other, on one disk
	t.Parallel()
	books, kept := t.TempDir(), t.TempDir()
	sweep(t, filepath.Join(books, "Moby Dick", "1.mp3"), 120)
	sweep(t, filepath.Join(books, "Moby Dick", "2.mp3"), 90)
	with := func(t *testing.T) (b *box, says func(string) string, reads func(string, float64) float64) {
		b = newBox(t, boxOptions{mind: rehearsal.Rules{}, config: func(c *config.Config) { c.Library.Folder, c.State.Dir = books, kept }})
		says = func(words string) string {
			t.Helper()
			n := len(b.turnsEnded())
			b.question(words)
			b.until("at the end of the turn", func() bool { return len(b.turnsEnded()) > n })
			return b.turnsEnded()[n].Said
		}
		reads = func(what string, want float64) (at float64) {
			t.Helper()
			b.until("reading "+what, func() bool {
				before, ok := b.read()
				if !ok || b.coordinator.State() != turn.Idle {
					return false
				}
				b.pause(400 * time.Millisecond)
				at, ok = b.read()
				return ok && math.Abs(at-before-0.4) < 0.15 // and no tone of somebody who speaks
			})
			if at < want-0.6 || at > want+2 {
				t.Errorf("%s it is at %.1f s; want %.1f", what, at, want)
			}
			return at
		}
		return b, says, reads
	}
	var stopped float64
	t.Run("first", func(t *testing.T) {
		b, says, reads := with(t)
		says("play Moby Dick")
		at := reads("at its beginning", 0)
		says("what is two plus two")
		at = reads("behind a question", at)
		says("skip forward one minute")
		at = reads("a minute later", at+60)
		says("back ten seconds")
		reads("ten seconds back", at-10)
		says("play the next chapter")
		reads("in the next chapter", 0)
		if said := says("where was I"); !strings.Contains(said, "It is Moby Dick, chapter 2 of 2") {
			t.Errorf("where was I: %q", said)
		}
		says("skip forward fifty seconds")
		stopped = reads("further on", 50)
		says("pause")
		b.quiet()
	})
	t.Run("after a restart", func(t *testing.T) {
		b, says, reads := with(t)
		if said := says("where was I"); !strings.Contains(said, "You were at Moby Dick, chapter 2 of 2, 5") {
			t.Errorf("where was I: %q", said)
		}
		says("play Moby Dick")
		reads("after a restart", stopped-20)
		says("stop")
		b.quiet()
	})
}
