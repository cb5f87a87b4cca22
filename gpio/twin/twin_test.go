package twin_test

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"conch/gpio"
	"conch/gpio/twin"
)

// The touch is reported at the instant of the edge; the press 25 ms after the last bounce, stamped with the first.
func TestTouchHasNoDelay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		clock := func() time.Duration { return time.Since(start) }
		b := twin.NewButton(gpio.ButtonOptions{Clock: clock})
		type seen struct {
			event gpio.Event
			at    time.Duration
		}
		var all []seen
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- b.Run(ctx, func(ev gpio.Event) { ev.Press = 0; all = append(all, seen{ev, clock()}) }) }()
		time.Sleep(time.Second + 123*time.Microsecond) // not at one of the looks
		pressed := clock()
		b.Press()
		bounce(5, b.Release, b.Press) // 2 ms
		time.Sleep(time.Second)
		released := clock()
		b.Release()
		time.Sleep(time.Second)
		cancel()
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		want := []seen{
			{gpio.Event{Kind: gpio.Touched, At: pressed}, pressed},
			{gpio.Event{Kind: gpio.Pressed, At: pressed}, pressed + 1800*time.Microsecond + gpio.PressAfter},
			{gpio.Event{Kind: gpio.Released, At: released}, released + 25*time.Millisecond},
		}
		if len(all) != len(want) {
			t.Fatalf("got %v\nwant %v", all, want)
		}
		for i := range want {
			if all[i] != want[i] {
				t.Errorf("event %d: got %v; want %v", i, all[i], want[i])
			}
		}
	})
}

func TestTapModeFollowsTheRecording(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := twin.NewButton(gpio.ButtonOptions{Mode: gpio.Tap})
		var kinds []string
		var presses []uint64
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error)
		go func() {
			done <- b.Run(ctx, func(ev gpio.Event) {
				kinds = append(kinds, ev.Kind.String())
				if ev.Kind == gpio.Pressed {
					presses = append(presses, ev.Press)
				}
			})
		}()
		tap := func() {
			time.Sleep(time.Second)
			b.Press()
			time.Sleep(100 * time.Millisecond)
			b.Release()
		}
		time.Sleep(time.Second)
		tap()
		tap()
		tap()
		time.Sleep(time.Minute)
		synctest.Wait()
		second := presses[1]
		b.CaptureEnded(second)
		tap()
		b.CaptureEnded(second) // which is no news of the one after it
		tap()
		time.Sleep(time.Second)
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
		const want = "touched pressed touched released touched pressed touched pressed touched released"
		if got := strings.Join(kinds, " "); got != want {
			t.Errorf("got %s\nwant %s", got, want)
		}
	})
}

// A thousand presses in thirty seconds, each too soon after the one before: nothing wedges.
func TestThousandPressesInHaste(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := twin.NewButton(gpio.ButtonOptions{})
		counts := make(map[gpio.Kind]int)
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- b.Run(ctx, func(ev gpio.Event) { counts[ev.Kind]++ }) }()
		time.Sleep(time.Second)
		for range 1000 {
			b.Press()
			time.Sleep(26 * time.Millisecond)
			b.Release()
			time.Sleep(5 * time.Millisecond)
		}
		time.Sleep(time.Second)
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
		// 5 ms up is no release: it is one press with a chattering contact, and ends.
		if counts[gpio.Pressed] == 0 || counts[gpio.Pressed] != counts[gpio.Released] {
			t.Errorf("%d presses, %d releases; want as many, and some", counts[gpio.Pressed], counts[gpio.Released])
		}
		t.Log(counts)
	})
}

// watchedLine counts how often it is waited for.
type watchedLine struct {
	*twin.Line
	waits atomic.Int64
}

func (l *watchedLine) Wait(d time.Duration) bool { l.waits.Add(1); return l.Line.Wait(d) }

// A virtual line misses nothing, so that nobody looks at it in vain; who wants a sign has it at once.
func TestAVirtualLineIsNotLookedAtInVain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		line := &watchedLine{Line: twin.NewLine("twin")}
		b := gpio.NewButton(line, gpio.ButtonOptions{})
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- b.Run(ctx, func(gpio.Event) {}) }()
		time.Sleep(time.Minute)
		if n := line.waits.Load(); n > 2 {
			t.Errorf("waited for %d times in a minute in which nothing happened; want once, and once to see that it is up", n)
		}
		for range 200 { // more than would make a broken line
			called := make(chan struct{})
			if !b.Call(func() { close(called) }) {
				t.Fatal("the call is refused")
			}
			began := time.Now()
			<-called
			if d := time.Since(began); d > 0 {
				t.Fatalf("a call was answered after %v; want at once", d)
			}
		}
		began := time.Now()
		cancel()
		if err := <-done; err != nil || time.Since(began) > 0 {
			t.Errorf("Run = %v after %v; want nil, at once", err, time.Since(began))
		}
	})
}

type brokenLine struct{ gpio.Line }

func (brokenLine) Wait(time.Duration) bool { return false }
func (brokenLine) Down() bool              { return false }
func (brokenLine) Err() error              { return nil }
func (brokenLine) Wake()                   {}
func (brokenLine) String() string          { return "GPIO17 on nothing" }

// A wait that does not wait must not take a core.
func TestLineThatDoesNotWaitIsAnError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		err := gpio.NewButton(brokenLine{}, gpio.ButtonOptions{}).Run(t.Context(), func(gpio.Event) {})
		const want = "gpio: GPIO17 on nothing: waiting for an edge returns at once; is the chip still there (gpiodetect)?"
		if err == nil || err.Error() != want {
			t.Errorf("Run = %v; want %s", err, want)
		}
	})
}

type hummingLine struct {
	gpio.Line
	edges int
}

func (l *hummingLine) Wait(time.Duration) bool { l.edges++; return true }
func (l *hummingLine) Err() error              { return nil }
func (l *hummingLine) Wake()                   {}
func (l *hummingLine) Down() bool              { return l.edges%2 == 1 }
func (l *hummingLine) String() string          { return "GPIO17 on a transmitter" }

// A wire that hums without end costs a thousand looks a second and not a core.
func TestHummingLineIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		line := &hummingLine{}
		start := time.Now()
		var calls time.Duration
		clock := func() time.Duration { calls += time.Microsecond; return time.Since(start) + calls }
		events := 0
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		err := gpio.NewButton(line, gpio.ButtonOptions{Clock: clock}).Run(ctx, func(gpio.Event) { events++ })
		if err != nil || events > 0 || line.edges > 35_000 {
			t.Errorf("Run = %v, %d events, %d looks; want no event, for it was never seen up, and at most 3 looks a millisecond", err, events, line.edges)
		}
	})
}
