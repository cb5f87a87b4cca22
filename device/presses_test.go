package device

import (
	"context"
	"runtime"
	"testing"
	"time"

	"conch/coordinator/turn"
	"conch/gpio"
)

// hail is a button that gives n confirmed presses, one every gap. No finger and no debounced contact is that fast.
type hail struct {
	n     int
	gap   time.Duration
	now   func() time.Duration
	begin chan struct{}
	done  chan struct{}
}

func (h *hail) String() string { return "hail" }

func (h *hail) Touchable() bool { return true }

func (h *hail) CaptureEnded(uint64) {}

func (h *hail) Call(f func()) bool { f(); return true }

func (h *hail) Run(ctx context.Context, on func(gpio.Event)) error {
	select {
	case <-h.begin:
	case <-ctx.Done():
		return nil
	}
	tick := time.NewTicker(h.gap / 2)
	defer tick.Stop()
	for range h.n {
		on(gpio.Event{Kind: gpio.Touched, At: h.now()})
		on(gpio.Event{Kind: gpio.Pressed, At: h.now()})
		<-tick.C
		on(gpio.Event{Kind: gpio.Released, At: h.now()})
		<-tick.C
	}
	close(h.done)
	<-ctx.Done()
	return nil
}

// A thousand presses in ten seconds, each confirmed, into an answer: a thousand turns end once each, nothing grows, and the
// question after them is answered. It runs alone, because it looks at the memory.
func TestAThousandPressesInTenSeconds(t *testing.T) {
	if !alone(t) {
		return
	}
	const n = 1000
	h := &hail{n: n, gap: 10 * time.Millisecond, begin: make(chan struct{}), done: make(chan struct{})}
	wave := &watched{Events: h}
	b := newBox(t, boxOptions{buttons: func(now func() time.Duration) []gpio.Events {
		h.now = now
		return []gpio.Events{wave}
	}, others: &wave.presses})
	b.answered(b.ask("short"))
	heap, routines := heapInUse(), b.goroutines()
	b.question("long")
	b.until("speaking", b.Speaking)
	close(h.begin)
	<-h.done
	b.quiet()
	if got := wave.presses.Load(); got != n {
		t.Fatalf("%d presses", got)
	}
	b.until("at the end of every turn", func() bool { return len(b.turnsEnded()) == n+2 })
	if b.coordinator.State() != turn.Idle {
		t.Errorf("state %v; want IDLE", b.coordinator.State())
	}
	for _, r := range b.turnsEnded()[2:] {
		if r.Reason != turn.TooShort.String() && r.Reason != turn.InterruptedByPress.String() && r.Reason != turn.Silenced.String() {
			t.Errorf("turn %s ended %s (%s); want too_short or interrupted", r.Turn, r.Reason, r.Words)
			break
		}
	}
	b.fine()
	if got := b.goroutines(); got > routines+8 {
		t.Errorf("%d goroutines after %d presses, %d before", got, n, routines)
	}
	if got := heapInUse(); got > heap+16<<20 {
		t.Errorf("%d KB of heap after %d presses, %d KB before", got>>10, n, heap>>10)
	}
}

// heapInUse is what is left after a collection.
func heapInUse() uint64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// The same through a contact: a finger that drums on a bad switch is, for a debounced button, clicks between presses whose
// releases are too short to be any. Whatever it makes of it, every turn ends once.
func TestHundredsOfTouchesOfTheContact(t *testing.T) {
	t.Parallel()
	b := newBox(t, boxOptions{})
	b.question("long")
	b.until("speaking", b.Speaking)
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	const touches = 400
	for i := range touches {
		b.hand.Press()
		for range 1 + i%2*6 { // a click of 5 ms, then a press of 35
			<-tick.C
		}
		b.hand.Release()
		<-tick.C
		if i%5 == 4 { // and rests long enough for a release
			b.pause(30 * time.Millisecond)
		}
	}
	b.until("released", func() bool { return b.seen.releases.Load() == b.seen.presses.Load() })
	b.quiet()
	n := int(b.seen.presses.Load())
	t.Logf("%d presses of %d touches", n, touches)
	if n < touches/10 || len(b.turnsEnded()) != n+1 {
		t.Errorf("%d presses made %d turns; want one in ten touches at least, and one turn more than presses", n, len(b.turnsEnded()))
	}
	b.fine()
}
