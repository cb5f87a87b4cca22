// Package benchtest judges benchmarks on machines that are shared. A figure that is late is held against what the machine did at
// that very moment to a program that only sleeps, written in C and started beside the benchmark: who else's turn it was is no
// fault of ours, and what it does not explain is.
package benchtest

import (
	"bufio"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

//go:embed stall/stall.c
var source []byte

// period is how often each processor is looked at.
const period = 2 * time.Millisecond

// stalled is a wake so late that it counts; below it is a timer's slack and a context switch.
const stalled = time.Millisecond

// Now is the clock on which stalls and samples are compared (CLOCK_MONOTONIC).
func Now() time.Duration {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &t); err != nil {
		panic(err) //nolint:forbidigo // every Linux has it
	}
	return time.Duration(t.Nano())
}

// Watch is the C programs, one on each processor.
type Watch struct {
	tb    testing.TB
	ins   []io.Closer
	lines []chan []span
}

// Start begins to watch the machine. The programs end with Stop, or with this process.
func Start(tb testing.TB) *Watch {
	tb.Helper()
	cc := os.Getenv("CC")
	if cc == "" {
		cc = "cc"
	}
	dir := tb.TempDir()
	src, exe := filepath.Join(dir, "stall.c"), filepath.Join(dir, "stall")
	if err := os.WriteFile(src, source, 0o600); err != nil {
		tb.Fatal(err)
	}
	if out, err := exec.Command(cc, "-O2", "-o", exe, src).CombinedOutput(); err != nil {
		tb.Fatalf("benchtest: %s: %v\n%s", cc, err, out)
	}
	w := &Watch{tb: tb}
	for cpu := range runtime.NumCPU() {
		cmd := exec.Command(exe, strconv.Itoa(cpu), strconv.FormatInt(period.Nanoseconds(), 10))
		cmd.Stderr = os.Stderr
		in, err := cmd.StdinPipe()
		if err != nil {
			tb.Fatal(err)
		}
		out, err := cmd.StdoutPipe()
		if err != nil {
			tb.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			tb.Fatal(err)
		}
		wakes := make(chan []span, 1)
		go func() { // ends with the program
			wakes <- read(out)
			_ = cmd.Wait()
		}()
		w.ins, w.lines = append(w.ins, in), append(w.lines, wakes)
	}
	tb.Cleanup(func() { w.Stop() })
	return w
}

func read(r io.Reader) (wakes []span) {
	for sc := bufio.NewScanner(r); sc.Scan(); {
		var due, late int64
		if _, err := fmt.Sscan(sc.Text(), &due, &late); err == nil {
			wakes = append(wakes, span{time.Duration(due), time.Duration(due + late)})
		}
	}
	return wakes
}

// Stop ends the programs and says what they saw. Harmless twice.
func (w *Watch) Stop() Stalls {
	var all [][]span
	for i, in := range w.ins {
		_ = in.Close()
		all = append(all, <-w.lines[i])
	}
	w.ins, w.lines = nil, nil
	return seen(all)
}

type span struct{ from, to time.Duration }

// Stalls is how late the C programs woke.
type Stalls struct {
	N             int     // wakes of all of them
	P50, P99, Max float64 // ms
	cpus          [][]span
}

// seen makes Stalls of every wake of each processor.
func seen(cpus [][]span) (s Stalls) {
	var late []float64
	for _, wakes := range cpus {
		for _, w := range wakes {
			late = append(late, ms(w.to-w.from))
		}
		s.cpus = append(s.cpus, slices.DeleteFunc(wakes, func(w span) bool { return w.to-w.from < stalled }))
	}
	if s.N = len(late); s.N > 0 {
		slices.Sort(late)
		s.P50, s.P99, s.Max = Quantile(late, .5), Quantile(late, .99), late[len(late)-1]
	}
	return s
}

func (s Stalls) String() string {
	return fmt.Sprintf("bare C timers beside it woke late by p50 %.2f p99 %.2f max %.1f ms, n = %d", s.P50, s.P99, s.Max, s.N)
}

// During is how long, at the most, one processor kept its C program from running within a time.
func (s Stalls) During(from, to time.Duration) (most float64) {
	for _, spans := range s.cpus {
		sum := time.Duration(0)
		for _, x := range spans {
			sum += max(0, min(x.to, to)-max(x.from, from))
		}
		most = max(most, ms(sum))
	}
	return most
}

// Sample is one figure, and when it was taken: it began At, and took MS milliseconds.
type Sample struct {
	At time.Duration // Now
	MS float64
}

// Figures are samples of one kind.
type Figures []Sample

// Sorted are the milliseconds alone.
func (f Figures) Sorted() []float64 {
	all := make([]float64, len(f))
	for i, x := range f {
		all[i] = x.MS
	}
	slices.Sort(all)
	return all
}

