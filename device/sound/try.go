package sound

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"log/slog"
	"math"
	"sync/atomic"
	"time"

	"conch/audio"
	"conch/device/config"
	"conch/device/control"
	"conch/device/wait"
)

// Devices lists what this machine has, by stable identity.
func Devices(cfg config.Config, log *slog.Logger) ([]audio.Device, error) {
	card, err := audio.NewCard(cfg.Audio.Backend, log)
	if err != nil {
		return nil, err
	}
	defer card.Close()
	return card.Devices()
}

// Loudspeaker says what the loudspeaker that conch would take holds of what it was asked for, whether it gives that back, and how
// soon it is silent; or why it cannot be opened now. It is opened for that, in silence, unless an appliance runs, which knows.
func Loudspeaker(ctx context.Context, cfg config.Config, log *slog.Logger) string {
	var s control.Status
	if remote, err := control.Dial(cfg); err == nil && remote.Do(ctx, "GET", "/status", nil, &s) == nil && s.Buffer != "" {
		return s.Buffer
	}
	card, err := audio.NewCard(cfg.Audio.Backend, log)
	if err != nil {
		return err.Error()
	}
	defer card.Close()
	g, err := OpenLoudspeaker(cfg, card)
	switch {
	case err != nil:
		return err.Error()
	case g.Backend == audio.BackendNull:
		return "none: nothing will be heard"
	}
	return g.Name + ": " + Words(cfg, g)
}

// A Trial is a sound system that somebody tries: what it plays and hears is for their ears.
type Trial struct {
	card *audio.MalgoCard
	cfg  config.Config
}

// NewTrial opens the sound system; the devices are those of the configuration.
func NewTrial(cfg config.Config, log *slog.Logger) (*Trial, error) {
	card, err := audio.NewCard(cfg.Audio.Backend, log)
	if err != nil {
		return nil, err
	}
	return &Trial{card, cfg}, nil
}

// On is the same with other devices; an empty one stays.
func (t *Trial) On(playback, capture string) *Trial {
	other := *t
	other.cfg.Audio.Playback, other.cfg.Audio.Capture = cmp.Or(playback, t.cfg.Audio.Playback), cmp.Or(capture, t.cfg.Audio.Capture)
	return &other
}

// Close gives the sound system back.
func (t *Trial) Close() { t.card.Close() }

// Devices lists what there is.
func (t *Trial) Devices() ([]audio.Device, error) { return t.card.Devices() }

// Tone plays 440 Hz, and says what on once it is sure that something is to be heard.
func (t *Trial) Tone(ctx context.Context, length time.Duration, out io.Writer) error {
	tone := make([]int16, audio.CardFrames(length))
	for i := range tone {
		tone[i] = int16(8000 * math.Sin(2*math.Pi*440*float64(i)/audio.CardRate))
	}
	words := map[bool]string{true: "one second", false: length.String()}[length == time.Second]
	return playOnce(ctx, t.card, t.cfg, tone, "tone: "+words+" of 440 Hz", out)
}

// Record listens for a while; peak is how loud it was, 1 at most.
func (t *Trial) Record(ctx context.Context, length time.Duration) (heard []int16, peak float64, err error) {
	heard, err = recordOnce(ctx, t.card, t.cfg, length)
	return heard, float64(audio.Peak(heard)) / math.MaxInt16, err
}

// Play plays what was recorded.
func (t *Trial) Play(ctx context.Context, heard []int16, out io.Writer) error {
	return playOnce(ctx, t.card, t.cfg, heard, "playing it back", out)
}

// Test plays a tone, records for a while, plays the recording back, and says how loud it was.
func Test(ctx context.Context, cfg config.Config, log *slog.Logger, length time.Duration, out io.Writer) error {
	t, err := NewTrial(cfg, log)
	if err != nil {
		return err
	}
	defer t.Close()
	if err := t.Tone(ctx, time.Second, out); err != nil {
		return err
	}
	fmt.Fprintf(out, "recording for %s: say something\n", length)
	heard, peak, err := t.Record(ctx, length)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "recorded %.1f s, peak %.0f %% of full scale\n", float64(len(heard))/audio.CardRate, 100*peak)
	if peak == 0 {
		return fmt.Errorf("audio test: the microphone delivered nothing but zeros (muted? wrong device? see: conch audio list)")
	}
	return t.Play(ctx, heard, out)
}

