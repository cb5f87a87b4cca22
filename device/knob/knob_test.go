package knob

import (
	"context"
	"log/slog"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"conch/device/config"
	"conch/gpio"
)

type target struct {
	now   int
	was   []int
	ticks int
}

func (t *target) Change(to func(int) int) int {
	t.now = to(t.now)
	t.was = append(t.was, t.now)
	return t.now
}
func (t *target) Tick() { t.ticks++ }

func TestStepsOfAKnob(t *testing.T) {
	for _, row := range []struct {
		name string
		from int
		by   []gpio.Volume
		want []int
	}{
		{"louder and softer", 50, []gpio.Volume{gpio.Louder, gpio.Louder, gpio.Softer}, []int{55, 60, 55}},
		{"it ends at 100", 93, []gpio.Volume{gpio.Louder, gpio.Louder, gpio.Softer}, []int{98, 100, 95}},
		{"it ends at 0", 7, []gpio.Volume{gpio.Softer, gpio.Softer, gpio.Louder}, []int{2, 0, 5}},
		{"mute and back", 40, []gpio.Volume{gpio.Mute, gpio.Mute}, []int{0, 40}},
		{"mute, louder", 40, []gpio.Volume{gpio.Mute, gpio.Louder}, []int{0, 5}},
		{"mute what is silent", 0, []gpio.Volume{gpio.Mute}, []int{5}},
	} {
		k := New(config.Default(), slog.New(slog.DiscardHandler))
		x := &target{now: row.from}
		for _, v := range row.by {
			k.turn(x, v)
		}
		if !slices.Equal(x.was, row.want) || x.ticks != len(row.by) {
			t.Errorf("%s: %v with %d ticks; want %v", row.name, x.was, x.ticks, row.want)
		}
	}
}

// Of a quick turn only the last step is told, and a turn without end holds nobody up.
func TestAQuickTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := New(config.Default(), slog.New(slog.DiscardHandler))
		for range 200 {
			k.Key(gpio.Louder)
		}
		x := &target{}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- k.Run(ctx, x) }()
		time.Sleep(time.Second)
		cancel()
		if err := <-ended; err != nil || x.now != 100 || x.ticks != 1 {
			t.Errorf("%d with %d ticks, %v; want 100 with one", x.now, x.ticks, err)
		}
	})
}

// Keys are read where the configuration allows it: who reads them can read a keyboard.
func TestVolumeKeysAreReadWhereThatIsAllowed(t *testing.T) {
	for _, row := range []struct {
		source, keys string
		want         bool
	}{{"gpio", "auto", false}, {"evdev", "auto", true}, {"gpio", "on", true}, {"evdev", "off", false}} {
		c := config.Default()
		c.Button.Source, c.Knob.Keys = row.source, row.keys
		if k := New(c, nil); (k.Volume() != nil) != row.want {
			t.Errorf("button.source %s, knob.keys %s: %s", row.source, row.keys, k)
		}
	}
}
