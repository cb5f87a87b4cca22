package doctor

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"strconv"
	"strings"
	"time"

	"conch/audio"
	"conch/device/config"
	"conch/device/control"
	"conch/device/sound"
	"conch/device/state"
	"conch/device/usage"
)

// askRunning asks the running appliance for its status and metrics.
func askRunning(ctx context.Context, r *control.Remote) (Running, error) {
	var s control.Status
	if err := r.Do(ctx, "GET", "/status", nil, &s); err != nil {
		return Running{}, err
	}
	out := Running{Version: s.Version, State: s.State, Sound: s.Sound, Voice: s.Voice, Button: s.Button, Turns: s.Turns, Ready: s.Ready, Muted: s.Muted,
		Metrics: map[string]float64{}, Servers: s.Servers}
	for _, c := range s.Conditions {
		out.Conditions = append(out.Conditions, Condition{Code: string(c.Code), Text: c.Text, Do: c.Do, Since: c.Since})
	}
	if s.Today != nil {
		out.Used = Used{Tokens: s.Today.Tokens, Cost: s.Today.Cost, Estimated: s.Today.Estimated}
	}
	_ = r.Lines(ctx, "/metrics", func(line []byte) { // its error is the end of the text
		name, value, _ := strings.Cut(string(line), " ")
		if v, err := strconv.ParseFloat(value, 64); err == nil {
			out.Metrics[name] = v
		}
	})
	return out, nil
}

func usedToday(cfg config.Config, now time.Time) Used {
	sum := usage.Kept(cfg.State.Dir, now)
	return Used{Tokens: sum.Tokens(), Cost: sum.Cost, Estimated: sum.Estimated}
}

func measured(cfg config.Config) Measured {
	var last state.Silence
	switch err := state.Look(cfg.State.Dir, state.SilenceFile, &last); {
	case errors.Is(err, os.ErrNotExist):
		return Measured{}
	case errors.Is(err, os.ErrPermission):
		return Measured{Hidden: true}
	case err != nil:
		return Measured{Err: errors.New("the last measurement cannot be read: it is broken")}
	}
	if last.Granted.Backend == audio.BackendNull { // of a conch that took one for a card
		return Measured{}
	}
	worst, p99 := last.Worst()
	return Measured{When: last.When, Card: last.Card, P99: p99, Worst: worst}
}

// openSound opens loudspeaker and microphone as the appliance would, and closes them.
func openSound(cfg config.Config) (o Opened, err error) {
	card, err := audio.NewCard(cfg.Audio.Backend, slog.New(slog.DiscardHandler))
	if err != nil {
		return o, err
	}
	defer card.Close()
	g, err := sound.OpenLoudspeaker(cfg, card)
	if err != nil {
		return o, err
	}
	o = Opened{Backend: g.Backend, Playback: g.Name, Buffer: g.Buffer(sound.Playback(cfg.Audio)), Bound: g.Bound(cfg.Audio.Fade)}
	c, err := card.OpenCapture(sound.Capture(cfg.Audio), func([]int16) {})
	if err != nil {
		o.CaptureErr = err
		return o, nil
	}
	o.Capture = c.Granted().Name
	_ = c.Close()
	return o, nil
}
