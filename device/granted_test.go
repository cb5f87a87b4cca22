package device

import (
	"bytes"
	"context"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"conch/audio/alsacard"
	"conch/device/config"
	"conch/device/doctor"
)

// What a card gave is said wherever somebody looks, and so is what is not as it was asked for: a buffer that the card does not have,
// periods that it does not do, frames that it does not give back.
func TestWhatWasGrantedIsSaid(t *testing.T) {
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
			text := Loudspeaker(t.Context(), cfg, slog.New(slog.NewTextHandler(&log, nil)))
			if !strings.Contains(text, row.want) || !strings.Contains(text, "; silent within ") {
				t.Errorf("%q; want %q and a bound", text, row.want)
			}
			o, err := openSound(cfg)
			if err != nil {
				t.Fatal(err)
			}
			_, granted, _ := strings.Cut(text, ": ")
			granted, bound, _ := strings.Cut(granted, "; silent within ")
			if o.Buffer != granted {
				t.Errorf("doctor: %q; want %q", o.Buffer, granted)
			}
			said := doctorOf(t, cfg)
			if !strings.Contains(said, granted) {
				t.Errorf("doctor says %s; want %q", said, granted)
			}
			var out bytes.Buffer
			_ = SoundTest(t.Context(), cfg, slog.New(slog.DiscardHandler), 10*time.Millisecond, &out) // nobody speaks
			if !strings.Contains(out.String(), granted+"; silent within "+bound) {
				t.Errorf("audio test says %s; want %q, silent within %q", out.String(), granted, bound)
			}
		})
	}
}

// doctorOf is what doctor says of the sound that it opens.
func doctorOf(t *testing.T, cfg config.Config) string {
	t.Helper()
	s := &doctor.Subject{Open: func(context.Context) (doctor.Opened, error) { return openSound(cfg) }}
	s.Sound.Fade, s.Sound.Promise, s.Sound.Backend = cfg.Audio.Fade, silenceIn, cfg.Audio.Backend
	checks := slices.DeleteFunc(doctor.Checks(), func(c doctor.Check) bool { return c.Name != "buffer" })
	var text strings.Builder
	for _, f := range doctor.Run(t.Context(), doctor.Real(), s, checks) {
		text.WriteString(f.Text + "\n")
	}
	return text.String()
}
