package web_test

import (
	"bufio"
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"

	"conch/device/benchtest"
	"conch/device/config"
	"conch/device/control"
	"conch/device/wait"
)

// What the page promises. Its tests look whether it does what it should; here it is measured.
const (
	pagePress  = 10  // ms from a press in the page to silence in it, at p50: the line in its own strip of dots
	pagePaint  = 300 // ms to the first paint, the middle of five loads
	pageWeight = 150 // kB, of all its files
	pageCPU    = 1   // % of a core that one more page costs a device that is idle
	pageMiB    = 1   // of a device's memory that one page takes

	pageMethod = "press: a chromium without a window holds the page's button while sound comes over /talk, ten milliseconds a message; the figure is the " +
		"page's own, from the time stamp of the button's event to the sample after which its players are silent, on the clock of its AudioContext, " +
		"unrounded; presses that hit nothing that sounded have none; what the sound card adds (outputLatency) is not in it, and printed. paint: " +
		"first-contentful-paint of a load over loopback, the cache of the browser off. weight: all files of the page as they are embedded. processor " +
		"and memory: conch run as it is built, without a voice's server, a card or a button, idle; utime and stime of /proc/PID/stat, 20 s without " +
		"and 20 s with one stream of /events, five at a time in turn; VmRSS of /proc/PID/status, the most of five looks a second for 5 s, before " +
		"there ever was a stream and with eight open, so that what the first one costs for good is in the share of each"
)

// BenchmarkPage is how quick and how light the page is.
//
//	go test -run '^$' -bench Page -benchtime 1x ./device/web        100 presses
//	CONCH_BENCH_PRESSES=500 go test ...                             or as many
func BenchmarkPage(b *testing.B) {
	fmt.Println("method:", pageMethod)
	b.Run("browser", benchmarkPageBrowser)
	b.Run("program", benchmarkPageProgram)
}

func benchmarkPageBrowser(b *testing.B) {
	b.Cleanup(func() {
		if b.Skipped() {
			fmt.Println("  SKIPPED:", noChromium)
			benchtest.Report(b, benchtest.Result{What: "a press in the page to silence in it, p50", Unit: "ms", Note: "SKIPPED: " + noChromium})
		}
	})
	chromium(b)
	for range b.N {
		pressed(b)
		painted(b)
		b.ReportMetric(0, "ns/op")
	}
}

// pressed presses in a page while it sounds.
func pressed(b *testing.B) {
	h := build(b, houseOptions{})
	page := h.visit(desk)
	page.measures()
	page.click("#talk")
	page.until(`document.getElementById('talk-text').textContent === 'Hold to talk'`)
	c, n := h.taken("kitchen"), benchtest.Presses(100)
	h.soon(func() bool { return c.heard.Load() > 0 }, func() string { return "the device hears nothing" })

	watch := benchtest.Start(b)
	presses, from := 0, page.monotonic()
	for got := 0; got < n; presses++ {
		if presses > n+n/2 {
			b.Fatalf("%d presses, and %d figures", presses, got)
		}
		// The page plays, however much it has learned to wait for, and is in any phase of a block.
		pass(b, 300*time.Millisecond+time.Duration(rand.IntN(20_000))*time.Microsecond)
		page.hold("#talk")
		h.soon(c.down.Load, func() string { return "the button does not go down" })
		page.until(`measuring.waiting === null`) // however long it takes: each press that silenced something has its figure
		page.let()
		h.soon(func() bool { return !c.down.Load() }, func() string { return "the button stays down" })
		got = js[int](page, `measured.length`)
	}
	stalls := watch.Stop()
	if on := page.monotonic() - from; on.Abs() > 2*time.Millisecond {
		b.Logf("the page's clock and ours have parted by %v", on)
	}
	type one struct{ When, MS, Output float64 }
	var figures benchtest.Figures
	output := 0.0
	for _, m := range js[[]one](page, `measured`) {
		figures = append(figures, benchtest.Sample{At: from + time.Duration(m.When*float64(time.Millisecond)), MS: m.MS})
		output = max(output, m.Output)
	}
	sorted := figures.Sorted()
	at := func(p float64) float64 { return benchtest.Quantile(sorted, p) }
	fmt.Printf("  press in the page to its silence: p50 %.1f p95 %.1f p99 %.1f max %.1f ms, n = %d of %d presses; "+
		"the browser's output adds %.1f ms at most\n",
		at(.5), at(.95), at(.99), at(1), len(sorted), presses, output)
	benchtest.Judge(b, figures, stalls, benchtest.Promise{What: "a press in the page to silence in it", Bound: pagePress, Share: 0.5,
		Wakes: 3}) // the browser's, the page's, and that of its sound
	benchtest.Report(b, benchtest.Result{What: "a press in the page to silence in it, p99", Figure: at(.99), Unit: "ms", N: len(sorted),
		Note: fmt.Sprintf("%d presses", presses)})
	benchtest.Report(b, benchtest.Result{What: "what the browser's output adds to it", Figure: output, Unit: "ms", N: len(sorted),
		Note: "outputLatency, the most"})
	b.ReportMetric(at(.5), "p50-ms")
	b.ReportMetric(at(.99), "p99-ms")
}

