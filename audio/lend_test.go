package audio_test

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"conch/audio"
	"conch/audio/twin"
)

// borrow lends the microphone of the rig; what comes is in the slice that is returned.
func (r *micRig) borrow() (heard *[]int16, back func()) {
	heard = new([]int16)
	return heard, r.m.Lend(func(pcm []int16) {
		if len(pcm) != audio.Samples(10*time.Millisecond) {
			r.t.Errorf("a frame of %d samples", len(pcm))
		}
		*heard = append(*heard, pcm...)
	})
}

// begins finds where in the air what was heard begins.
func begins(t *testing.T, air, heard []int16, around time.Duration) time.Duration {
	t.Helper()
	best, at := 0.0, -1
	for shift := max(0, audio.Samples(around)-4800); shift < audio.Samples(around)+4800; shift++ {
		sum := 0.0
		for i := 1000; i < 1200; i++ {
			sum += float64(heard[i]) * float64(air[shift+i])
		}
		if sum > best {
			best, at = sum, shift
		}
	}
	return time.Duration(at) * time.Second / audio.Rate
}

// Whoever borrows a microphone hears the air from then on, and not before, without a gap and no later than two periods, until it is given back;
// while an utterance is open, that has it.
func TestALentMicrophone(t *testing.T) {
	r := newMicRig(t, 250*time.Millisecond)
	air := noise(4*24000, 1)
	r.c.Feed(air)
	r.advance(time.Second)
	heard, back := r.borrow()
	from := r.now()
	r.advance(time.Second)
	if n := len(*heard); n < audio.Samples(980*time.Millisecond) {
		t.Fatalf("of a second %v were heard: as much is a call later", time.Duration(n)*time.Second/audio.Rate)
	}
	if at := begins(t, air, *heard, from); at < from-2*time.Millisecond || at > from+11*time.Millisecond {
		t.Errorf("it was lent at %v and heard from %v on", from, at)
	}
	r.m.Open("t-1", r.now())
	r.advance(300 * time.Millisecond)
	n := len(*heard)
	r.m.End("t-1", r.now(), 0)
	r.advance(100 * time.Millisecond)
	if len(r.heard["t-1"]) < audio.Samples(250*time.Millisecond) || n > audio.Samples(1020*time.Millisecond) {
		t.Errorf("in an utterance it heard %d samples of %d and the borrower %d", len(r.heard["t-1"]), audio.Samples(300*time.Millisecond), n)
	}
	r.advance(500 * time.Millisecond)
	if len(*heard) < n+audio.Samples(450*time.Millisecond) {
		t.Errorf("after an utterance nothing comes: %d", len(*heard)-n)
	}
	back()
	n = len(*heard)
	r.advance(500 * time.Millisecond)
	if len(*heard) != n {
		t.Errorf("%d samples came after it was given back", len(*heard)-n)
	}
	r.m.Open("t-2", r.now())
	r.advance(300 * time.Millisecond)
	if n := len(r.heard["t-2"]); n < audio.Samples(400*time.Millisecond) {
		t.Errorf("the next utterance has %d samples, with its pre-roll", n)
	}
}

// What a microphone has kept back while it rested was said before it was lent: nobody at the other end hears that.
func TestALentMicrophoneTellsNothingOfBefore(t *testing.T) {
	for phase := range 10 {
		r := newMicRig(t, 250*time.Millisecond)
		card := &restfulMic{Card: twin.NewCard(twin.NewClock())}
		r.c, r.now = card.Card, card.Clock().Now
		r.m = audio.NewMic(audio.MicConfig{Preroll: 250 * time.Millisecond, Now: r.now})
		if _, err := r.m.OpenOn(card, audio.StreamConfig{}); err != nil {
			t.Fatal(err)
		}
		r.c.AfterPeriod = func(time.Duration) { r.m.Poll() }
		air := noise(6*24000, 1)
		r.c.Feed(air)
		r.advance(3*time.Second + time.Duration(phase)*97*time.Millisecond)
		if !card.resting {
			t.Fatal("it does not rest: this test would prove nothing")
		}
		heard, _ := r.borrow()
		from := r.now()
		r.advance(500 * time.Millisecond)
		if n := len(*heard); n < audio.Samples(470*time.Millisecond) || n > audio.Samples(510*time.Millisecond) {
			t.Errorf("phase %d: in half a second %d samples", phase, n)
		} else if at := begins(t, air, *heard, from); at < from-2*time.Millisecond {
			t.Errorf("phase %d: it was lent at %v and heard from %v on", phase, from, at)
		}
	}
}

// Muted, nothing comes of what was captured, and it goes on by itself afterwards.
func TestALentMicrophoneThatIsMuted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newMicRig(t, 0)
		muted := false
		var take func([]int16)
		r.m = audio.NewMic(audio.MicConfig{Now: r.now, Mute: func(yes bool) error { muted = yes; return nil }})
		take = r.m.Take
		heard, back := r.borrow()
		defer back()
		frame := slices.Repeat([]int16{1000}, 480)
		give := func(n int) {
			for range n {
				r.c.Advance(10 * time.Millisecond)
				if !muted {
					take(frame)
				}
				r.m.Poll()
			}
		}
		give(50)
		before := len(*heard)
		take(frame) // captured, and not yet given away
		if err := r.m.SetMuted(true); err != nil {
			t.Fatal(err)
		}
		give(50)
		if len(*heard) != before || before == 0 {
			t.Errorf("muted, %d samples came; before %d", len(*heard)-before, before)
		}
		if err := r.m.SetMuted(false); err != nil {
			t.Fatal(err)
		}
		give(50)
		if len(*heard) < before+audio.Samples(450*time.Millisecond) {
			t.Errorf("after that, %d samples came", len(*heard)-before)
		}
	})
}
