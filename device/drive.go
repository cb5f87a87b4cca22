package device

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"conch/device/config"
	"conch/gpio"
)

// Some boards want pins held at a level, or their amplifier is off (gpio.Board, Drive). They are held while conch runs and
// given back at the end. A pin that somebody else holds is left to them: with the overlay of Raspberry Pi's kernel the sound
// driver switches the amplifier of the AIY Voice HAT itself.

// Log events of held pins.
const (
	logDriveHeld  = "drive.held"  // pin, level, use
	logDriveOther = "drive.other" // pin, use, err: somebody else has it, which may be as it should
	logDriveLost  = "drive.lost"  // pin, use, err: it will be tried again
)

// driveEvery is how often a held pin is set again, which finds a chip that went and came back.
const driveEvery = 5 * time.Second

// output is a pin that is driven. gpio.Output is one.
type output interface {
	Set(high bool) error
	Close() error
}

// driven is one pin of the board and what became of it.
type driven struct {
	gpio.Drive
	out  output
	said string // the last event, so that each is said once
}

// holdPins holds them until ctx ends. open is OpenOutput, or a test's.
func holdPins(ctx context.Context, drives []gpio.Drive, open func(gpio.Drive) (output, error), log *slog.Logger) {
	pins := make([]driven, len(drives))
	for i, d := range drives {
		pins[i].Drive = d
	}
	t := time.NewTicker(driveEvery)
	defer t.Stop()
	for {
		for i := range pins {
			pins[i].hold(open, log)
		}
		select {
		case <-ctx.Done():
			for _, p := range pins {
				if p.out != nil {
					_ = p.out.Close() // nothing can be done about it, and the kernel does it anyway
				}
			}
			return
		case <-t.C:
		}
	}
}

func (p *driven) hold(open func(gpio.Drive) (output, error), log *slog.Logger) {
	say := func(event string, level slog.Level, more ...any) {
		if p.said != event {
			p.said = event
			log.Log(context.Background(), level, event, append([]any{"pin", p.Pin, "high", p.High, "use", p.Use}, more...)...) //nolint:sloglint // one of the constants above
		}
	}
	if p.out != nil {
		err := p.out.Set(p.High)
		if err == nil {
			return
		}
		_ = p.out.Close()
		p.out = nil
		say(logDriveLost, slog.LevelWarn, "err", err)
	}
	out, err := open(p.Drive)
	switch {
	case err == nil:
		p.out = out
		say(logDriveHeld, slog.LevelInfo)
	case errors.Is(err, gpio.ErrPinInUse):
		say(logDriveOther, slog.LevelInfo, "err", err)
	default:
		say(logDriveLost, slog.LevelWarn, "err", err)
	}
}

// driver is the part that holds the pins of the board, if it has any.
func (d *Device) driver(cfg config.Config) []actor {
	b, _ := gpio.FindBoard(cfg.Device.Board)
	if len(b.Drive) == 0 {
		return nil
	}
	return []actor{{"drive", func(ctx context.Context) error {
		holdPins(ctx, b.Drive, func(p gpio.Drive) (output, error) { return gpio.OpenOutput(p.Pin, cfg.Button.Chip, p.High) }, d.log)
		return nil
	}}}
}
