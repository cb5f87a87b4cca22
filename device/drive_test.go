package device

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"conch/gpio"
)

// wire is a pin that remembers.
type wire struct {
	mu         sync.Mutex // owns all below
	high, open bool
	fails      error // what Set says
	refuse     error // what the next open says
}

func (w *wire) take(high bool) (output, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.refuse != nil {
		return nil, w.refuse
	}
	w.high, w.open, w.fails = high, true, nil
	return w, nil
}

func (w *wire) fail(refuse, fails error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.refuse, w.fails = refuse, fails
}

func (w *wire) is() (high, open bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.high, w.open
}

func (w *wire) Set(high bool) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.fails != nil {
		return w.fails
	}
	w.high = high
	return nil
}

func (w *wire) Close() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.open = false
	return nil
}

func TestPinsAreHeldAndGivenBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		amplifier, busy := &wire{}, fmt.Errorf("gpio: open GPIO25: %w: sdmode holds it", gpio.ErrPinInUse)
		var log bytes.Buffer
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() {
			defer close(done)
			holdPins(ctx, []gpio.Drive{{Pin: 16, High: true, Use: "enables the amplifier"}, {Pin: 25, Use: "unmutes"}}, func(d gpio.Drive) (output, error) {
				if d.Pin == 25 {
					return nil, busy
				}
				return amplifier.take(d.High)
			}, slog.New(slog.NewTextHandler(&log, nil)))
		}()
		after(driveEvery * 3)
		if high, open := amplifier.is(); !high || !open {
			t.Error("the amplifier is not on")
		}
		amplifier.fail(gpio.ErrNoChip, gpio.ErrGone)
		after(driveEvery * 3)
		if _, open := amplifier.is(); open {
			t.Error("a pin that is gone is still held")
		}
		amplifier.fail(nil, nil)
		after(driveEvery)
		if high, open := amplifier.is(); !high || !open {
			t.Error("the pin came back and is not held")
		}
		cancel()
		<-done
		if _, open := amplifier.is(); open {
			t.Error("the pin is not given back")
		}
		for event, want := range map[string]int{logDriveHeld: 2, logDriveOther: 1, logDriveLost: 1} {
			if got := strings.Count(log.String(), event); got != want {
				t.Errorf("%s %d times; want %d\n%s", event, got, want, log.String())
			}
		}
	})
}
