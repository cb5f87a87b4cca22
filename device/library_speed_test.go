package device

import (
	"encoding/json"
	"math"
	"path/filepath"
	"testing"
	"time"

	"conch/audio"
	"conch/companions/voice/rehearsal"
	"conch/coordinator/turn"
	"conch/device/config"
)

// In the middle of a book somebody says "at one and a half times": it goes on at the same place, at the same pitch and half as fast again,
// which the card tells, since the book is a sweep; and the bookmark afterwards is what was heard of the book.
func TestABookIsReadFaster(t *testing.T) {
	t.Parallel()
	books, kept := t.TempDir(), t.TempDir()
	sweep(t, filepath.Join(books, "Moby Dick", "1.mp3"), 120)
	b := newBox(t, boxOptions{mind: rehearsal.Rules{}, config: func(c *config.Config) { c.Library.Folder, c.State.Dir = books, kept }})
	says := func(words string) {
		t.Helper()
		n := len(b.turnsEnded())
		b.question(words)
		b.until("at the end of the turn", func() bool { return len(b.turnsEnded()) > n })
	}
	reads := func(what string, speed float64) (at float64) {
		t.Helper()
		b.until("reading "+what, func() bool {
			before, ok := b.read()
			if !ok || b.coordinator.State() != turn.Idle {
				return false
			}
			b.pause(time.Second)
			at, ok = b.read()
			return ok && math.Abs(at-before-speed) < 0.2
		})
		return at
	}
	bookmark := func() float64 {
		t.Helper()
		v, err := b.kept.Skill("library").Get("", "last")
		var p struct{ At int }
		if err == nil {
			err = json.Unmarshal(v, &p)
		}
		if err != nil {
			t.Fatal(err)
		}
		return float64(p.At) / audio.Rate
	}
	const late = 0.12 // of what was read: the middle of its window
	stopped := func(at, speed float64) {
		t.Helper()
		says("pause")
		b.quiet()
		if want, got := at+late*speed, bookmark(); math.Abs(got-want) > 0.5 {
			t.Errorf("the bookmark is at %.2f s of the book; at %.2f it was stopped", got, want)
		}
	}
	says("play Moby Dick")
	reads("at its own speed", 1)
	b.pause(3 * time.Second)
	was, then := reads("before it is faster", 1), b.now()
	says("at one and a half times")
	at := reads("faster", 1.5)
	if at < was || at > was+1.5*(b.now()-then).Seconds()+0.5 {
		t.Errorf("at %.1f s somebody asks for it to be faster; it goes on at %.1f", was, at)
	}
	b.pause(10 * time.Second)
	stopped(reads("ten seconds later", 1.5), 1.5)
	says("normal speed")
	says("go on")
	reads("at its own speed again", 1)
	stopped(reads("and still", 1), 1)
}
