package join

import (
	"context"
	"errors"
	"time"

	"conch/device/control"
	"conch/device/wait"
)

// The code through the air: Sound says it once, and hears it; here it is repeated, and becomes events.

// speakEvery is from one beginning to the next, and speakRest at least between two: it takes eight seconds, and whoever has missed it
// wants it soon. Our choices.
const (
	speakEvery = 10 * time.Second
	speakRest  = 1500 * time.Millisecond
)

// speak says the code of this device's window again and again, until ctx ends or a press has silenced it, which ends the window
// as well.
func (p *Pairing) speak(ctx context.Context, code string) {
	for ctx.Err() == nil {
		began := p.o.Now()
		err := p.Sound.Say(ctx, code)
		switch {
		case ctx.Err() != nil, errors.Is(err, ErrSilenced), errors.Is(err, ErrEnding):
			return
		case err != nil:
			p.log.Warn(logPairErr, "err", err)
		}
		_ = wait.For(ctx, max(speakRest, began+speakEvery-p.o.Now()))
	}
}

// listen hears the code of somebody else's window, once what this device itself says has sounded.
func (p *Pairing) listen(ctx context.Context, run int) {
	p.speech.said(ctx)
	code, err := p.Sound.Hear(ctx)
	switch {
	case ctx.Err() != nil, errors.Is(err, ErrMicTaken): // the press that has it ends the listening, too
		return
	case err == nil:
		p.tell(ctx, CodeHeard{At: p.o.Now(), Run: run, Code: code})
		return
	}
	p.log.Warn(logPairErr, "err", err)
	why := control.WhyDeaf
	switch {
	case errors.Is(err, ErrUnheard):
		why = control.WhyNotHeard
	case errors.Is(err, ErrMuted):
		why = control.WhyMuted
	}
	p.tell(ctx, HearingFailed{At: p.o.Now(), Run: run, Why: why})
}
