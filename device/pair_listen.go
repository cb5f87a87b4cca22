package device

import (
	"context"
	"errors"
	"time"

	"conch/device/control"
	"conch/device/sound"
	"conch/device/wait"
)

// The code through the air: pair_sound.go speaks it once, and hears it; here it is repeated, and becomes facts.

// speakEvery is from one beginning to the next, and speakRest at least between two: it takes eight seconds, and whoever has missed it
// wants it soon. Our choices.
const (
	speakEvery = 10 * time.Second
	speakRest  = 1500 * time.Millisecond
)

// speak says the code of this device's window again and again, until ctx ends or a press has silenced it, which ends the window
// as well.
func (p *pairer) speak(ctx context.Context, code string) {
	for ctx.Err() == nil {
		began := p.d.now()
		err := p.d.speakCode(ctx, code)
		switch {
		case ctx.Err() != nil, errors.Is(err, errSilenced), errors.Is(err, errDeviceEnding):
			return
		case err != nil:
			p.d.log.Warn(logPairErr, "err", err)
		}
		_ = wait.For(ctx, max(speakRest, began+speakEvery-p.d.now()))
	}
}

// listen hears the code of somebody else's window, once what this device itself says has sounded.
func (p *pairer) listen(ctx context.Context, run int) {
	p.said(ctx)
	code, err := p.d.hearCode(ctx)
	switch {
	case ctx.Err() != nil, errors.Is(err, errMicTaken): // the press that has it ends the listening, too
		return
	case err == nil:
		p.tell(ctx, wayHeard{At: p.d.now(), Run: run, Code: code})
		return
	}
	p.d.log.Warn(logPairErr, "err", err)
	why := control.WhyDeaf
	switch {
	case errors.Is(err, errCodeUnheard):
		why = control.WhyNotHeard
	case errors.Is(err, sound.ErrMuted):
		why = control.WhyMuted
	}
	p.tell(ctx, wayDeaf{At: p.d.now(), Run: run, Why: why})
}
