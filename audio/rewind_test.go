package audio_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"conch/audio"
	"conch/audio/twin"
)

const rewindMargin = time.Millisecond

// newRewindRig is a rig whose card holds 40 ms and gives back all but the last millisecond.
func newRewindRig(t testing.TB) *rig {
	clock := twin.NewClock()
	card := twin.NewCard(clock)
	card.Rewinds(rewindMargin)
	full := 100
	s := audio.NewSpeaker(audio.SpeakerConfig{Now: clock.Now, Volume: &full, Cues: &full})
	str, err := card.OpenPlayback(audio.StreamConfig{Periods: 8, Back: s}, s.Render)
	if err != nil {
		t.Fatal(err)
	}
	if !str.Granted().Rewinds() {
		t.Fatal("the card does not rewind")
	}
	card.AfterPeriod = func(time.Duration) { s.Watch() }
	return &rig{t: t, s: s, c: card, now: clock.Now, str: str}
}

// eager is a card that holds no more than the margin: what it plays is what a card that is rewound must play.
type eager struct {
	s    *audio.Speaker
	now  time.Duration
	tape []int16
}

func newEager() *eager {
	e := &eager{}
	full := 100
	e.s = audio.NewSpeaker(audio.SpeakerConfig{Now: func() time.Duration { return e.now }, Volume: &full, Cues: &full})
	e.s.SetQueued(rewindMargin)
	e.tape = make([]int16, audio.CardFrames(rewindMargin))
	return e
}

func (e *eager) tick(now time.Duration) {
	e.now = now
	out := make([]int16, audio.RewindStep)
	for i := range audio.CardRate / 200 / audio.RewindStep {
		e.s.SetQueued(rewindMargin + audio.CardDuration(i*audio.RewindStep))
		e.s.Render(out)
		e.tape = append(e.tape, out...)
	}
	e.s.Watch()
}

// What is known of a source's end stays known, though something changes when the card rests already and no callback comes.
func TestTheEndOfARewoundSourceStaysKnown(t *testing.T) {
	r := newRewindRig(t)
	src := r.s.Open(audio.SourceSpeech, r.s.Generation())
	src.Write(context.Background(), noise(audio.Rate, 1))
	r.c.Advance(200 * time.Millisecond)
	r.s.Drop()
	r.c.Advance(200 * time.Millisecond)
	at, ok := src.Silenced()
	heard := src.Heard()
	if !ok || heard == 0 {
		t.Fatalf("silenced at %v, %v; heard %d", at, ok, heard)
	}
	src.Close() // its writer, who is late
	if again, ok := src.Silenced(); !ok || again != at || src.Heard() != heard {
		t.Errorf("silenced at %v, %v, heard %d; before it was %v, %d", again, ok, src.Heard(), at, heard)
	}
}

// Whatever happens, and whenever, a card that holds 40 ms and is rewound plays what a card plays that holds one: the same
// frames at the same time, and the same is said to have been heard.
func TestRewoundIsWhatAShortBufferPlays(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	if s := os.Getenv("CONCH_SEED"); s != "" {
		seed, _ = strconv.ParseUint(s, 10, 64)
	}
	for walk := range 40 {
		if err := rewindWalk(t, seed+uint64(walk)); err != nil {
			t.Fatalf("CONCH_SEED=%d: %v", seed+uint64(walk), err)
		}
	}
}

