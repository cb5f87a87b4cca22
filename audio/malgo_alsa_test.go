//go:build cgo

package audio_test

import (
	"context"
	"errors"
	"math"
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"conch/audio"
	"conch/audio/alsacard"
)

// await polls until ok says yes; these tests wait for another clock than Go's, so there is nothing to be notified by.
func await(t testing.TB, what string, limit time.Duration, ok func() bool) {
	t.Helper()
	deadline := time.After(limit)
	for !ok() {
		select {
		case <-deadline:
			t.Fatalf("not within %v: %s", limit, what)
		case <-time.After(2 * time.Millisecond):
		}
	}
}

func newCard(t testing.TB, backend string) *audio.MalgoCard {
	t.Helper()
	m, err := audio.NewCard(backend, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(m.Close)
	return m
}

// counter renders 1, 2, 3 … so that a missing, repeated or reordered frame shows.
type counter struct{ n atomic.Uint32 }

func (c *counter) render(out []int16) {
	n := c.n.Load()
	for i := range out {
		n++
		out[i] = int16(n%30000 + 1)
	}
	c.n.Store(n)
}

func TestALSAPlaysEverySampleInOrder(t *testing.T) {
	// On a busy machine a callback may come too late; what it brings is then rightly lost. That run says nothing about order.
	for range 5 {
		if st := playsInOrder(t); st.UnderrunFrames == 0 {
			return
		}
	}
	t.Error("an underrun in each of five runs")
}

func playsInOrder(t *testing.T) alsacard.Stats {
	card := alsacard.Start(t, alsacard.Options{})
	m := newCard(t, "alsa")
	var c counter
	s, err := m.OpenPlayback(audio.StreamConfig{Device: card.Device()}, c.render)
	if err != nil {
		t.Fatal(err)
	}
	g := s.Granted()
	if want := (audio.Granted{Backend: "alsa", Device: "alsa:conchcard", Name: g.Name, Rate: 48000, Period: 240, Periods: 3}); g != want {
		t.Errorf("granted %+v; want %+v", g, want)
	}
	await(t, "300 callbacks", 5*time.Second, func() bool { return s.Stats().Callbacks >= 300 })
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	st := card.Stats()
	if st.Period*3 != st.Buffer || st.Buffer != 720 || st.Channels != 2 || st.Opens != st.Closes {
		t.Errorf("the card saw %+v; want 240 x 3 on both channels, all closed", st)
	}
	if st.UnderrunFrames > 0 {
		return st
	}
	samples := card.Log().Samples()
	if len(samples) < 300*240-5*240 { // what was queued when it was closed never sounds: three periods, the one in hand, and one half written
		t.Fatalf("%d frames were played in 300 callbacks", len(samples))
	}
	for i := 1; i < len(samples); i++ {
		if want := samples[i-1]%30000 + 1; samples[i] != want {
			t.Fatalf("frame %d is %d; want %d", i, samples[i], want)
		}
	}
	return st
}

// Every sample, once, in order; unless the card says that it could not be emptied in time: then it is asked again.
func TestALSACaptureHearsWhatIsSaid(t *testing.T) {
	for range 5 {
		wrong, overruns := captureCounting(t)
		if overruns == 0 {
			if wrong != 0 {
				t.Errorf("%d samples out of order", wrong)
			}
			return
		}
		t.Logf("this machine held the process up: %d overruns, %d samples out of order", overruns, wrong)
	}
	t.Error("no capture without an overrun in five")
}

// captureCounting says 1, 2, 3, … to a microphone, and counts what does not come in order.
func captureCounting(t *testing.T) (wrong int64, overruns int) {
	card := alsacard.Start(t, alsacard.Options{Channels: 1})
	m := newCard(t, "alsa")
	var next atomic.Int32
	var disorder atomic.Int64
	s, err := m.OpenCapture(audio.StreamConfig{Device: card.Device()}, func(in []int16) {
		for _, v := range in {
			switch v {
			case 0:
			case int16(next.Load()) + 1:
				next.Store(int32(v))
			default:
				disorder.Add(1)
			}
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	said := make([]int16, 9600)
	for i := range said {
		said[i] = int16(i + 1)
	}
	await(t, "a callback", 2*time.Second, func() bool { return s.Stats().Callbacks > 2 })
	if next.Load() != 0 {
		t.Fatalf("heard %d before anything was said", next.Load())
	}
	if err := card.Feed(said); err != nil {
		t.Fatal(err)
	}
	heard := func() bool { return int(next.Load()) == len(said) || card.Stats().Overruns > 0 && disorder.Load() > 0 }
	await(t, "all that was said", 2*time.Second, heard)
	return disorder.Load(), card.Stats().Overruns
}

// A callback that comes late leaves the card without sound: the kernel's cards play the ring once more and go on.
func TestALSAUnderrunIsCountedAndOver(t *testing.T) {
	for _, silence := range []bool{false, true} {
		card := alsacard.Start(t, alsacard.Options{Silence: silence})
		m := newCard(t, "alsa")
		var c counter
		stall := make(chan struct{})
		var stalled atomic.Bool
		s, err := m.OpenPlayback(audio.StreamConfig{Device: card.Device()}, func(out []int16) {
			if c.n.Load() > 4800 && !stalled.Swap(true) {
				<-stall
			}
			c.render(out)
		})
		if err != nil {
			t.Fatal(err)
		}
		await(t, "the stall", 2*time.Second, stalled.Load)
		time.AfterFunc(60*time.Millisecond, func() { close(stall) })
		<-stall
		await(t, "it to go on", 2*time.Second, func() bool { return c.n.Load() > 20000 })
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		st := card.Stats()
		// 60 ms without a callback and 15 ms queued: 45 ms, and more where the machine is slow.
		if st.Underruns == 0 || st.UnderrunFrames < 40*48 {
			t.Errorf("silence=%v: %d underruns, %d frames; want at least one of 40 ms", silence, st.Underruns, st.UnderrunFrames)
		}
		if x := s.Stats().Xruns; x == 0 || x > uint64(st.Underruns) {
			t.Errorf("silence=%v: counted %d xruns; the card had %d", silence, x, st.Underruns)
		}
		if calls := int(s.Stats().Callbacks); st.Polls > 4*calls {
			t.Errorf("silence=%v: %d polls for %d callbacks: the card and libasound disagree on how far it is", silence, st.Polls, calls)
		}
		want, log := alsacard.Replayed, card.Log()
		if silence {
			want = alsacard.Silent
		}
		if err := log.Update(); err != nil {
			t.Fatal(err)
		}
		found := false
		for _, sp := range log.Spans {
			found = found || sp.Kind == want
		}
		if !found {
			t.Errorf("silence=%v: the log has no %v", silence, want)
		}
	}
}

// What a microphone captures while nobody takes it is lost, and counted, also while it rests. A card that is stopped and
// started is not late.
func TestALSAXrunsAreThoseOfTheCard(t *testing.T) {
	card := alsacard.Start(t, alsacard.Options{})
	m := newCard(t, "alsa")
	stall := make(chan struct{})
	var stalled atomic.Bool
	s, err := m.OpenCapture(audio.StreamConfig{Device: card.Device()}, func([]int16) {
		if !stalled.Swap(true) {
			<-stall
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	await(t, "the stall", 2*time.Second, stalled.Load)
	s.Rest(true)                         // as one does that nobody listens to: most callbacks are none of ours
	<-time.After(100 * time.Millisecond) // of which the card keeps 15
	before := s.Stats().Xruns
	close(stall)
	await(t, "the count", 2*time.Second, func() bool { return s.Stats().Xruns > before })
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}

	out, err := m.OpenPlayback(audio.StreamConfig{Device: card.Device()}, func(out []int16) { clear(out) })
	if err != nil {
		t.Fatal(err)
	}
	await(t, "callbacks", 2*time.Second, func() bool { return out.Stats().Callbacks > 10 })
	flushed := make(chan struct{})
	out.Flush(func() { <-time.After(60 * time.Millisecond); close(flushed) })
	<-flushed
	n := out.Stats().Callbacks
	await(t, "it to go on", 2*time.Second, func() bool { return out.Stats().Callbacks > n+10 })
	if err := out.Close(); err != nil {
		t.Fatal(err)
	}
	if x, dry := out.Stats().Xruns, card.Stats().Underruns; x > uint64(dry) {
		t.Errorf("counted %d xruns; the card had %d", x, dry)
	}
}

// The callback must not touch the heap: its thread would wait for the collector. Measured from outside, over the whole process.
func TestMalgoCallbackAllocatesNothing(t *testing.T) {
	card := alsacard.Start(t, alsacard.Options{})
	m := newCard(t, "alsa")
	var c counter
	s, err := m.OpenPlayback(audio.StreamConfig{Device: card.Device()}, c.render)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	in, err := m.OpenCapture(audio.StreamConfig{Device: card.Device()}, func([]int16) {})
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	await(t, "both to run", 2*time.Second, func() bool { return s.Stats().Callbacks > 120 && in.Stats().Callbacks > 120 }) // past the priority report
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	from := s.Stats().Callbacks + in.Stats().Callbacks
	<-time.After(time.Second)
	runtime.ReadMemStats(&after)
	n := s.Stats().Callbacks + in.Stats().Callbacks - from
	if n < 200 {
		t.Fatalf("only %d callbacks in a second", n)
	}
	// Some strays of the runtime's own; one per callback of either half would be half of n.
	if got := after.Mallocs - before.Mallocs; got > n/8 {
		t.Errorf("%d allocations in %d callbacks; want none", got, n)
	}
}

// Reported for the bench as well: how long after a flag the card falls silent. The bound is asked of the median
// only: a shared machine has stalls of its own.
func TestALSAFallsSilentWithinTheBound(t *testing.T) {
	for _, period := range []time.Duration{5 * time.Millisecond, 10 * time.Millisecond} {
		card := alsacard.Start(t, alsacard.Options{})
		m := newCard(t, "alsa")
		var on atomic.Bool
		s, err := m.OpenPlayback(audio.StreamConfig{Device: card.Device(), Period: period}, gate(&on))
		if err != nil {
			t.Fatal(err)
		}
		bound := s.Granted().Queued() + period + time.Millisecond
		log := card.Log()
		const n = 30
		var delays []time.Duration
		for i := range n {
			on.Store(true)
			target := s.Stats().Callbacks + 5
			await(t, "sound", time.Second, func() bool { return s.Stats().Callbacks > target })
			<-time.After(period * time.Duration(i) / n) // every phase of the period
			pressed := time.Now()
			on.Store(false)
			await(t, "the log", time.Second, func() bool { return log.End().After(pressed.Add(2 * bound)) })
			last, ok := log.LastAudible(pressed, time.Time{}, 0)
			if !ok {
				t.Fatal("nothing sounded after the flag: the card was not playing")
			}
			delays = append(delays, last.Sub(pressed))
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		p50, most := percentiles(delays)
		t.Logf("ALSA %v x %d: flag to silence p50 %v, max %v (n=%d), bound %v", period, s.Granted().Periods, p50, most, n, bound)
		if p50 > bound {
			t.Errorf("%v: p50 %v; want at most %v", period, p50, bound)
		}
	}
}

// A card that refuses small periods and gives nothing back would go on for 83 ms: a Drop cuts it hard. A Hush does not: it may be a glitch.
func TestALSASlowCardIsCutHard(t *testing.T) {
	card := alsacard.Start(t, alsacard.Options{MinPeriod: 960, Rewind: alsacard.RewindLies})
	m := newCard(t, "alsa")
	began := time.Now()
	speaker := audio.NewSpeaker(audio.SpeakerConfig{Now: func() time.Duration { return time.Since(began) }})
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- speaker.Run(ctx) }()
	s, err := speaker.OpenOn(m, audio.StreamConfig{Device: card.Device(), Period: 5 * time.Millisecond, Periods: 3})
	if err != nil {
		t.Fatal(err)
	}
	g := s.Granted()
	speaker.SetQueued(g.Queued())
	soft := g.Queued() + g.Queued()/time.Duration(g.Periods) // what a fade alone could promise, or rather not
	if soft < 60*time.Millisecond || !speaker.HardDrops() {
		t.Fatalf("granted %d x %d: this card is not slow (%v)", g.Period, g.Periods, soft)
	}
	log := card.Log()
	tone := make([]int16, audio.Rate)
	for i := range tone {
		tone[i] = 8000
	}
	var delays, wrong []time.Duration
	const n = 10
	for i := range n {
		src := speaker.Open(audio.SourceSpeech, speaker.Generation())
		src.Write(ctx, tone)
		await(t, "sound", 2*time.Second, func() bool { return speaker.LastAudible() > 0 && src.Heard() > audio.Rate/5 })
		<-time.After(20 * time.Millisecond * time.Duration(i) / n) // every phase of the period
		pressed, edge := time.Now(), time.Since(began)
		speaker.Drop()
		await(t, "the log", 2*time.Second, func() bool { return log.End().After(pressed.Add(2 * soft)) })
		last, ok := log.LastAudible(pressed, time.Time{}, 0)
		if !ok {
			last = pressed // silent at once
		}
		delays = append(delays, last.Sub(pressed))
		if told, ok := src.Silenced(); ok { // what press_to_silence_ms is made of
			wrong = append(wrong, max(0, told-edge-last.Sub(pressed)))
		}
		await(t, "drained", time.Second, func() bool {
			select {
			case <-src.Drained():
				return true
			default:
				return false
			}
		})
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	p50, most := percentiles(delays)
	t.Logf("ALSA %d frames x %d: drop to silence p50 %v, max %v (n=%d); by fading alone %v", g.Period, g.Periods, p50, most, n, soft)
	if p50 > 30*time.Millisecond {
		t.Errorf("p50 %v; want at most 30 ms", p50)
	}
	if len(wrong) < n/2 {
		t.Fatalf("silence is told of %d drops in %d", len(wrong), n)
	}
	if p50, most := percentiles(wrong); p50 > 20*time.Millisecond { // it was 60: all that the card held, as if it had sounded
		t.Errorf("silence is told %v too late (p50), %v at most", p50, most)
	}
}

// gate plays a constant while on, without a fade: what is heard after the flag is what the card still had.
func gate(on *atomic.Bool) func([]int16) {
	return func(out []int16) {
		v := int16(0)
		if on.Load() {
			v = 8000
		}
		for i := range out {
			out[i] = v
		}
	}
}

func TestALSAUnpluggedIsNoticedAndComesBack(t *testing.T) {
	card := alsacard.Start(t, alsacard.Options{})
	m := newCard(t, "alsa")
	var c counter
	k, up, down := keepUp(t, card, func(sc audio.StreamConfig) (audio.Stream, error) { return m.OpenPlayback(sc, c.render) })
	receive(t, "up", up)

	card.Unplug()
	if err := receive(t, "down", down); !errors.Is(err, audio.ErrNoCallbacks) {
		t.Errorf("down with %v; want ErrNoCallbacks", err)
	}
	// miniaudio polls a card that is gone as fast as it can. Without the keeper this would go on for ever.
	await(t, "the stream to be closed", 2*time.Second, func() bool { st := card.Stats(); return st.Opens == st.Closes })
	polls, cpu := card.Stats().Polls, cpuTime(t)
	<-time.After(500 * time.Millisecond)
	if after := card.Stats().Polls; after != polls {
		t.Errorf("the card that is gone was polled %d times more", after-polls)
	}
	if used := cpuTime(t) - cpu; used > 250*time.Millisecond {
		t.Errorf("%v of CPU in 500 ms with the card gone; want nearly none", used)
	}
	before := c.n.Load()
	card.Replug()
	receive(t, "up again", up)
	await(t, "sound", 2*time.Second, func() bool { return c.n.Load() > before+4800 })
	if k.Lost() != 1 || m.Abandoned() != 0 {
		t.Errorf("lost %d times, %d calls abandoned; want 1 and 0", k.Lost(), m.Abandoned())
	}
}

// keepUp keeps a card open until the test ends, and tells when it runs and when it does not.
func keepUp(t *testing.T, card *alsacard.Card, open func(audio.StreamConfig) (audio.Stream, error)) (*audio.Keeper, <-chan audio.Granted, <-chan error) {
	t.Helper()
	up, down := make(chan audio.Granted, 10), make(chan error, 10)
	k := audio.NewKeeper(audio.KeeperConfig{
		Name: "speaker", Open: open, Stream: audio.StreamConfig{Device: card.Device()},
		Up: func(g audio.Granted) { up <- g }, Down: func(err error) { down <- err },
	})
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() { k.Run(ctx); close(ended) }()
	t.Cleanup(func() { cancel(); <-ended })
	return k, up, down
}

func receive[T any](t *testing.T, what string, ch <-chan T) T {
	t.Helper()
	select {
	case v := <-ch:
		return v
	case <-time.After(15 * time.Second):
		t.Fatalf("no %s in 15 s", what)
		panic("unreachable")
	}
}

func cpuTime(t *testing.T) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		t.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func TestALSAOpenCloseDoesNotGrow(t *testing.T) {
	card := alsacard.Start(t, alsacard.Options{})
	m := newCard(t, "alsa")
	var c counter
	round := func() {
		s, err := m.OpenPlayback(audio.StreamConfig{Device: card.Device()}, c.render)
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	for range 20 {
		round()
	}
	debug.FreeOSMemory() // when the collector last ran is not what this is about
	goroutines, threads, fds, rss := runtime.NumGoroutine(), status(t, "Threads"), descriptors(t), status(t, "VmRSS")
	for range 200 {
		round()
	}
	await(t, "the goroutines to end", 2*time.Second, func() bool { return runtime.NumGoroutine() <= goroutines })
	if n := status(t, "Threads"); n > threads+4 { // Go keeps threads it once needed
		t.Errorf("%d threads; %d before", n, threads)
	}
	if n := descriptors(t); n > fds {
		t.Errorf("%d open files; %d before", n, fds)
	}
	debug.FreeOSMemory()
	if n := status(t, "VmRSS"); n > rss+4096 {
		t.Errorf("%d kB resident; %d before", n, rss)
	}
	if st := card.Stats(); st.Opens < 220 || st.Closes != st.Opens { // miniaudio opens a card more than once to learn about it
		t.Errorf("%d opens, %d closes; want 220 or more, and as many", st.Opens, st.Closes)
	}
}

func status(t *testing.T, key string) int {
	b, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Fatal(err)
	}
	for l := range strings.Lines(string(b)) {
		if v, ok := strings.CutPrefix(l, key+":"); ok {
			n, _ := strconv.Atoi(strings.Fields(v)[0])
			return n
		}
	}
	t.Fatalf("no %s in /proc/self/status", key)
	return 0
}

func descriptors(t *testing.T) int {
	d, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(d)
}

// After Close has returned render is never called again, however the two fall together.
func TestCloseIsTheEndOfCallbacks(t *testing.T) {
	card := alsacard.Start(t, alsacard.Options{})
	m := newCard(t, "alsa")
	for range 30 {
		var closed, late atomic.Bool
		s, err := m.OpenPlayback(audio.StreamConfig{Device: card.Device(), Period: 1 * time.Millisecond, Periods: 2}, func(out []int16) {
			if closed.Load() {
				late.Store(true)
			}
			clear(out)
		})
		if err != nil {
			t.Fatal(err)
		}
		await(t, "callbacks", time.Second, func() bool { return s.Stats().Callbacks > 3 })
		err = s.Close()
		closed.Store(true)
		if err != nil {
			t.Fatal(err)
		}
		<-time.After(2 * time.Millisecond)
		if late.Load() {
			t.Fatal("render was called after Close had returned")
		}
	}
}

func TestALSADevicesAndWrongNames(t *testing.T) {
	card := alsacard.Start(t, alsacard.Options{})
	m := newCard(t, "alsa")
	list, err := m.Devices()
	if err != nil {
		t.Fatal(err)
	}
	halves := ""
	for _, d := range list {
		if d.ID == card.Device() && d.Name == "A card made of a clock" && d.Backend == "alsa" {
			halves += string(d.Kind) + " "
		}
	}
	if halves != "playback capture " {
		t.Errorf("listed as %q; want both halves once, in %+v", halves, list)
	}
	for _, row := range []struct{ device, want string }{
		{"alsa:conchcart", `no device "alsa:conchcart" (did you mean "alsa:conchcard"?); there are: alsa:conchcard`},
		{"Jabra", `no device "Jabra"; there are: alsa:conchcard`},
		{"Jab*", `no device "Jab*"; there are: alsa:conchcard`},
	} {
		_, err := m.OpenPlayback(audio.StreamConfig{Device: row.device}, func([]int16) {})
		if err == nil || !strings.Contains(err.Error(), row.want) {
			t.Errorf("open %q: %v; want %s", row.device, err, row.want)
		}
		var unknown *audio.UnknownDeviceError
		if !errors.As(err, &unknown) {
			t.Errorf("open %q: a %T; want an UnknownDeviceError", row.device, err)
		}
	}
	for _, pattern := range []string{"made of a clock", "alsa:conch*", "CONCHCARD"} {
		s, err := m.OpenPlayback(audio.StreamConfig{Device: pattern}, func(out []int16) { clear(out) })
		if err != nil {
			t.Errorf("open %q: %v", pattern, err)
			continue
		}
		if g := s.Granted(); g.Device != card.Device() {
			t.Errorf("%q opened %q", pattern, g.Device)
		}
		_ = s.Close()
	}
	card.Unplug()
	_, err = m.OpenPlayback(audio.StreamConfig{Device: card.Device()}, func([]int16) {})
	if err == nil || !strings.Contains(err.Error(), "no such device") {
		t.Errorf("open while unplugged: %v; want no such device", err)
	}
}

// A card that cannot do what we ask for: miniaudio converts, and Granted tells the truth.
func TestGrantedIsRead(t *testing.T) {
	card := alsacard.Start(t, alsacard.Options{Rate: 44100, MinPeriod: 441})
	m := newCard(t, "alsa")
	tone := sine(1000)
	s, err := m.OpenPlayback(audio.StreamConfig{Device: card.Device()}, tone)
	if err != nil {
		t.Fatal(err)
	}
	g := s.Granted()
	if st := card.Stats(); g.Rate != 44100 || g.Period*g.Periods != st.Buffer || g.Period < 220 || st.Period != 441 {
		t.Errorf("granted %+v; the card says %+v", g, st)
	}
	await(t, "sound", 3*time.Second, func() bool { return s.Stats().Callbacks > 100 })
	_ = s.Close()
	if f := frequency(card.Log().Samples()[4410:], 44100); math.Abs(f-1000) > 5 {
		t.Errorf("the tone of 1000 Hz sounds with %.0f Hz", f)
	}
}

func TestNullIsSaidAloud(t *testing.T) {
	t.Setenv("ALSA_CONFIG_PATH", os.DevNull)
	t.Setenv("PULSE_SERVER", "unix:/nonexistent")
	m := newCard(t, "auto")
	s, err := m.OpenPlayback(audio.StreamConfig{}, func(out []int16) { clear(out) })
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if b := s.Granted().Backend; b != "null" {
		t.Skipf("this machine has a card of its own (%s): nothing to see here", b)
	}
	await(t, "callbacks", 2*time.Second, func() bool { return s.Stats().Callbacks > 10 })
	if m.Better(s.Granted()) {
		t.Error("something better than null, on a machine without sound")
	}
	// A device that was named is never replaced by nothing.
	if s, err := m.OpenPlayback(audio.StreamConfig{Device: "Jabra"}, func([]int16) {}); err == nil {
		t.Errorf("a named device opened %+v", s.Granted())
	}
	if _, err := audio.NewCard("oss", nil); err == nil || !strings.Contains(err.Error(), `"oss": must be auto, alsa, pulse or null`) {
		t.Errorf("backend oss: %v", err)
	}
}

func sine(hz float64) func([]int16) {
	phase := 0.0
	return func(out []int16) {
		for i := range out {
			out[i] = int16(8000 * math.Sin(phase))
			phase += 2 * math.Pi * hz / audio.CardRate
		}
	}
}

// frequency counts upward zero crossings, from the first to the last.
func frequency(samples []int16, rate float64) float64 {
	first, last, n := -1, 0, 0
	for i := 1; i < len(samples); i++ {
		if samples[i-1] < 0 && samples[i] >= 0 {
			if first < 0 {
				first = i
			} else {
				n++
			}
			last = i
		}
	}
	if n == 0 {
		return 0
	}
	return float64(n) * rate / float64(last-first)
}
