package device

import (
	"context"

	"conch/coordinator/turn"
	"conch/device/sound"
	"conch/gpio"
)

// gesture is told of a button held for long, after its release. Nothing was said while it was down: then it is no question,
// and the turn that the press began ends as if it had not been (TURNS.md 2, a hush). Whoever held it to switch the microphone on
// meant that, and nothing else.
func (d *Device) gesture(e gpio.Event) {
	if e.Kind != gpio.LongPressed && e.Kind != gpio.VeryLongPressed {
		return
	}
	muted := d.sound.WishMuted()
	d.unmuteByHand(e)
	if muted || !d.cfg.Room.Pairing {
		return
	}
	if !d.heldInSilence() {
		if e.Kind == gpio.LongPressed {
			d.pairing.post(pairingAmid{d.pairing.presses.Load()})
		}
		return
	}
	d.coordinator.Hush(d.now(), d.speaker.Drop())
	if e.Kind == gpio.LongPressed {
		d.pairing.post(wayHeld{e.At})
	} else {
		d.pairing.post(wayHeldLong{e.At})
	}
}

// unmuteByHand ends muting when the button was held for long: with the microphone closed nobody can ask for it aloud.
func (d *Device) unmuteByHand(e gpio.Event) {
	if e.Kind != gpio.LongPressed || !d.sound.WishMuted() {
		return
	}
	d.spawn(func() { // opening is not waited for
		if err := d.sound.SetMuted(false); err != nil {
			d.log.Error(sound.LogMute, "err", err)
			return
		}
		d.loud().Cue(turn.CueReady, d.speaker.Generation())
	})
}

// amid decides what a long hold was during which somebody spoke: a long question, unless a device beside this one, which is in no
// room, is pairing. Then it was that one's voice, saying its code all the time. The question waits for nothing meanwhile; it is
// cut if it was none, and a press goes before.
func (p *pairer) amid(ctx context.Context, presses uint64) {
	if p.link.members == nil || p.way.paired || p.way.live() || p.ending.Load() {
		return
	}
	p.spawn(func() {
		a := &attempt{}
		a.ctx, a.cancel = context.WithCancel(ctx)
		defer a.cancel()
		windows, err := p.windows(a.ctx, a)
		if err != nil || len(windows) == 0 || p.presses.Load() != presses || ctx.Err() != nil {
			return
		}
		p.d.coordinator.Hush(p.d.now(), p.d.speaker.Drop())
		p.post(wayHeld{p.d.now()})
	})
}