// Quantile is the p-th part of sorted figures.
func Quantile(sorted []float64, p float64) float64 {
	return sorted[min(len(sorted)-1, max(0, int(math.Ceil(p*float64(len(sorted))))-1))]
}

// around is how long before a sample began a stall may have begun that it pays for: whoever waited then is served first.
const around = 5 * time.Millisecond

// Promise is a bound that a share of all figures keeps.
type Promise struct {
	What  string
	Bound float64 // ms
	Share float64 // that may be longer: 0.01 is a bound at p99
	Wakes int     // of processes in a row that a figure waits for, each of which may be kept waiting; 0: 1
}

// Kept says how many figures are beyond the bound, of which how many the machine explains: processors were kept from running for as
// long as the figure is too long, for each wake on its way. It is an error when what nothing explains is more than the share.
func (p Promise) Kept(f Figures, s Stalls) (Result, error) {
	r := Result{What: p.String(), Bound: p.Bound, Unit: "ms", N: len(f), Broken: true}
	if len(f) == 0 {
		return r, fmt.Errorf("%s: %w", p.What, errNothing)
	}
	over, ours, worst := 0, 0, 0.0
	for _, x := range f {
		if x.MS <= p.Bound {
			continue
		}
		over++
		to := x.At + time.Duration(x.MS*float64(time.Millisecond))
		if x.MS > p.Bound+float64(max(1, p.Wakes))*s.During(x.At-around, to) {
			ours++
			worst = max(worst, x.MS)
		}
	}
	sorted := f.Sorted()
	r.Figure, r.Excused = Quantile(sorted, 1-p.Share), over-ours
	r.Note = fmt.Sprintf("p50 %.1f p95 %.1f p99 %.1f max %.1f", Quantile(sorted, .5), Quantile(sorted, .95), Quantile(sorted, .99), sorted[len(f)-1])
	if over > 0 {
		r.Note += fmt.Sprintf("; %d beyond it", over)
	}
	r.Broken = float64(ours) > p.Share*float64(len(f))
	text := fmt.Sprintf("%s: %d of %d took longer than %.1f ms", p.What, over, len(f), p.Bound)
	if over > 0 {
		text += fmt.Sprintf(", %d of them in no stall of the machine", ours)
	}
	if ours > 0 {
		text += fmt.Sprintf(" (up to %.1f ms)", worst)
	}
	if r.Broken {
		return r, fmt.Errorf("%s; allowed are %.0f %%", text, 100*p.Share)
	}
	return r, nil
}

func (p Promise) String() string {
	if p.Share == 0 {
		return p.What + ", max"
	}
	return fmt.Sprintf("%s, p%.4g", p.What, 100*(1-p.Share))
}

var errNothing = errors.New("nothing was measured")

// Judge fails the benchmark where a promise is broken, and has the table tell of each.
func Judge(b testing.TB, f Figures, s Stalls, promises ...Promise) {
	b.Helper()
	for _, p := range promises {
		r, err := p.Kept(f, s)
		r.Note += fmt.Sprintf("; bare timers p99 %.1f max %.1f", s.P99, s.Max)
		Report(b, r)
		if err != nil {
			b.Errorf("broken: %v; %s", err, s)
			continue
		}
		// b.Log shows ten lines of it
		fmt.Fprintf(os.Stdout, "  %s: %.1f ms, n = %d; at most %.1f (%d in a stall); %s\n", r.What, r.Figure, r.N, r.Bound, r.Excused, s)
	}
}

// Times fails the benchmark where a figure is more than so many times another one of the same run: what both suffer is in neither.
func Times(b testing.TB, what string, figure, unit, most float64) {
	b.Helper()
	ratio := math.Inf(1)
	if unit > 0 {
		ratio = figure / unit
	}
	AtMost(b, what, ratio, most, "x", fmt.Sprintf("%.3g and %.3g", figure, unit))
}

// AtMost fails the benchmark where a figure is greater than that.
func AtMost(b testing.TB, what string, figure, most float64, unit, note string) {
	b.Helper()
	if math.IsNaN(figure) || figure > math.MaxFloat64 { // JSON knows neither
		figure = math.MaxFloat64
	}
	if figure > most {
		b.Errorf("broken: %s: %.3g %s; at most %g; %s", what, figure, unit, most, note)
	}
	Report(b, Result{What: what, Bound: most, Figure: figure, Unit: unit, Broken: figure > most, Note: note})
}

func ms(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// Presses is how often a benchmark presses: so often, or CONCH_BENCH_PRESSES times.
func Presses(usual int) int {
	if n, err := strconv.Atoi(os.Getenv("CONCH_BENCH_PRESSES")); err == nil && n > 0 {
		return n
	}
	return usual
}

// Slack is what a figure may be beyond a bound, in ms: timers and switches.
const Slack = 2
