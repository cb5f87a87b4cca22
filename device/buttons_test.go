package device

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"conch/audio"
	"conch/device/buttons"
	"conch/device/condition"
	"conch/gpio"
	"conch/gpio/twin"
)

// frail is a line that can end.
type frail struct {
	*twin.Line
	died atomic.Pointer[error]
}

func (m *frail) Err() error {
	if err := m.died.Load(); err != nil {
		return *err
	}
	return nil
}

func (m *frail) die(err error) {
	m.died.Store(&err)
	m.Set(!m.Down()) // wakes the reader
}

// bench is a device with a button that can be taken away, in virtual time.
type buttonBench struct {
	d *presses
	r *buttons.Reopened

	mu      sync.Mutex // owns all below
	line    *frail     // of the last open
	opens   int
	opened  []time.Duration
	refuse  error // what the next open says
	events  []string
	started time.Time
}

func newButtonBench(quiet bool) *buttonBench {
	b := &buttonBench{started: time.Now()}
	b.d = &presses{log: slog.New(slog.DiscardHandler), conds: condition.NewBook(slog.New(slog.DiscardHandler)),
		speaker: audio.NewSpeaker(audio.SpeakerConfig{Now: func() time.Duration { return 0 }})}
	b.r = buttons.Reopen("GPIO17", quiet, func() (*gpio.Button, error) {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.opens++
		b.opened = append(b.opened, time.Since(b.started))
		if b.refuse != nil {
			return nil, b.refuse
		}
		b.line = &frail{Line: twin.NewLine("GPIO17 on pinctrl-rp1")}
		return gpio.NewButton(b.line, gpio.ButtonOptions{}), nil
	})
	return b
}

// run runs the button until the test ends.
func (b *buttonBench) run(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		b.r.Log = func(err error) { b.d.report(&contact{Events: b.r, button: 1}, err) }
		ended <- b.r.Run(ctx, func(e gpio.Event) {
			b.mu.Lock()
			defer b.mu.Unlock()
			b.events = append(b.events, e.Kind.String())
		})
	}()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("Run = %v; want nil: a button that goes is a condition", err)
		}
	})
	after(time.Second)
}

// refuses says what the next open says.
func (b *buttonBench) refuses(err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.refuse = err
}

// wire is the line of the last open.
func (b *buttonBench) wire() *frail {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.line
}

func after(d time.Duration) { <-time.After(d); synctest.Wait() }

func (b *buttonBench) condition(t *testing.T, text, do string) {
	t.Helper()
	l := b.d.conds.List()
	if text == "" {
		if len(l) > 0 {
			t.Errorf("conditions %+v; want none", l)
		}
		return
	}
	if len(l) != 1 || l[0].Code != condition.ButtonLost || !strings.Contains(l[0].Text, text) || !strings.Contains(l[0].Do, do) {
		t.Errorf("conditions %+v\nwant button.lost: %s -> %s", l, text, do)
	}
}

func TestButtonThatGoesComesBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newButtonBench(false)
		b.run(t)
		b.condition(t, "", "")
		if got := b.r.String(); got != "GPIO17 on pinctrl-rp1" {
			t.Errorf("String() = %q", got)
		}
		b.refuses(fmt.Errorf("gpio: open GPIO17: %w: there is none", gpio.ErrNoChip))
		b.wire().die(fmt.Errorf("%w (no such device)", gpio.ErrGone))
		after(100 * time.Millisecond)
		b.condition(t, "GPIO17 on pinctrl-rp1: the GPIO chip is gone", "comes back by itself when the chip does")
		after(10 * time.Second)
		b.condition(t, "there is none", "comes back by itself")
		if got := b.r.String(); got != "GPIO17 (not there)" {
			t.Errorf("String() = %q", got)
		}
		b.refuses(nil)
		after(buttons.ReopenMost)
		b.condition(t, "", "")
		if len(b.events) > 0 {
			t.Errorf("events %q; want none: nobody has pressed", b.events)
		}
		b.wire().Set(true)
		after(time.Second)
		b.wire().Set(false)
		after(time.Second)
		if want := []string{"touched", "pressed", "released"}; !slices.Equal(b.events, want) {
			t.Errorf("events %q; want %q: the new line is the button", b.events, want)
		}
	})
}

