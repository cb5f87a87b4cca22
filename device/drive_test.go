package device

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"

	"conch/gpio"
)

// wire is a pin that remembers.
type wire struct {
	high, open bool
	fails      error
}

func (w *wire) Set(high bool) error {
	if w.fails != nil {
		return w.fails
	}
	w.high = high
	return nil
}

func (w *wire) Close() error {
	w.open = false
	return nil
}

func TestPinsAreHeldAndGivenBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		amplifier, busy := &wire{}, fmt.Errorf("gpio: open GPIO25: %w: sdmode holds it", gpio.ErrPinInUse)
		refuse := error(nil)
		var log bytes.Buffer
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() {
			defer close(done)
			holdPins(ctx, []gpio.Drive{{Pin: 16, High: true, Use: "enables the amplifier"}, {Pin: 25, Use: "unmutes"}}, func(d gpio.Drive) (outlet, error) {
				if d.Pin == 25 {
					return nil, busy
				}
				if refuse != nil {
					return nil, refuse
				}
				*amplifier = wire{high: d.High, open: true}
				return amplifier, nil
			}, slog.New(slog.NewTextHandler(&log, nil)))
		}()
		after(driveEvery * 3)
		if !amplifier.high || !amplifier.open {
			t.Error("the amplifier is not on")
		}
		refuse, amplifier.fails = gpio.ErrNoChip, gpio.ErrGone
		after(driveEvery * 3)
		if amplifier.open {
			t.Error("a pin that is gone is still held")
		}
		refuse = nil
		after(driveEvery)
		if !amplifier.high || !amplifier.open {
			t.Error("the pin came back and is not held")
		}
		cancel()
		<-done
		if amplifier.open {
			t.Error("the pin is not given back")
		}
		for event, want := range map[string]int{logDriveHeld: 2, logDriveOther: 1, logDriveLost: 1} {
			if got := strings.Count(log.String(), event); got != want {
				t.Errorf("%s %d times; want %d\n%s", event, got, want, log.String())
			}
		}
	})
}
