package audio_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"conch/audio"
	"conch/audio/twin"
)

func TestRenderAndTakeAllocateNothing(t *testing.T) {
	s := audio.NewSpeaker(audio.SpeakerConfig{})
	out := make([]int16, 240)
	var src [4]*audio.Source
	open := func() {
		gen := s.Generation()
		for i := range src {
			src[i] = s.Open(audio.SourceKind(i%3), gen)
			src[i].Write(context.Background(), noise(24000, i))
		}
		s.Play(noise(1000, 9), true, gen)
	}
	open()
	if n := testing.AllocsPerRun(100, func() { s.Render(out) }); n != 0 {
		t.Errorf("playing: %v allocations a callback; want 0", n)
	}
	if n := testing.AllocsPerRun(10, func() { s.Hush(); s.Render(out); s.Unhush(); s.Render(out) }); n != 0 {
		t.Errorf("hushing: %v allocations; want 0", n)
	}
	if n := testing.AllocsPerRun(10, func() { s.Drop(); s.Render(out); s.Render(out[:31]) }); n != 0 {
		t.Errorf("dropping: %v allocations; want 0", n)
	}
	m := audio.NewMic(audio.MicConfig{})
	if n := testing.AllocsPerRun(1000, func() { m.Take(out) }); n != 0 {
		t.Errorf("capturing: %v allocations a callback; want 0", n)
	}
}

// A card may ask for any number of frames, odd ones too.
func TestAnyCallbackSizeSoundsTheSame(t *testing.T) {
	play := func(size func(i int) int) (all []int16) {
		s := audio.NewSpeaker(audio.SpeakerConfig{})
		src := s.Open(audio.SourceSpeech, s.Generation())
		src.Write(context.Background(), noise(4800, 1))
		src.Close()
		for i := 0; len(all) < 12000; i++ {
			out := make([]int16, size(i))
			s.Render(out)
			all = append(all, out...)
		}
		return all[:12000]
	}
	want := play(func(int) int { return 240 })
	rng := rand.New(rand.NewPCG(1, 2))
	for name, size := range map[string]func(int) int{
		"1": func(int) int { return 1 }, "31": func(int) int { return 31 }, "1024": func(int) int { return 1024 },
		"any": func(int) int { return rng.IntN(700) },
	} {
		for i, x := range play(size) {
			if x != want[i] {
				t.Errorf("callbacks of %s frames: frame %d is %d; with 240 it is %d", name, i, x, want[i])
				break
			}
		}
	}
}

// Run, in the time of a bubble: a writer that is ahead waits, and is let go by space, by a Drop, by its context.
func TestWriteWaitsForRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		clock := twin.WallClock()
		card := twin.NewCard(clock)
		s := audio.NewSpeaker(audio.SpeakerConfig{Now: clock.Now})
		str, err := card.OpenPlayback(audio.StreamConfig{}, s.Render)
		if err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(t.Context())
		for _, run := range []func(){func() { _ = s.Run(ctx) }, func() { _ = card.Run(ctx, 1) }} {
			go run()
		}
		src := s.Open(audio.SourceContent, s.Generation())
		began := time.Now()
		if n := src.Write(ctx, noise(5*24000, 1)); n != 5*24000 {
			t.Errorf("Write took %d; want 120000", n)
		}
		if took := time.Since(began); took < 2900*time.Millisecond || took > 3300*time.Millisecond {
			t.Errorf("5 s into a buffer of 2 took %v; want about 3 s", took)
		}
		short, cancel := context.WithTimeout(ctx, 300*time.Millisecond)
		if n := src.Write(short, noise(24000, 1)); n == 0 || n == 24000 {
			t.Errorf("Write until its context ended took %d of 24000", n)
		}
		cancel()
		go func() { time.Sleep(100 * time.Millisecond); s.Drop() }()
		began = time.Now()
		if n := src.Write(ctx, noise(48000, 1)); n == 48000 || time.Since(began) > 110*time.Millisecond {
			t.Errorf("Write took %d of a dropped source's 48000, in %v", n, time.Since(began))
		}

		// Closed and played out while nobody watches the clock by hand.
		words := s.Open(audio.SourceWords, s.Generation())
		began = time.Now()
		words.Write(ctx, noise(2400, 1))
		words.Close()
		<-words.Drained()
		if took := time.Since(began); took < 100*time.Millisecond || took > 140*time.Millisecond {
			t.Errorf("100 ms were drained after %v", took)
		}

		// When Run ends nobody is left waiting.
		last := s.Open(audio.SourceContent, s.Generation())
		stop()
		last.Write(context.Background(), noise(10*24000, 1))
		<-last.Drained()
		synctest.Wait()
		if src := s.Open(audio.SourceSpeech, s.Generation()); src.Write(context.Background(), noise(1, 1)) != 0 {
			t.Error("a source opened after Run ended lives")
		}
		_ = str.Close()
	})
}

