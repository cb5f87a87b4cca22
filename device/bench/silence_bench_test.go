package bench

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"testing"
	"time"

	"conch/audio"
	"conch/audio/alsacard"
	"conch/audio/pulsetest"
	"conch/device/benchtest"
	"conch/device/config"
	"conch/device/state"
)

// BenchmarkSilence is the promise, measured: from the edge of a virtual button to the last audible sample, on a whole device, in every
// state of TURNS.md 2, on three cards and under three loads. Each card is its own judge (its tape, its log, a recording of its
// monitor), not our account of it.
//
//	make bench                                               everything
//	go test -run '^$' -bench Silence/alsa ./device/bench           one card
//	CONCH_BENCH_PRESSES=100 go test ... -timeout 2h          as many presses per state in every row
//
// The simulated ALSA card gives back what it has not played; "flag" is the way without it, for which nothing is promised: as shipped
// where a card gives nothing back (5 ms x 3), and with the sound library's default buffer (10 ms x 3). What others reach on that card is
// BenchmarkSilenceOthers. A press that is late is excused where bare C timers were kept from running as long at that moment.
func BenchmarkSilence(b *testing.B) {
	runtime.GOMAXPROCS(max(8, 2*runtime.NumCPU())) // as conch run does // as run does
	shipped, library, small, stiff := period{5, 8}, period{10, 3}, period{2.5, 4}, period{5, 3}
	within := func(share, bound float64) benchtest.Promise {
		return benchtest.Promise{What: "press to silence", Bound: bound, Share: share, Wakes: 3} // the button's, the card's, the judge's
	}
	for _, c := range []struct {
		card     string
		open     func(testing.TB, *Silence, *cut)
		period   period
		load     string
		presses  int // per state
		promises []benchtest.Promise
		label    string // in the picture
		group    string
	}{
		{"alsa", openALSA, shipped, "idle", 63, []benchtest.Promise{within(.01, 9), within(0, 10)}, "5 ms x 8 (40 ms), as shipped", benchtest.Ours},
		{"alsa", openALSA, small, "idle", 63, []benchtest.Promise{within(.01, 6.5)}, "2.5 ms x 4 (10 ms)", benchtest.Ours},
		{"alsa", openALSA, library, "idle", 63, []benchtest.Promise{within(.01, 14)}, "10 ms x 3 (30 ms)", benchtest.Ours},
		{"alsa", openALSA, shipped, "outside", 25, []benchtest.Promise{within(.05, 10)}, "as shipped, both cores busy outside", benchtest.Ours},
		{"alsa", openALSA, shipped, "inside", 25, []benchtest.Promise{within(.05, 10)}, "as shipped, a goroutine busy inside", benchtest.Ours},
		{"alsa", openALSA, shipped, "collections", 25, []benchtest.Promise{within(.05, 10)}, "as shipped, collections forced", benchtest.Ours},
		{"flag", openFlag, stiff, "idle", 25, nil, "5 ms x 3, nothing taken back", benchtest.Others},
		{"flag", openFlag, library, "idle", 25, nil, "10 ms x 3, the sound library's default", benchtest.Others},
		{"virtual", openVirtual, shipped, "idle", 6, []benchtest.Promise{within(.01, 8.5+benchtest.Slack)}, "", ""},
		{"virtual", openVirtual, small, "idle", 6, []benchtest.Promise{within(.01, 6+benchtest.Slack)}, "", ""},
		{"virtual", openVirtual, shipped, "outside", 6, []benchtest.Promise{within(.01, 8.5+benchtest.Slack)}, "", ""},
		{"virtual", openVirtual, shipped, "inside", 6, []benchtest.Promise{within(.01, 8.5+benchtest.Slack)}, "", ""},
		{"pulse", openPulse, stiff, "idle", 6, []benchtest.Promise{within(.01, state.SilenceBudgetMS)}, "", ""},
		{"pulse", openPulse, stiff, "outside", 6, []benchtest.Promise{within(.01, state.SilenceBudgetMS)}, "", ""},
		{"pulse", openPulse, stiff, "inside", 6, []benchtest.Promise{within(.01, state.SilenceBudgetMS)}, "", ""},
	} {
		b.Run(fmt.Sprintf("%s/%s/%s", c.card, c.period, c.load), func(b *testing.B) {
			for range b.N {
				cfg := config.Default()
				cfg.Audio.Period, cfg.Audio.Periods = c.period.duration(), c.period.count
				cfg.Turn.Thinking = 50 * time.Millisecond // two states wait for its cue, at every press
				bench := Silence{Config: cfg, Presses: benchtest.Presses(c.presses)}
				var cut cut
				c.open(b, &bench, &cut)
				var figures benchtest.Figures
				listen := bench.LastAudible
				bench.LastAudible = func(edge time.Duration) (time.Duration, bool) {
					ago := bench.Now() - edge
					last, ok := listen(edge)
					if ok {
						figures = append(figures, benchtest.Sample{At: benchtest.Now() - ago, MS: milliseconds(last - edge)})
					}
					return last, ok
				}
				watch := benchtest.Start(b)
				report := underLoad(b, c.load, bench)
				stalls := watch.Stop()
				fmt.Printf("\nload %s; method: %s\n", c.load, report.Method) // b.Log shows ten lines of it
				report.Print(os.Stdout)
				took := figures.Sorted()
				benchtest.Judge(b, figures, stalls, c.promises...)
				if c.card == "alsa" && c.period == shipped && c.load == "idle" {
					ships = took
				}
				if c.promises == nil {
					compared(b, "press to silence, p99", took, cut.String()+"; what was heard: to the sample")
				} else if cut.n > 0 {
					fmt.Printf("  %d cuts: %s\n", cut.n, &cut)
				}
				drawn(b, benchtest.Strip{Label: c.label, Group: c.group, Costs: cut.String(), MS: took})
			}
		})
	}
}

