package audio_test

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"conch/audio"
	"conch/audio/twin"
)

// frames is a piece of sound that can be told from others.
func frames(n int, x int16) []int16 { return slices.Repeat([]int16{x}, n) }

// far is the other end of a line.
type far struct {
	got   []int16
	drops []int // how much had come by then
}

func (f *far) sound(p []int16) { f.got = append(f.got, p...) }
func (f *far) drop()           { f.drops = append(f.drops, len(f.got)) }

// on runs f with a line whose other end listens.
func on(t *testing.T, f func(l *audio.Line, end *far)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		l, end := audio.NewLine(), &far{}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { defer close(done); l.Run(ctx, end.sound, end.drop) }()
		synctest.Wait()
		f(l, end)
		synctest.Wait()
		cancel()
		<-done
	})
}

func TestALineCarriesWhatSounds(t *testing.T) {
	on(t, func(l *audio.Line, end *far) {
		for i := range 4 { // 20 ms in periods of 5
			l.Play(frames(240, int16(i+1)), 1)
		}
		l.Play(frames(480, 0), 1) // silence is not sent
		synctest.Wait()
		want := slices.Concat(frames(240, 1), frames(240, 2), frames(240, 3), frames(240, 4))
		if !slices.Equal(end.got, want) {
			t.Errorf("%d frames came, want %d", len(end.got), len(want))
		}
		if len(end.drops) != 0 {
			t.Errorf("dropped %v", end.drops)
		}
	})
}

// What was rendered before the speaker was silenced does not leave any more, and the other end is told of what left.
func TestALineIsCut(t *testing.T) {
	on(t, func(l *audio.Line, end *far) {
		l.Play(frames(480, 7), 1)
		synctest.Wait()
		l.Play(frames(240, 8), 1)  // waits for the rest of 10 ms
		l.Play(frames(240, 9), 2)  // silenced: the fade
		l.Play(frames(480, 10), 2) // of what was opened since
		synctest.Wait()
		if want := slices.Concat(frames(480, 7), frames(480, 10)); !slices.Equal(end.got, want) {
			t.Errorf("came: %v", slices.Compact(end.got))
		}
		if !slices.Equal(end.drops, []int{480}) {
			t.Errorf("dropped after %v", end.drops)
		}
	})
}

// Nobody fetches: what is played costs no more than the buffer, and is not heard later.
func TestALineThatNobodyReads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, end := audio.NewLine(), &far{}
		for range 1000 {
			l.Play(frames(480, 5), 1)
		}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { defer close(done); l.Run(ctx, end.sound, end.drop) }()
		synctest.Wait()
		if len(end.got) != 0 {
			t.Errorf("%d old frames came", len(end.got))
		}
		cancel()
		<-done
	})
}

// A microphone far away is heard with a reserve, and a network that holds it back for long does not make it late for ever.
func TestALineHears(t *testing.T) {
	l, in := audio.NewLine(), make([]int16, 480)
	mix := func() int16 { clear(in); l.Mix(in); return in[0] }
	for i := range 4 {
		l.Hear(frames(480, int16(1+i)))
	}
	if got := mix(); got != 0 {
		t.Errorf("%d without a reserve", got)
	}
	l.Hear(frames(480, 5))
	for want := range int16(5) {
		if got := mix(); got != want+1 {
			t.Errorf("got %d, want %d", got, want+1)
		}
	}
	if got := mix(); got != 0 {
		t.Errorf("%d out of nothing", got)
	}
	for i := range 40 { // 400 ms at once
		l.Hear(frames(480, int16(10+i)))
	}
	if a, b := mix(), mix(); a != 45 || b != 46 {
		t.Errorf("got %d, %d; want the last 50 ms", a, b)
	}
}

// Elsewhere leads the whole sound of a card to a line and back: the card is silent meanwhile, and a press silences both at once.
func TestSoundIsElsewhere(t *testing.T) {
	clock := &twin.Clock{}
	card := twin.NewCard(clock)
	card.Rewinds(2 * time.Millisecond)
	speaker := audio.NewSpeaker(audio.SpeakerConfig{Now: clock.Now, Prime: time.Millisecond})
	e := &audio.Elsewhere{Card: card, Silenced: speaker.Silenced, Now: clock.Now}
	stream, err := speaker.OpenOn(e, audio.StreamConfig{Period: 5 * time.Millisecond, Periods: 8})
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Close()
	var taken []int16
	mic, err := e.OpenCapture(audio.StreamConfig{Period: 10 * time.Millisecond}, func(in []int16) { taken = append(taken, in...) })
	if err != nil {
		t.Fatal(err)
	}
	defer mic.Close()
	play := func() {
		src := speaker.Open(audio.SourceSpeech, speaker.Generation())
		if src.Write(t.Context(), frames(audio.Samples(time.Second), 9000)) == 0 {
			t.Fatal("nothing was written")
		}
		card.Advance(100 * time.Millisecond)
	}
	play()
	if audio.Peak(card.Between(clock.Now()-40*time.Millisecond, clock.Now())) == 0 {
		t.Fatal("the card is silent from the beginning")
	}
	line := audio.NewLine()
	before := clock.Now()
	e.Lead(line) // a page takes it, and presses
	speaker.Drop()
	card.Advance(200 * time.Millisecond)
	if last := card.LastAudible(before); last-before > 15*time.Millisecond {
		t.Errorf("the card sounds for %s after the press", last-before)
	}
	if e.Since() != before {
		t.Errorf("elsewhere since %s", e.Since())
	}
	taken = nil
	card.Feed(frames(audio.Samples(50*time.Millisecond), 4000)) // the room of the box, which is nobody's
	line.Hear(frames(2400, 1234))
	before = clock.Now()
	play()
	if audio.Peak(card.Between(before, clock.Now())) != 0 {
		t.Error("the card sounds, and the sound is elsewhere")
	}
	if p := audio.Peak(taken); p != 1234 {
		t.Errorf("the microphone gives %d", p)
	}
	e.Lead(nil)
	play()
	if audio.Peak(card.Between(clock.Now()-40*time.Millisecond, clock.Now())) == 0 {
		t.Error("the sound does not come back")
	}
}

// The audio thread allocates nothing for a line.
func TestALineAllocatesNothing(t *testing.T) {
	l, p := audio.NewLine(), frames(240, 3)
	l.Hear(p)
	n := uint64(0)
	if got := testing.AllocsPerRun(100, func() { n++; l.Play(p, 1+n/10); l.Mix(p) }); got != 0 {
		t.Errorf("%v allocations", got)
	}
}
