package device

import (
	"bytes"
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
)

// BenchmarkSilence is the promise, measured: from the edge of a virtual button to the last audible sample, on a whole
// device, in every state of turns.md 2, on three cards and under three loads. Each card is its own judge (its tape, its
// log, a recording of its monitor), not our account of it.
//
//	make bench                                               everything
//	go test -run '^$' -bench Silence/alsa ./device           one card
//	CONCH_BENCH_PRESSES=100 go test ... -timeout 2h          more presses per state (default 15)
//
// The default buffer of the sound library, 10 ms x 3, runs in the same process for comparison; the ratio is printed. What fails the
// benchmark is more than one press in a hundred beyond the bound of a card that gives back what it holds, or the budget of another,
// while nothing kept bare C timers from running.
func BenchmarkSilence(b *testing.B) {
	spareProcessors()                                                                           // as run does
	shipped, library, small, stiff := period{5, 8}, period{10, 3}, period{2.5, 4}, period{5, 3} // stiff: as shipped, where nothing is given back
	base := map[string]SilenceReport{}
	for _, c := range []struct {
		card   string
		open   func(testing.TB, *SilenceBench)
		period period
		load   string
	}{
		{"virtual", openVirtual, shipped, "idle"},
		{"virtual", openVirtual, small, "idle"},
		{"virtual", openVirtual, shipped, "outside"},
		{"virtual", openVirtual, shipped, "inside"},
		{"alsa", openALSA, shipped, "idle"},
		{"alsa", openALSA, library, "idle"},
		{"alsa", openALSA, small, "idle"},
		{"alsa", openALSA, shipped, "outside"},
		{"alsa", openALSA, shipped, "inside"},
		{"pulse", openPulse, stiff, "idle"},
		{"pulse", openPulse, library, "idle"},
		{"pulse", openPulse, stiff, "outside"},
		{"pulse", openPulse, stiff, "inside"},
	} {
		b.Run(fmt.Sprintf("%s/%s/%s", c.card, c.period, c.load), func(b *testing.B) {
			for range b.N {
				cfg := Default()
				cfg.Audio.Period, cfg.Audio.Periods = c.period.duration(), c.period.count
				bench := SilenceBench{Config: cfg, Presses: presses(15)}
				c.open(b, &bench)
				var figures benchtest.Figures
				listen := bench.LastAudible
				bench.LastAudible = func(edge time.Duration) (time.Duration, bool) {
					ago := bench.Now() - edge
					last, ok := listen(edge)
					if ok {
						figures = append(figures, benchtest.Sample{At: benchtest.Now() - ago, MS: ms(last - edge)})
					}
					return last, ok
				}
				watch := benchtest.Start(b)
				report := underLoad(b, c.load, bench)
				stalls, all := watch.Stop(), pooled(report)
				b.ReportMetric(all.P50, "p50-ms")
				b.ReportMetric(all.P99, "p99-ms")
				b.ReportMetric(all.Max, "max-ms")
				b.ReportMetric(0, "ns/op")
				var text bytes.Buffer
				fmt.Fprintf(&text, "load %s; method: %s\n", c.load, report.Method)
				report.Print(&text)
				over, n := report.Over()
				fmt.Fprintf(&text, "  all states   n %d  p50 %.1f  p99 %.1f  max %.1f ms; %d of %d took %d ms or longer", n, all.P50, all.P99, all.Max, over, n, budgetMS)
				if c.load == "idle" && (c.period == shipped || c.period == stiff) {
					base[c.card] = report
				} else if ref, ok := base[c.card]; ok {
					r := pooled(ref)
					fmt.Fprintf(&text, "\n  against what ships, idle, in this run: p50 x %.2f, p99 x %.2f", all.P50/r.P50, all.P99/r.P99)
				}
				fmt.Printf("\n%s\n", text.String()) // b.Log shows ten lines of it
				if c.period == library {
					continue // it is there to be compared
				}
				bound := float64(budgetMS)
				if report.Granted.Rewinds() { // then the bound is the promise, whatever the card holds
					bound = report.Bound + benchSlack
				}
				benchtest.Judge(b, figures, stalls, benchtest.Promise{What: "press to silence", Bound: bound, Share: 0.01,
					Wakes: 3}) // the button's, the card's, the judge's
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

func presses(usual int) int {
	if n, err := strconv.Atoi(os.Getenv("CONCH_BENCH_PRESSES")); err == nil && n > 0 {
		return n
	}
	return usual
}

// pooled puts all states together: a p99 of one state's few presses would be its maximum.
func pooled(r SilenceReport) SilenceRow {
	var all SilenceRow
	for _, row := range r.Rows {
		all.Raw = append(all.Raw, row.Raw...)
	}
	all.fill()
	return all
}

// underLoad measures while something else wants the processors: stress-ng on both from outside, or a goroutine that never
// rests in this very process.
func underLoad(b *testing.B, load string, bench SilenceBench) SilenceReport {
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
	case "inside":
		stop, done := make(chan struct{}), make(chan struct{})
		go func() {
			defer close(done)
			for n := 0; ; n++ {
				if n&0xffff == 0 {
					select {
					case <-stop:
						return
					default:
					}
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

func openVirtual(tb testing.TB, s *SilenceBench) {
	stop := s.onVirtualCard(context.Background())
	tb.Cleanup(func() {
		if err := stop(); err != nil {
			tb.Error(err)
		}
	})
}

// threshold is above the noise of conversion and below any tone of the bench.
const threshold = 32

func openALSA(tb testing.TB, s *SilenceBench) {
	sim := alsacard.Start(tb, alsacard.Options{})
	card, err := audio.NewCard("alsa", nil)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(card.Close)
	start := time.Now()
	s.Card, s.Name, s.Now = card, "simulated ALSA card", since(start)
	s.Config.Audio.Playback, s.Config.Audio.Capture = sim.Device(), sim.Device()
	log := sim.Log()
	s.LastAudible = func(edge time.Duration) (time.Duration, bool) {
		at, ok := log.LastAudible(start.Add(edge), time.Time{}, threshold)
		return at.Sub(start), ok
	}
}

func openPulse(tb testing.TB, s *SilenceBench) {
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
	s.Card, s.Name, s.Now = card, "private PulseAudio, null sink", since(start)
	s.Config.Audio.Playback, s.Config.Audio.Capture = pulsetest.Speaker, pulsetest.Mic
	s.LastAudible = func(edge time.Duration) (time.Duration, bool) {
		at, ok := tape.LastAudible(start.Add(edge), time.Time{}, threshold)
		return at.Sub(start), ok
	}
}