// Samples of odd generations are positive, of even ones negative. So on the tape nothing of the other sign may sound
// later than the bound after a Drop, and never more than all live sources together.
func TestRandomWalk(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	if s := os.Getenv("CONCH_SEED"); s != "" {
		seed, _ = strconv.ParseUint(s, 10, 64)
	}
	for walk := range 20 {
		if err := walkOnce(t, seed+uint64(walk)); err != nil {
			t.Fatalf("CONCH_SEED=%d: %v", seed+uint64(walk), err)
		}
	}
}

func walkOnce(t *testing.T, seed uint64) error {
	rng := rand.New(rand.NewPCG(seed, 1))
	r := newRig(t)
	const unit = 1000
	bound := r.str.Granted().Queued() + 5*time.Millisecond + 3*time.Millisecond
	type opened struct {
		src   *audio.Source
		wrote int
		gen   uint64
	}
	var live, all []*opened
	sign := func() int16 {
		if r.s.Generation()%2 == 1 {
			return unit
		}
		return -unit
	}
	flat := func(n int) []int16 {
		pcm := make([]int16, n)
		for i := range pcm {
			pcm[i] = sign()
		}
		return pcm
	}
	var since time.Duration // of the last drop
	checked := time.Duration(0)
	check := func() error { // everything since the last check, of one generation
		from := max(checked, since+bound).Truncate(time.Millisecond) + time.Millisecond // on an even frame
		for i, x := range r.c.Between(from, r.now()) {
			if i%2 == 0 {
				continue // between two samples of the mix the filter may overshoot
			}
			if int(x)*int(sign()) < 0 {
				return fmt.Errorf("at %v: %d sounds in generation %d, %v after the drop",
					from+audio.CardDuration(i), x, r.s.Generation(), from+audio.CardDuration(i)-since)
			}
		}
		checked = r.now()
		for _, o := range all {
			if h := o.src.Heard(); h > o.wrote {
				return fmt.Errorf("heard %d of %d", h, o.wrote)
			}
		}
		return nil
	}
	for range 300 {
		switch k := rng.IntN(20); {
		case k < 4 && len(live) < 12:
			o := &opened{src: r.s.Open(audio.SourceKind(rng.IntN(3)), r.s.Generation()), gen: r.s.Generation()}
			live, all = append(live, o), append(all, o)
		case k < 9 && len(live) > 0:
			o := live[rng.IntN(len(live))]
			ctx, cancel := context.WithCancel(context.Background())
			cancel() // never wait: time stands still
			o.wrote += o.src.Write(ctx, flat(rng.IntN(6000)))
		case k == 9 && len(live) > 0:
			live[rng.IntN(len(live))].src.Close()
		case k == 10:
			r.s.Hush()
		case k == 11:
			r.s.Unhush()
		case k == 12:
			if err := check(); err != nil {
				return err
			}
			r.s.Drop()
			since, live = r.now(), nil
		case k == 13:
			r.s.Play(flat(rng.IntN(3000)), rng.IntN(2) == 0, r.s.Generation())
		case k == 14:
			r.s.StopLoop()
		case k == 15 && len(live) > 0:
			live[rng.IntN(len(live))].src.Pause()
		case k == 16 && len(live) > 0:
			live[rng.IntN(len(live))].src.Resume()
		default:
			r.c.Advance(time.Duration(rng.IntN(int(60 * time.Millisecond))))
		}
	}
	if err := check(); err != nil {
		return err
	}
	r.s.Unhush()
	for _, o := range live {
		o.src.Resume()
		o.src.Close()
	}
	r.s.StopLoop()
	r.c.Advance(90 * time.Second)
	for i, o := range all {
		if !drained(o.src) {
			return fmt.Errorf("source %d of generation %d (now %d) never drained: heard %d of %d", i, o.gen, r.s.Generation(), o.src.Heard(), o.wrote)
		}
	}
	for _, o := range live {
		if h := o.src.Heard(); h != o.wrote {
			return fmt.Errorf("played to the end, heard %d of %d", h, o.wrote)
		}
	}
	return nil
}

