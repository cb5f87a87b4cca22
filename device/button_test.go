package device

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"testing"
	"time"

	"conch/audio"
	"conch/device/condition"
	"conch/gpio"
)

// brokenContact is touched, and gone before anybody knows what the touch was.
type brokenContact struct{}

func (brokenContact) Run(_ context.Context, on func(gpio.Event)) error {
	on(gpio.Event{Kind: gpio.Touched})
	return errors.New("the chip is gone")
}
func (brokenContact) Touchable() bool     { return true }
func (brokenContact) CaptureEnded(uint64) {}
func (brokenContact) Call(f func()) bool  { f(); return true }
func (brokenContact) String() string      { return "broken contact" }

func TestButtonLostAtItsFirstEdgeLeavesTheSpeakerOn(t *testing.T) {
	s := audio.NewSpeaker(audio.SpeakerConfig{Now: func() time.Duration { return 0 }})
	d := &presses{speaker: s, conds: condition.NewBook(slog.New(slog.DiscardHandler))}
	if err := d.run(t.Context(), &contact{Events: brokenContact{}, button: 1}); err != nil {
		t.Errorf("run() = %v; want a condition, not the end of the device", err)
	}
	if l := d.conds.List(); len(l) != 1 || l[0].Code != "button.lost" {
		t.Errorf("conditions %+v; want button.lost", l)
	}
	s.Play(slices.Repeat([]int16{10000}, audio.Rate/10), false, s.Generation())
	out := make([]int16, audio.CardRate/20)
	s.Render(out)
	if slices.Max(out) == 0 {
		t.Error("nothing can be heard any more")
	}
}
