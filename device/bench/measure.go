package bench

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"time"

	"conch/audio"
	"conch/device/config"
	"conch/device/control"
	"conch/device/state"
)

// MeasureSilence is `conch bench silence`: on this machine's card, or on the virtual one; judged by the speaker's account, or
// in the air by the machine's own microphone.
func MeasureSilence(ctx context.Context, cfg config.Config, presses int, states []string, virtual, air bool, progress io.Writer) (state.Silence, error) {
	b := Silence{Config: cfg, Presses: presses, States: states, Progress: progress}
	var stop func() error
	if virtual {
		stop = b.onVirtualCard(ctx)
	} else {
		card, err := audio.NewCard(cfg.Audio.Backend, slog.New(slog.DiscardHandler))
		if err != nil {
			return state.Silence{}, err
		}
		b.Card, b.Name = card, "this machine's card"
		stop = func() error { card.Close(); return nil }
	}
	switch {
	case air && virtual:
		return state.Silence{}, fmt.Errorf("%w: bench silence: the virtual card has no air: leave out --virtual or --air", control.ErrRefused)
	case air:
		b.inTheAir()
	}
	report, err := b.Run(ctx)
	if e := stop(); err == nil {
		err = e
	}
	if err != nil || virtual || cfg.State.Dir == "" {
		return report, err
	}
	s, err := state.Open(cfg.State.Dir)
	if err == nil {
		err = s.Save(state.SilenceFile, report)
	}
	if err != nil {
		fmt.Fprintln(progress, "conch: the result is not kept for doctor:", err)
	}
	return report, nil
}

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// clock counts from now.
func clock() func() time.Duration {
	start := time.Now()
	return func() time.Duration { return time.Since(start) }
}