// A button that stays away costs an open every two seconds, and no more.
func TestButtonThatStaysAwayCostsLittle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newButtonBench(false)
		b.refuses(gpio.ErrNoChip)
		b.run(t)
		after(time.Hour)
		b.mu.Lock()
		defer b.mu.Unlock()
		if b.opens < 1700 || b.opens > 1900 {
			t.Errorf("%d opens in an hour; want one every two seconds", b.opens)
		}
		for i, want := range []int64{0, 250, 750, 1750, 3750, 5750} {
			if got := b.opened[i].Milliseconds(); got != want {
				t.Errorf("open %d at %d ms; want %d", i, got, want)
			}
		}
	})
}

func TestPressThatItsChipTakesAwayHasVanished(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, c := range []struct {
			held time.Duration
			want string
		}{
			{2 * time.Millisecond, "touched glitched"},
			{time.Second, "touched pressed vanished"},
			{7 * time.Second, "touched pressed vanished"}, // and no long press: nobody let it go
		} {
			b := newButtonBench(false)
			b.run(t)
			b.wire().Set(true)
			after(c.held)
			b.wire().die(gpio.ErrGone)
			after(time.Second)
			if got := strings.Join(b.events, " "); got != c.want {
				t.Errorf("after %s: %s; want %s", c.held, got, c.want)
			}
		}
	})
}

// Nobody asked for a pin: that the machine has none is no trouble, that it goes away is.
func TestButtonNobodyAskedForIsNotMissed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newButtonBench(true)
		b.refuses(gpio.ErrNoChip)
		b.run(t)
		after(time.Minute)
		b.condition(t, "", "")
		b.refuses(nil)
		after(buttons.ReopenMost)
		b.refuses(gpio.ErrNoChip)
		b.wire().die(gpio.ErrGone)
		after(time.Second)
		b.condition(t, "no GPIO chip", "comes back")
	})
}

// The watchdog's token comes back whatever the button does, and none is lost between one button and the next.
func TestReopenedButtonAnswersItsCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newButtonBench(false)
		b.run(t)
		var count atomic.Int64
		call := func(when string) {
			t.Helper()
			want := count.Load() + 1
			if !b.r.Call(func() { count.Add(1) }) {
				t.Errorf("%s: the call is refused", when)
			}
			after(time.Second)
			if count.Load() != want {
				t.Errorf("%s: not answered within a second", when)
			}
		}
		call("while it runs")
		b.refuses(gpio.ErrNoChip)
		b.r.Call(func() { count.Add(1) })
		b.wire().die(gpio.ErrGone)
		after(time.Second)
		if answered := count.Load(); answered != 2 {
			t.Errorf("the call that came as the chip went was answered %d times", answered-1)
		}
		call("while it is away")
		after(time.Minute)
		b.r.Call(func() { count.Add(1) })
		if b.r.Call(func() {}) {
			t.Error("two calls wait, though one is all there is room for")
		}
		b.refuses(nil)
		after(5 * time.Second)
		if answered := count.Load(); answered != 4 {
			t.Errorf("the call before it came back was answered %d times", answered-3)
		}
	})
}

func TestRemediesOfAButton(t *testing.T) {
	for want, err := range map[string]error{
		"end what holds the pin":     gpio.ErrPinInUse,
		"the group that the message": gpio.ErrNoRights,
		"conch gpio learn finds it":  gpio.ErrPinTaken,
		"button.device":              gpio.ErrNoKeys,
		"conch gpio list":            gpio.ErrNoChip,
		"conch doctor":               errors.New("read: bad message"),
	} {
		if got := buttons.Remedy(fmt.Errorf("gpio: %w", err)); !strings.Contains(got, want) {
			t.Errorf("%v: %q; want %q in it", err, got, want)
		}
	}
}