type period struct {
	ms    float64
	count int
}

func (p period) String() string { return fmt.Sprintf("%gx%d", p.ms, p.count) }

func (p period) duration() time.Duration { return time.Duration(p.ms * float64(time.Millisecond)) }

// underLoad measures while something else wants the processors: stress-ng on both from outside, a goroutine that never rests in this
// very process, or one that forces collections without end.
func underLoad(b *testing.B, load string, bench Silence) state.Silence {
	b.Helper()
	switch load {
	case "outside":
		hog := exec.Command("stress-ng", "--cpu", strconv.Itoa(runtime.NumCPU()), "--timeout", "600s")
		if err := hog.Start(); err != nil {
			b.Fatalf("stress-ng: %v (make deps-test installs it)", err)
		}
		defer func() { // its children end with it
			_ = hog.Process.Signal(os.Interrupt)
			_ = hog.Wait()
		}()
	case "inside", "collections":
		stop, done := make(chan struct{}), make(chan struct{})
		go func() {
			defer close(done)
			for n := 0; ; n++ {
				if load == "collections" {
					runtime.GC()
				} else if n&0xffff != 0 {
					continue
				}
				select {
				case <-stop:
					return
				default:
				}
			}
		}()
		defer func() { close(stop); <-done }()
	}
	report, err := bench.Run(context.Background())
	if err != nil {
		b.Fatal(err)
	}
	return report
}

func openVirtual(tb testing.TB, s *Silence, _ *cut) {
	s.brief = true
	stop := s.onVirtualCard(context.Background())
	tb.Cleanup(func() {
		if err := stop(); err != nil {
			tb.Error(err)
		}
	})
}

// threshold is above the noise of conversion and below any tone of the bench.
const threshold = 32

func openALSA(tb testing.TB, s *Silence, cuts *cut) {
	sim := alsacard.Start(tb, alsacard.Options{})
	card, err := audio.NewCard("alsa", nil)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(card.Close)
	start := time.Now()
	s.Card, s.Name, s.Now, s.brief = card, "simulated ALSA card", func() time.Duration { return time.Since(start) }, true
	s.Config.Audio.Playback, s.Config.Audio.Capture = sim.Device(), sim.Device()
	log := sim.Log()
	s.LastAudible = func(edge time.Duration) (time.Duration, bool) {
		at, ok := log.LastAudible(start.Add(edge), time.Time{}, threshold)
		if ok {
			cuts.add(log, start.Add(edge), at)
		}
		return at.Sub(start), ok
	}
}

// openFlag is the simulated ALSA card as if it gave nothing back.
func openFlag(tb testing.TB, s *Silence, cuts *cut) {
	openALSA(tb, s, cuts)
	s.Card = flagCard{s.Card}
}

type flagCard struct{ audio.Card }

func (c flagCard) OpenPlayback(conf audio.StreamConfig, render func([]int16)) (audio.Stream, error) {
	conf.Back = nil
	stream, err := c.Card.OpenPlayback(conf, render)
	return unflushed{stream}, err
}

// unflushed is a stream that goes on, however long what it holds may be.
type unflushed struct{ audio.Stream }

func (unflushed) Flush(func()) {}

func openPulse(tb testing.TB, s *Silence, _ *cut) {
	server := pulsetest.Start(tb)
	card, err := audio.NewCard("pulse", nil)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(card.Close)
	tape, err := server.Record()
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { tape.Stop() })
	start := time.Now()
	s.Card, s.Name, s.Now = card, "private PulseAudio, null sink", func() time.Duration { return time.Since(start) }
	s.Config.Audio.Playback, s.Config.Audio.Capture = pulsetest.Speaker, pulsetest.Mic
	s.LastAudible = func(edge time.Duration) (time.Duration, bool) {
		at, ok := tape.LastAudible(start.Add(edge), time.Time{}, threshold)
		return at.Sub(start), ok
	}
}