// recorded is an audio.Rewinder whose sound never changes: the card is opened as the appliance would open it.
type recorded struct{}

func (recorded) Keep(audio.Granted)      {}
func (recorded) Stale() bool             { return false }
func (recorded) Rewind(int) int          { return 0 }
func (recorded) Settle(frames int) int   { return frames }
func (recorded) SetQueued(time.Duration) {}

// NoCard refuses to measure or try what makes no sound: a null device takes and gives samples as well as any.
func NoCard(what, instead string) error {
	return fmt.Errorf("%w: %s: there is no sound card here (conch audio list), or audio.backend = \"null\", which makes no sound: nothing "+
		"can be heard; plug one in, or %s", control.ErrRefused, what, instead)
}

// playOnce plays frames (mono, CardRate) and returns when the last has sounded; it says what, once it is sure that
// something is to be heard.
func playOnce(ctx context.Context, card audio.Card, cfg config.Config, frames []int16, what string, out io.Writer) error {
	var at atomic.Int64
	asked := Playback(cfg.Audio)
	asked.Back = recorded{}
	stream, err := card.OpenPlayback(asked,
		func(buf []int16) { // the only writer of at
			n := copy(buf, frames[at.Load():])
			clear(buf[n:])
			at.Add(int64(n))
		})
	if err != nil {
		return err
	}
	g := stream.Granted()
	if g.Backend == audio.BackendNull {
		_ = stream.Close()
		return NoCard("audio test", "set audio.backend")
	}
	fmt.Fprintf(out, "%s\n  %s: %s\n", what, g.Name, Words(cfg, g))
	ctx, cancel := context.WithTimeout(ctx, audio.CardDuration(len(frames))+5*time.Second)
	defer cancel()
	err = wait.Until(ctx, func() bool { return at.Load() == int64(len(frames)) })
	if err == nil {
		err = wait.For(ctx, g.Queued())
	} else {
		err = fmt.Errorf("audio test: %s stopped asking for sound: %w", g.Name, err)
	}
	if e := stream.Close(); err == nil {
		err = e
	}
	return err
}

func recordOnce(ctx context.Context, card audio.Card, cfg config.Config, length time.Duration) ([]int16, error) {
	frames := make([]int16, audio.CardFrames(length))
	var at atomic.Int64
	stream, err := card.OpenCapture(Capture(cfg.Audio),
		func(in []int16) { at.Add(int64(copy(frames[at.Load():], in))) }) // the only writer of at
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, length+5*time.Second)
	defer cancel()
	err = wait.Until(ctx, func() bool { return at.Load() == int64(len(frames)) })
	name, null := stream.Granted().Name, stream.Granted().Backend == audio.BackendNull
	if e := stream.Close(); e != nil && err == nil {
		err = e
	}
	if null {
		return nil, NoCard("audio test", "set audio.capture")
	}
	if err != nil {
		return nil, fmt.Errorf("audio test: %s delivered %d of %d frames: %w", name, at.Load(), len(frames), err)
	}
	return frames, nil
}

// Check tries what the configuration names, on top of reading it: sound in both directions.
func Check(_ context.Context, cfg config.Config, out io.Writer) error {
	if cfg.Audio.Playback == "" && cfg.Audio.Capture == "" {
		return nil
	}
	devices, err := Devices(cfg, slog.New(slog.DiscardHandler))
	if err != nil {
		return err
	}
	for _, want := range []struct {
		key, name string
		kind      audio.Kind
	}{{"audio.playback", cfg.Audio.Playback, audio.PlaybackDevice}, {"audio.capture", cfg.Audio.Capture, audio.CaptureDevice}} {
		if want.name == "" {
			continue
		}
		var half []audio.Device
		for _, d := range devices {
			if d.Kind == want.kind {
				half = append(half, d)
			}
		}
		d, err := audio.Match(half, want.name)
		if err != nil {
			return fmt.Errorf("%w: config: %s: %w", control.ErrRefused, want.key, err)
		}
		fmt.Fprintf(out, "%s is %s (%s)\n", want.key, d.ID, d.Name)
	}
	return nil
}