func BenchmarkRender(b *testing.B) {
	for _, sources := range []int{0, 1, 4} {
		b.Run(fmt.Sprintf("%d_sources", sources), func(b *testing.B) {
			s := audio.NewSpeaker(audio.SpeakerConfig{})
			out := make([]int16, 240)
			pcm := noise(48000, 1)
			for range sources {
				s.Play(pcm, true, s.Generation())
			}
			b.ReportAllocs()
			for b.Loop() {
				s.Render(out)
			}
		})
	}
}

// From a delta in the hand to its samples in the ring: a write of 20 ms, and the callback of 20 ms that makes room for the next: stopping the clock between the two would take a
// hundred times as long as either.
func BenchmarkWriteAndRender(b *testing.B) {
	s := audio.NewSpeaker(audio.SpeakerConfig{})
	pcm, out := noise(480, 1), make([]int16, 960)
	src := s.Open(audio.SourceSpeech, s.Generation())
	b.ReportAllocs()
	for b.Loop() {
		src.Write(context.Background(), pcm)
		s.Render(out)
	}
}

// Everybody at once, for the race detector: one audio thread, writers, a button, a watcher.
func TestEverybodyAtOnce(t *testing.T) {
	s := audio.NewSpeaker(audio.SpeakerConfig{})
	ctx, stop := context.WithCancel(t.Context())
	var threads, writers sync.WaitGroup
	threads.Go(func() {
		out := make([]int16, 240)
		for ctx.Err() == nil {
			s.Render(out)
			runtime.Gosched()
		}
	})
	threads.Go(func() { _ = s.Run(ctx) })
	for w := range 3 {
		writers.Go(func() {
			for i := range 200 {
				src := s.Open(audio.SourceKind(i%3), s.Generation())
				n := src.Write(ctx, noise(4800, w))
				src.Close()
				if h := src.Heard(); h > n {
					t.Errorf("heard %d of %d", h, n)
				}
				if i%10 == 0 {
					<-src.Drained()
				}
				_, _ = src.Silenced()
			}
		})
	}
	writers.Go(func() {
		for i := range 500 {
			s.Hush()
			s.SetVolume(i % 100)
			if i%2 == 0 {
				s.Unhush()
			}
			s.Play(noise(100, i), i%3 == 0, s.Drop())
			s.StopLoop()
			_ = s.Stats()
			runtime.Gosched()
		}
	})
	writers.Wait()
	stop()
	threads.Wait()
}

// A sound server asks for whatever it likes, odd counts too; the frame left over from an odd one is of this silence, not of
// the last sound. (Heard on PulseAudio as clicks after a press.)
func TestSilenceIsSilentInOddPieces(t *testing.T) {
	s := audio.NewSpeaker(audio.SpeakerConfig{})
	out, size := make([]int16, 600), 0
	piece := func() []int16 {
		size = (size*31 + 17) % 600 // all kinds of counts, the same in every run
		return out[:1+size]
	}
	for press := range 100 {
		src := s.Open(audio.SourceSpeech, s.Generation())
		src.Write(t.Context(), noise(12000, press))
		for range 12 {
			s.Render(piece())
		}
		if audio.Peak(out) == 0 {
			t.Fatal("nothing sounded before the press")
		}
		s.Drop()
		for faded := 0; faded < 480; { // the fade, and the filter's end
			p := piece()
			s.Render(p)
			faded += len(p)
		}
		for i := range 20 {
			p := piece()
			if s.Render(p); audio.Peak(p) != 0 {
				t.Fatalf("press %d: piece %d, of %d frames, has a peak of %d after the drop; want silence", press, i, len(p), audio.Peak(p))
			}
		}
		s.Watch()
	}
}