// measures has the page keep each figure of a press as it is told of it: what it shows is rounded, and the last hundred.
func (b *tab) measures() {
	b.t.Helper()
	js[bool](b, `import('/sound.js').then(({ Sound }) => {
		globalThis.measured = [];
		const drop = Sound.prototype.drop;
		let last = 0;
		Sound.prototype.drop = function (when) {
			if (!globalThis.measuring) {
				globalThis.measuring = this;
				const told = this.on.measured;
				this.on.measured = (ms, output) => (measured.push({ when: last, ms, output }), told(ms, output));
			}
			drop.call(this, when);
			last = when;
		};
		return true;
	})`)
}

// monotonic is when the page's performance.now() was 0, on benchtest's clock: the best of some looks.
func (b *tab) monotonic() (zero time.Duration) {
	b.t.Helper()
	best := time.Hour
	for range 20 {
		before := benchtest.Now()
		now := js[float64](b, `performance.now()`)
		if took := benchtest.Now() - before; took < best {
			best, zero = took, before+took/2-time.Duration(now*float64(time.Millisecond))
		}
	}
	return zero
}

// pass waits where there is nothing to look at.
func pass(b *testing.B, d time.Duration) {
	b.Helper()
	if err := wait.For(b.Context(), d); err != nil {
		b.Fatal(err)
	}
}

// painted loads the page, with a conversation on it.
func painted(b *testing.B) {
	h := build(b, houseOptions{})
	h.conversation()
	page := h.visit(desk)
	call(page, network.Enable, network.EnableParams{})
	call(page, network.SetCacheDisabled, network.SetCacheDisabledParams{CacheDisabled: true})
	watch := benchtest.Start(b)
	var figures benchtest.Figures
	for range 5 {
		at := benchtest.Now()
		page.do(chromedp.Reload())
		page.until(`performance.getEntriesByName('first-contentful-paint').length > 0`)
		figures = append(figures, benchtest.Sample{At: at, MS: js[float64](page, `performance.getEntriesByName('first-contentful-paint')[0].startTime`)})
	}
	stalls := watch.Stop()
	loaded := js[float64](page, `['resource', 'navigation'].flatMap((t) => performance.getEntriesByType(t)).reduce((n, r) => n + r.decodedBodySize, 0)`)
	call(page, network.Disable, cdp.Empty{})
	fmt.Printf("  first paint: %.0f ms; %.0f kB are loaded before there is sound\n", figures.Sorted(), loaded/1000)
	benchtest.Judge(b, figures, stalls, benchtest.Promise{What: "first paint over loopback", Bound: pagePaint, Share: 0.5,
		Wakes: 3}) // the browser's, the server's, the page's
	b.ReportMetric(benchtest.Quantile(figures.Sorted(), .5), "paint-ms")
}

func benchmarkPageProgram(b *testing.B) {
	for range b.N {
		bytes, names := 0, files(b)
		for _, name := range names {
			bytes += len(read(b, name))
		}
		kB := float64(bytes) / 1000
		fmt.Printf("  weight: %.1f kB in %d files; at most %d\n", kB, len(names), pageWeight)
		benchtest.AtMost(b, "weight of the page", kB, pageWeight, "kB", fmt.Sprintf("%d files, none compressed", len(names)))

		p := idle(b)
		pass(b, 5*time.Second) // it has begun
		p.share(b)
		p.costs(b)
		b.ReportMetric(0, "ns/op")
	}
}

// program is conch run, of which only a page wants something.
type program struct {
	pid int
	url string // of its page
}

// idle starts it, and ends it with the benchmark. It is night for it, so that it does not say aloud what is wrong with it.
func idle(b *testing.B) program {
	dir, err := os.MkdirTemp("", "conch") // a socket's path is short
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = os.RemoveAll(dir) })
	var cfg config.Config
	cfg.State.Runtime = dir
	args := []string{"run"}
	for _, s := range []string{
		"web.listen=127.0.0.1:0", "voice.kind=rehearsal", "audio.backend=null", "button.source=none", "device.quiet=00:00-23:59", "room.discovery=off",
		"state.dir=" + filepath.Join(dir, "state"), "state.runtime=" + dir,
	} {
		args = append(args, "--set", s)
	}
	run := exec.Command(shipped(b), args...)
	run.Env = append(os.Environ(), "HOME="+dir)
	var said strings.Builder
	run.Stdout, run.Stderr = &said, &said
	if err := run.Start(); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		_ = run.Process.Signal(syscall.SIGTERM)
		_ = run.Wait()
		if b.Failed() {
			b.Logf("conch run said\n%s", said.String())
		}
	})
	ctx, cancel := context.WithTimeout(b.Context(), patience)
	defer cancel()
	var s control.Status
	if wait.Until(ctx, func() bool {
		r, err := control.Dial(cfg)
		return err == nil && r.Do(ctx, http.MethodGet, "/status", nil, &s) == nil && s.Ready && len(s.Page) > 0
	}) != nil {
		b.Fatalf("conch run is not ready, or has no page: %+v", s)
	}
	return program{run.Process.Pid, s.Page[0]}
}

