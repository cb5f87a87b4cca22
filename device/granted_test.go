package device

import (
	"bytes"
	"log/slog"
	"strconv"
	"strings"
	"testing"
	"time"

	"conch/audio/alsacard"
	"conch/device/config"
	"conch/device/sound"
)

// What a card gave is said wherever somebody looks, and so is what is not as it was asked for: a buffer that the card does not have,
// periods that it does not do, frames that it does not give back.
func TestWhatWasGrantedIsSaid(t *testing.T) { //nolint:tparallel // its rows have one environment, one after the other
	if !alone(t) {
		return
	}
	for _, row := range []struct {
		name    string
		card    alsacard.Options
		period  time.Duration
		periods int
		want    string
		slow    bool
	}{
		{"as shipped", alsacard.Options{}, 5 * time.Millisecond, 0,
			"240 frames x 8 at 48000 Hz, of which it gives back what it has not played, but for 1 ms", true},
		{"a card that copies ahead", alsacard.Options{Batch: true}, 5 * time.Millisecond, 0,
			"240 frames x 8 at 48000 Hz, of which it gives back what it has not played, but for 6 ms", false},
		{"a card that refuses", alsacard.Options{Rewind: alsacard.RewindNone}, 5 * time.Millisecond, 0,
			"240 frames x 3 at 48000 Hz, which it keeps (the card does not give back what waits in it: 0 % of what was asked for)", false},
		{"a card that lies", alsacard.Options{Rewind: alsacard.RewindLies}, 5 * time.Millisecond, 0, "240 frames x 3 at 48000 Hz, which it keeps (the card", true},
		{"a card that forbids", alsacard.Options{Rewind: alsacard.RewindError}, 5 * time.Millisecond, 0, "operation not permitted)", true},
		{"more than it has", alsacard.Options{MaxBuffer: 1200}, 20 * time.Millisecond, 16, "600 frames x 2 at 48000 Hz (asked for 20ms x 16)", false},
		{"longer periods than asked for", alsacard.Options{MinPeriod: 960}, 5 * time.Millisecond, 4, "960 frames x 2 at 48000 Hz (asked for 5ms x 4)", false},
	} {
		t.Run(row.name, func(t *testing.T) {
			if row.slow {
				slow(t)
			}
			row.card.Silence = true
			sim := alsacard.Start(t, row.card)
			cfg := config.Default()
			cfg.Audio.Backend, cfg.Audio.Playback, cfg.Audio.Capture = "alsa", sim.Device(), sim.Device()
			cfg.Audio.Period, cfg.Audio.Periods = row.period, row.periods
			cfg.State.Runtime = t.TempDir()
			var log bytes.Buffer
			text := sound.Loudspeaker(t.Context(), cfg, slog.New(slog.NewTextHandler(&log, nil)))
			if !strings.Contains(text, row.want) || !strings.Contains(text, "; silent within ") {
				t.Errorf("%q; want %q and a bound", text, row.want)
			}
			_, granted, _ := strings.Cut(text, ": ")
			granted, bound, _ := strings.Cut(granted, "; silent within ")
			said := doctorOf(t, cfg)
			if !strings.Contains(said, granted) {
				t.Errorf("doctor says %s; want %q", said, granted)
			}
			var out bytes.Buffer
			_ = sound.Test(t.Context(), cfg, slog.New(slog.DiscardHandler), 10*time.Millisecond, &out) // nobody speaks
			if !strings.Contains(out.String(), granted+"; silent within "+bound) {
				t.Errorf("audio test says %s; want %q, silent within %q", out.String(), granted, bound)
			}
		})
	}
}

// doctorOf is what doctor says of the sound that it opens.
func doctorOf(t *testing.T, cfg config.Config) string {
	t.Helper()
	var out strings.Builder
	d := diagnose(t, map[string]string{"audio.backend": cfg.Audio.Backend, "audio.playback": cfg.Audio.Playback, "audio.capture": cfg.Audio.Capture,
		"audio.period_ms": strconv.FormatInt(cfg.Audio.Period.Milliseconds(), 10), "audio.periods": strconv.Itoa(cfg.Audio.Periods),
		"state.dir": t.TempDir(), "state.runtime": t.TempDir(), "button.source": "none", "voice.kind": "rehearsal", "room.discovery": "off", "room.port": "0"})
	d.Print(&out, true)
	return out.String()
}
