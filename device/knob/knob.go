// Package knob changes the volume without a word: by a rotary encoder on two pins, and by the volume keys of a USB speakerphone.
//
//	encoder (gpio) ──┐
//	keys of a device ├─> steps, which wait for nobody ─> Run ─> Target: sounds at once, is kept, and a tone tells how loud
//	keys of the button's own device ─┘
package knob

import (
	"cmp"
	"context"
	"log/slog"
	"sync"
	"time"

	"conch/device/config"
	"conch/gpio"
)

// Log events.
const (
	logOpen = "volume.open" // what: it can be turned, or pressed
	logLost = "volume.lost" // what, err: it cannot; one tries again
	logSet  = "volume.set"  // percent: by hand
)

// Target is what a knob turns.
type Target interface {
	// Change sets what becomes of the volume there is now, keeps it, and says what that is.
	Change(to func(percent int) int) int
	// Tick tells how loud it is now.
	Tick()
}

// Knob is everything by which this device is made louder.
type Knob struct {
	// fixed
	encoder, chip string
	keys          bool
	step          int
	log           *slog.Logger
	again         time.Duration

	steps chan gpio.Volume
	loud  int // before it was muted by a key; owned by Run
}

// again is our choice: a chip that was unbound is back within some seconds, and looking costs next to nothing.
const again = 5 * time.Second

// New takes what the configuration says; nothing is opened before Run.
func New(c config.Config, log *slog.Logger) *Knob {
	return &Knob{
		encoder: c.Knob.Encoder, chip: c.Button.Chip, step: c.Knob.Step, log: log, again: again,
		keys: c.Knob.Pressed(c.Button.Source), steps: make(chan gpio.Volume, 64),
	}
}

// String is what there is to turn, for people and tests.
func (k *Knob) String() string {
	s := cmp.Or(k.encoder, "no encoder")
	if k.keys {
		s += ", volume keys"
	}
	return s
}

// Key takes what a key or a step of the encoder asks for. It never waits: of more than 64 that nobody has looked at the rest is lost.
func (k *Knob) Key(v gpio.Volume) {
	select {
	case k.steps <- v:
	default:
	}
}

// Volume is Key for the device that is the button; nil: its volume keys are nobody's.
func (k *Knob) Volume() func(gpio.Volume) {
	if !k.keys {
		return nil
	}
	return k.Key
}

// Run turns t until ctx ends.
func (k *Knob) Run(ctx context.Context, t Target) error {
	var sources sync.WaitGroup
	defer sources.Wait()
	if k.encoder != "" {
		sources.Go(func() { k.watch(ctx) })
	}
	if k.keys {
		sources.Go(func() { _ = gpio.VolumeKeys{Every: k.again}.Run(ctx, k.Key) })
	}
	for {
		select {
		case <-ctx.Done():
			return nil
		case v := <-k.steps:
			k.turn(t, v)
		}
	}
}

// turn carries out one step.
func (k *Knob) turn(t Target, v gpio.Volume) {
	percent := t.Change(func(now int) int {
		switch {
		case v != gpio.Mute:
			return min(100, max(0, now+int(v)*k.step))
		case now > 0:
			k.loud = now
			return 0
		}
		return cmp.Or(k.loud, k.step)
	})
	k.log.Debug(logSet, "percent", percent)
	if len(k.steps) == 0 { // of a quick turn the last one
		t.Tick()
	}
}

// watch keeps the encoder open.
func (k *Knob) watch(ctx context.Context) {
	said := ""
	for ctx.Err() == nil {
		e, err := gpio.OpenEncoder(k.encoder, k.chip)
		if err == nil {
			k.log.Info(logOpen, "what", e.String())
			said = ""
			err = e.Run(ctx, func(by int) { k.Key(gpio.Volume(by)) })
			e.Close()
		}
		if err != nil && err.Error() != said {
			said = err.Error()
			k.log.Warn(logLost, "what", "encoder on "+k.encoder, "err", err)
		}
		pause := time.NewTimer(k.again)
		select {
		case <-ctx.Done():
		case <-pause.C:
		}
		pause.Stop()
	}
}
