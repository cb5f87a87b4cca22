package device

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"conch/audio"
	"conch/coordinator/turn"
	"conch/device/buttons"
	"conch/device/condition"
	"conch/device/config"
	"conch/device/state"
)

// holds says whether a condition holds now.
func (b *box) holds(code condition.Code) bool { return b.conds.Holds(code) }

// The sound card goes away in the middle of an answer and comes back: the answer goes on where it was.
func TestSoundGoneAndBackInTheMiddleOfAnAnswer(t *testing.T) {
	t.Parallel()
	b := newBox(t, boxOptions{})
	r := b.nextTurn(func() {
		b.question("long")
		b.until("speaking", b.Speaking)
		b.pause(500 * time.Millisecond)
		b.card.Unplug()
		b.until("missing its sound", func() bool { return b.holds("sound.speaker") && b.holds("sound.microphone") })
		b.card.Replug()
		b.until("sounding again", func() bool { return len(b.conds.List()) == 0 })
	})
	b.answered(r)
	if r.HeardMS != 6000 {
		t.Errorf("heard %.0f ms of an answer of 6000", r.HeardMS)
	}
	b.fine()
}

// It goes away and stays away: the turn ends by its deadline, and when sound is back nothing old is heard.
func TestSoundGoneForLonger(t *testing.T) {
	t.Parallel()
	b := newBox(t, boxOptions{config: func(c *config.Config) { c.Turn.Response = time.Second }})
	b.question("old")
	b.until("speaking", b.Speaking)
	b.card.Unplug()
	b.until("missing its sound", func() bool { return b.holds("sound.speaker") })
	b.until("at the end of the turn", func() bool { return len(b.turnsEnded()) == 1 })
	b.quiet() // the words are given up as well
	back := b.now()
	b.card.Replug()
	b.until("sounding again", func() bool { return len(b.conds.List()) == 0 })
	b.pause(time.Second)
	const fades = 10 * time.Millisecond // what was sounding when the card went fades when it is back: the answer and the words
	loud := 0
	for _, x := range b.card.Between(back, b.now()) {
		if x != 0 {
			loud++
		}
	}
	if d := audio.CardDuration(loud); d > fades {
		t.Errorf("%v of something old was heard after sound was back; want at most the %v of fades", d, fades)
	}
	if r := b.turnsEnded()[0]; r.Reason != turn.Expired.String() || r.Words == "" {
		t.Errorf("the turn ended %s in words %q; want expired, in words", r.Reason, r.Words)
	}
	b.fine()
}

// It goes away while a person speaks: the recording ends, and why is said as soon as there is a loudspeaker again.
func TestSoundGoneAndBackWhileListening(t *testing.T) {
	t.Parallel()
	b := newBox(t, boxOptions{})
	r := b.nextTurn(func() {
		b.hand.Press()
		b.state(turn.Listening)
		b.card.Feed(whistle(300, 24000))
		b.pause(300 * time.Millisecond)
		b.card.Unplug()
		b.until("missing its sound", func() bool { return b.holds("sound.microphone") })
		b.until("at the end of the turn", func() bool { return len(b.turnsEnded()) == 1 })
		b.card.Replug()
	})
	b.failed(r, turn.Failed, turn.WordsNoMicrophone)
	b.card.Hush()
	b.hand.Release()
	b.until("released", func() bool { return b.seen.releases.Load() == 1 })
	b.quiet()
	if n := len(b.turnsEnded()); n != 1 {
		t.Errorf("%d turns after a stray release; want one", n)
	}
	b.fine()
}

// A speech as long as the configuration allows arrives whole: the voice keeps as much as the turn allows, and the control socket's
// button is not taken for a stuck one before.
func TestTheLongestSpeechIsKept(t *testing.T) {
	t.Parallel()
	const long = 290 * time.Second // the rehearsal server takes five minutes
	b := newBox(t, boxOptions{config: func(c *config.Config) { c.Turn.Listen = long }})
	r := b.nextTurn(func() {
		b.hand.Press()
		b.state(turn.Listening)
		b.room.Voices.Append(b.log.begun()[0], make([]int16, audio.Samples(long)))
		b.card.Feed(whistle(300, audio.Samples(300*time.Millisecond)))
		b.until("heard out", func() bool { return b.card.Fed() == 0 })
		b.hand.Release()
	})
	b.answered(r)
	if l := b.recognizer.lengths(); len(l) != 1 || l[0] < long {
		t.Errorf("the server heard %v; want all of %v", l, long)
	}
	if got := buttons.StuckAfter(&b.cfg); got <= long {
		t.Errorf("a press is taken for a stuck button after %v, within the longest speech of %v", got, long)
	}
}

// The disk is full: that is a condition, not an end. The conversation goes on, and with space the condition goes too.
func TestDiskFull(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=64k"); err != nil {
		t.Skipf("missing: the right to mount a small disk (root): %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, 0); err != nil {
			t.Errorf("unmount: %v", err)
		}
	})
	b := newBox(t, boxOptions{config: func(c *config.Config) { c.State.Dir = dir }})
	b.answered(b.ask("short"))
	b.until("remembering", func() bool { _, err := os.Stat(filepath.Join(dir, "usage.json")); return err == nil })
	filler, err := os.Create(filepath.Join(dir, "filler"))
	if err != nil {
		t.Fatal(err)
	}
	if n, err := io.Copy(filler, endless{}); !errors.Is(err, syscall.ENOSPC) {
		t.Fatalf("wrote %d bytes: %v", n, err)
	}
	_ = filler.Close() // nothing of it matters
	b.memory.KeepVolume(33)
	b.answered(b.ask("short"))
	b.until("complaining", func() bool { return b.holds("state.unwritable") })
	b.fine()
	if err := os.Remove(filler.Name()); err != nil {
		t.Fatal(err)
	}
	b.until("content", func() bool { return !b.holds("state.unwritable") }) // by itself: nobody has to ask or turn a knob
	var kept struct{ Percent int }
	if err := state.Look(dir, "volume", &kept); err != nil || kept.Percent != 33 {
		t.Errorf("the volume that could not be kept is %d now, %v; want 33", kept.Percent, err)
	}
	b.fine()
}

type endless struct{}

func (endless) Read(p []byte) (int, error) { return len(p), nil }

// A button that is held beyond the limit (60 s as shipped): the recording commits by itself with a cue and is answered
// while the button is still down; the release at last does nothing. Two minutes in virtual time, with the shipped limits,
// are coordinator/turn/testdata/held_for_two_minutes.txt.
func TestPressHeldBeyondTheLimit(t *testing.T) {
	t.Parallel()
	b := newBox(t, boxOptions{config: func(c *config.Config) { c.Turn.Listen = time.Second }})
	r := b.nextTurn(func() {
		b.card.Feed(whistle(300, 5*24000))
		b.hand.Press()
	})
	b.answered(r)
	b.card.Hush()
	if l := b.recognizer.lengths(); len(l) != 1 || l[0] < time.Second || l[0] > 1900*time.Millisecond {
		t.Errorf("the server heard %v; want one utterance of the limit of 1s and its pre-roll", l)
	}
	if loud := pitch(b.card.Between(0, b.now()), 880); loud < 50 {
		t.Errorf("the cue that it was taken is not on the tape (%.0f)", loud)
	}
	b.hand.Release()
	b.until("released", func() bool { return b.seen.releases.Load() == 1 })
	b.quiet()
	if n := len(b.turnsEnded()); n != 1 {
		t.Errorf("%d turns; want one", n)
	}
	b.fine()
}