func rewindWalk(t *testing.T, seed uint64) error {
	const period = 5 * time.Millisecond
	rng := rand.New(rand.NewPCG(seed, 2))
	r, e := newRewindRig(t), newEager()
	type pair struct{ a, b *audio.Source }
	var live, all []pair
	wrote := map[*audio.Source]int{}
	both := func(f func(s *audio.Speaker)) { f(r.s); f(e.s) }
	free := func() bool { return r.s.Watch() < audio.Slots-2 } // under pressure the dead are not faded
	e.tick(0)
	for range 10 { // until the other is full of silence that it has rendered
		r.c.Advance(period)
		e.tick(r.now())
	}
	for step := range 400 {
		k := rng.IntN(24)
		switch {
		case k < 3 && len(live) < 6 && free():
			kind := audio.SourceKind(rng.IntN(3))
			live = append(live, pair{r.s.Open(kind, r.s.Generation()), e.s.Open(kind, e.s.Generation())})
			all = append(all, live[len(live)-1])
			if rng.IntN(4) == 0 {
				live[len(live)-1].a.Hold()
				live[len(live)-1].b.Hold()
			}
		case k < 9 && len(live) > 0:
			p, pcm := live[rng.IntN(len(live))], noise(rng.IntN(4000), step)
			if wrote[p.a]+len(pcm)-p.a.Heard() > audio.Samples(audio.ContentBuffer)*3/4 {
				continue // it would wait for room, and time stands still
			}
			wrote[p.a] += len(pcm)
			p.a.Write(context.Background(), pcm)
			p.b.Write(context.Background(), pcm)
		case k == 9 && len(live) > 0:
			i := rng.IntN(len(live))
			live[i].a.Close()
			live[i].b.Close()
			live = slices.Delete(live, i, i+1)
		case k == 10:
			both((*audio.Speaker).Hush)
		case k == 11:
			both((*audio.Speaker).Unhush)
		case k == 12 && rng.IntN(3) == 0:
			both(func(s *audio.Speaker) { s.Drop() })
			live = nil
		case k == 13 && free():
			pcm, loop := noise(1+rng.IntN(2000), step), rng.IntN(2) == 0
			both(func(s *audio.Speaker) { s.Play(pcm, loop, s.Generation()) })
		case k == 14:
			both((*audio.Speaker).StopLoop)
		case k == 15 && len(live) > 0:
			p := live[rng.IntN(len(live))]
			p.a.Pause()
			p.b.Pause()
		case k == 16 && len(live) > 0:
			p := live[rng.IntN(len(live))]
			p.a.Resume()
			p.b.Resume()
			p.a.Release()
			p.b.Release()
		case k == 17 && len(live) > 0 && rng.IntN(3) == 0:
			i := rng.IntN(len(live))
			live[i].a.Cut()
			live[i].b.Cut()
			live = slices.Delete(live, i, i+1)
		case k == 18:
			v := rng.IntN(101)
			both(func(s *audio.Speaker) { s.SetVolume(v) })
		default:
			for range 1 + rng.IntN(12) {
				r.c.Advance(period)
				e.tick(r.now())
				for i, p := range all {
					if a, b := p.a.Heard(), p.b.Heard(); a != b {
						return fmt.Errorf("step %d, %v: source %d heard %d; want %d", step, r.now(), i, a, b)
					}
					a, aok := p.a.Silenced()
					b, bok := p.b.Silenced()
					if aok && bok && a.Truncate(time.Microsecond) != b.Truncate(time.Microsecond) {
						return fmt.Errorf("step %d, %v: source %d fell silent at %v; want %v", step, r.now(), i, a, b)
					}
				}
			}
		}
	}
	got := r.c.Between(0, r.now()-period)
	for i, x := range got {
		if d := int(x) - int(e.tape[i]); d < -3 || d > 3 {
			return fmt.Errorf("at %v: %d sounds; want %d", audio.CardDuration(i), x, e.tape[i])
		}
	}
	for _, p := range live {
		p.a.Close()
		p.b.Close()
	}
	for range 100 {
		r.c.Advance(period)
		e.tick(r.now())
	}
	if a, b := r.s.Stats().Underruns, e.s.Stats().Underruns; a != b {
		return fmt.Errorf("%d underruns; want %d", a, b)
	}
	return nil
}

// Watch takes a ring away from who has finished, while the card goes on: whatever the callback still looks at is not it.
func TestWatchTakesNoRingThatIsLookedAt(t *testing.T) {
	r := newRewindRig(t)
	r.c.AfterPeriod = nil
	var ended atomic.Bool
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		for !ended.Load() {
			r.s.Watch()
		}
	}()
	for range 200 {
		src := r.s.Open(audio.SourceSpeech, r.s.Generation())
		src.Write(t.Context(), noise(audio.Rate/100, 1))
		src.Close()
		r.c.Advance(120 * time.Millisecond)
	}
	ended.Store(true)
	<-watched
}