// stream opens /events, and is there when the first picture has come. end says how many events came.
func (p program) stream(b *testing.B) (end func() int64) {
	b.Helper()
	ctx, cancel := context.WithCancel(b.Context())
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, p.url+"events", nil)
	if err != nil {
		b.Fatal(err)
	}
	way := &http.Transport{}
	resp, err := way.RoundTrip(req) //nolint:bodyclose // closed by end
	if err != nil || resp.StatusCode != http.StatusOK {
		b.Fatalf("%sevents: %v, %v", p.url, resp, err)
	}
	var events atomic.Int64
	first, over := make(chan struct{}), make(chan struct{})
	go func() { // until end
		defer close(over)
		for s := bufio.NewScanner(resp.Body); s.Scan(); {
			if strings.HasPrefix(s.Text(), "event: ") && events.Add(1) == 1 {
				close(first)
			}
		}
	}()
	end = sync.OnceValue(func() int64 {
		select {
		case <-over:
			b.Error("a stream of events ended by itself")
		default:
		}
		cancel()
		<-over
		_ = resp.Body.Close()
		way.CloseIdleConnections()
		return events.Load()
	})
	b.Cleanup(func() { end() })
	select {
	case <-first:
	case <-over:
		b.Fatal("a stream of events ended before the first one")
	case <-time.After(patience):
		b.Fatal("a stream of events has none")
	}
	return end
}

// share is how much of the memory of the program a page takes.
func (p program) share(b *testing.B) {
	b.Helper()
	const pages = 8 // as many as one session may have
	none := p.memory(b)
	var ends []func() int64
	for range pages {
		ends = append(ends, p.stream(b))
	}
	all := p.memory(b)
	for _, end := range ends {
		end()
	}
	each := (all.rss - none.rss) / pages
	fmt.Printf("  memory: %v with no page, %v with %d: %.3f MiB a page\n", none, all, pages, each)
	benchtest.AtMost(b, "memory of the device that a page takes", each, pageMiB, "MiB", fmt.Sprintf("%v with no page, %v with %d", none, all, pages))
}

// memory is what a process has, MiB: all of it, and what of that is mapped of files.
type memory struct{ rss, file float64 }

func (m memory) String() string { return fmt.Sprintf("%.1f MiB (of files %.1f)", m.rss, m.file) }

var memoryLine = regexp.MustCompile(`(?m)^(VmRSS|RssFile):\s+([0-9]+) kB$`)

// memory is the most that the program has within five seconds.
func (p program) memory(b *testing.B) (most memory) {
	b.Helper()
	for range 25 {
		pass(b, 200*time.Millisecond)
		text, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(p.pid), "status"))
		found := memoryLine.FindAllStringSubmatch(string(text), -1)
		if err != nil || len(found) != 2 {
			b.Fatalf("%v of the program in /proc: %v", found, err)
		}
		now := memory{}
		for _, m := range found {
			kB, _ := strconv.ParseFloat(m[2], 64) // digits
			if m[1] == "VmRSS" {
				now.rss = kB / 1024
			} else {
				now.file = kB / 1024
			}
		}
		if now.rss > most.rss {
			most = now
		}
	}
	return most
}

// costs is how much of a processor a page takes, where nothing happens.
func (p program) costs(b *testing.B) {
	b.Helper()
	const turns, each = 4, 5 * time.Second
	var none, one float64 // seconds of a processor
	var took [2]time.Duration
	events := int64(0)
	look := func(i int) float64 {
		before, begun := p.processor(b), time.Now()
		pass(b, each)
		took[i] += time.Since(begun)
		return p.processor(b) - before
	}
	for range turns {
		none += look(0)
		end := p.stream(b)
		one += look(1)
		events += end()
	}
	without, with := 100*none/took[0].Seconds(), 100*one/took[1].Seconds()
	fmt.Printf("  processor: %.2f %% of a core with no page, %.2f with one, which was told of %d events: %+.2f\n", without, with, events, with-without)
	benchtest.AtMost(b, "processor that a page takes, idle", with-without, pageCPU, "%",
		fmt.Sprintf("of a core: %.2f with no page, %.2f with one", without, with))
}

// processor is how long the program has had one, in seconds.
func (p program) processor(b *testing.B) float64 {
	b.Helper()
	text, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(p.pid), "stat"))
	if err != nil {
		b.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(text), ") ")
	f := strings.Fields(rest)
	if len(f) < 13 {
		b.Fatalf("/proc/%d/stat: %d fields", p.pid, len(f))
	}
	ticks := 0.0 // utime and stime, fields 14 and 15 of all
	for _, field := range f[11:13] {
		n, err := strconv.ParseFloat(field, 64)
		if err != nil {
			b.Fatal(err)
		}
		ticks += n
	}
	return ticks / 100 // USER_HZ, the same on every architecture that Go runs on
}
