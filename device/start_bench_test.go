package device

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"conch/audio"
	"conch/audio/alsacard"
	"conch/device/benchtest"
	"conch/device/config"
)

// BenchmarkStart is how long it takes from a source's first sample, or a change of a volume, to the first frame on the card that
// it changes: 40 ms of buffer must not make late what begins. The card's log is the judge, and a card that gives nothing back, which
// is opened with 15 ms, is measured in the same run.
//
//	go test -run '^$' -bench Start ./device            200 of each kind
//	CONCH_BENCH_PRESSES=500 go test ...                or as many
func BenchmarkStart(b *testing.B) {
	spareProcessors()
	const late = 4 // ms more than a period: 1 of margin, half a one of rounding, and what a thread needs
	for range b.N {
		p50 := map[string][2]float64{}
		for i, stiff := range []bool{false, true} {
			r, n := openStart(b, stiff), benchtest.Presses(200)
			if stiff { // for its middle only
				n /= 4
			}
			for _, kind := range startKinds {
				watch := benchtest.Start(b)
				figures := r.measure(b, kind, n)
				stalls, sorted := watch.Stop(), figures.Sorted()
				at := p50[kind.name]
				at[i] = benchtest.Quantile(sorted, .5)
				p50[kind.name] = at
				fmt.Printf("  %-16s %d x %d: p50 %.1f p95 %.1f p99 %.1f max %.1f ms, n = %d\n", kind.name, r.granted.Period, r.granted.Periods,
					at[i], benchtest.Quantile(sorted, .95), benchtest.Quantile(sorted, .99), sorted[len(sorted)-1], len(sorted))
				if !stiff {
					bound := ms(audio.CardDuration(r.granted.Period)) + late
					benchtest.Judge(b, figures, stalls, benchtest.Promise{What: "start: " + kind.name + " to the card, 5 ms x 8", Bound: bound, Share: 0.01,
						Wakes: 2}) // ours, which has the log told of it, and the card's
				}
			}
			r.close()
		}
		for _, kind := range startKinds {
			benchtest.Times(b, "start: "+kind.name+", p50 against 5 ms x 3 that stay", p50[kind.name][0], p50[kind.name][1], 1)
		}
		b.ReportMetric(0, "ns/op")
	}
}

// startRig is a speaker on a simulated card, and the log that says what it played.
type startRig struct {
	s       *audio.Speaker
	log     *alsacard.Log
	granted audio.Granted
	close   func()

	speech *audio.Source
}

func openStart(b *testing.B, stiff bool) *startRig {
	o := alsacard.Options{}
	if stiff {
		o.Rewind = alsacard.RewindNone
	}
	sim := alsacard.Start(b, o)
	card, err := audio.NewCard("alsa", nil)
	if err != nil {
		b.Fatal(err)
	}
	full := 100
	s := audio.NewSpeaker(audio.SpeakerConfig{Fade: config.Default().Audio.Fade, Volume: &full, Cues: &full})
	stream, err := s.OpenOn(card, audio.StreamConfig{Device: sim.Device()})
	if err != nil {
		b.Fatal(err)
	}
	if g := stream.Granted(); g.Rewinds() == stiff {
		b.Fatalf("granted %+v", g)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }() // ended by close
	return &startRig{s: s, log: sim.Log(), granted: stream.Granted(), close: func() {
		if err := stream.Close(); err != nil {
			b.Error(err)
		}
		cancel()
		if err := <-done; err != nil {
			b.Error(err)
		}
		card.Close()
	}}
}

// startLevel stays while content sounds: a frame that differs from it was changed.
const startLevel = 4000

func level(x int16, d time.Duration) []int16 {
	pcm := make([]int16, audio.Samples(d))
	for i := range pcm {
		pcm[i] = x
	}
	return pcm
}

// speak begins to say something, more than it waits for. Nobody is heard saying 0, but it ducks.
func (r *startRig) speak(x int16) {
	r.speech = r.s.Open(audio.SourceSpeech, r.s.Generation())
	r.speech.Write(context.Background(), level(x, 300*time.Millisecond))
}

// startKind is something that begins.
type startKind struct {
	name    string
	content bool               // over content
	begin   func(r *startRig)  //
	changed func(x int16) bool // a frame of the card is
	end     func(r *startRig)
}

var startKinds = []startKind{
	{"speech after silence", false, func(r *startRig) { r.speak(12000) }, func(x int16) bool { return x != 0 }, func(r *startRig) { r.speech.Cut() }},
	{"a cue over content", true, func(r *startRig) { r.s.Play(level(12000, 20*time.Millisecond), false, r.s.Generation()) },
		func(x int16) bool { return x > startLevel+10 }, func(*startRig) {}},
	{"a duck", true, func(r *startRig) { r.speak(0) }, func(x int16) bool { return x < startLevel-10 }, func(r *startRig) { r.speech.Cut() }},
	{"a volume", true, func(r *startRig) { r.s.SetVolume(80) }, func(x int16) bool { return x < startLevel-10 }, func(r *startRig) { r.s.SetVolume(100) }},
}

// measure begins something n times, where everything has been the same for a while.
func (r *startRig) measure(b *testing.B, kind startKind, n int) (figures benchtest.Figures) {
	want := int16(0)
	if kind.content {
		want = startLevel
		ctx, cancel := context.WithCancel(context.Background())
		content, done := r.s.Open(audio.SourceContent, r.s.Generation()), make(chan struct{})
		go func() {
			defer close(done)
			for second := level(startLevel, time.Second); content.Write(ctx, second) == len(second); {
			}
		}()
		defer func() { cancel(); content.Cut(); <-done }()
	}
	for range n {
		r.until(b, "everything has settled", func() bool {
			now := time.Now()
			_, other := r.log.First(now.Add(-20*time.Millisecond), func(x int16) bool { return x != want })
			return !other && now.Sub(r.log.End()) < 10*time.Millisecond
		})
		<-time.After(time.Duration(rand.IntN(5000)) * time.Microsecond) // any phase of the period
		at := benchtest.Now()
		began := time.Now()
		kind.begin(r)
		r.until(b, kind.name, func() bool {
			first, ok := r.log.First(began, kind.changed)
			if ok {
				figures = append(figures, benchtest.Sample{At: at, MS: ms(first.Sub(began))})
			}
			return ok
		})
		kind.end(r)
	}
	return figures
}

func (r *startRig) until(b *testing.B, what string, ok func() bool) {
	b.Helper()
	for limit := time.Now().Add(10 * time.Second); !ok(); <-time.After(5 * time.Millisecond) {
		if time.Now().After(limit) {
			b.Fatalf("%s: not within 10 s", what)
		}
	}
}
