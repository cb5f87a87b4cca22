package device

import (
	"context"
	"time"

	"conch/companions/voice/rehearsal"
	"conch/coordinator/inject"
	"conch/coordinator/turn"
	"conch/device/join"
	"conch/device/sound"
	"conch/device/world"
	"conch/gpio"
)

// How this device comes into a room and reaches the others: package join does it, and here is what it needs of the device.

// openLink finds out what this device is among others.
func openLink(d *Device) (err error) {
	r := d.opts.Room
	o := join.LinkOptions{
		Name: d.cfg.Device.Name, Language: d.cfg.Device.Language, Room: d.cfg.Room,
		Floor: world.ClockFloor, Anyway: d.opts.Anyway, Log: d.log, Conditions: d.conds,
		Identity: r.Identity, Member: r.Member, Finder: r.Finder, Listen: r.Listen, Reachable: r.Reachable, Missing: r.Missing,
	}
	if !r.Volatile {
		o.Dir = d.memory.Dir()
	}
	if d.link, err = join.OpenLink(o); err != nil {
		return err
	}
	d.self, d.cfg.Device.Name = d.link.Self(), d.link.Name()
	return nil
}

// wirePairing makes pairing, when everything that it needs of the device is there.
func wirePairing(d *Device) {
	o := join.PairingOptions{Now: d.now, OnLine: d.opts.Room.OnPairing, Step: d.opts.Room.Step, Light: d.lights.Pairing}
	if _, none := d.synthesizer.(rehearsal.Tones); !none {
		o.Speak = namesVoice{d.synthesizer, d.cfg.Device.Language}.Speak
	}
	d.pairing = join.NewPairing(d.link, pairingHost{d}, o)
	starts(d, d.pairing.Parts())
}

// starts has Run start parts.
func starts(d *Device, parts []join.Part) {
	for _, p := range parts {
		d.actors = append(d.actors, actor{p.Name, p.Run})
	}
}

// pairingHost is the device as pairing needs it.
type pairingHost struct{ d *Device }

func (h pairingHost) Say(ctx context.Context, sound func(context.Context) ([]int16, error), ttl time.Duration) {
	select {
	case <-h.d.coordinator.InjectLocal(sound, "pairing", ttl):
	case <-ctx.Done():
	}
}

// Alert lets a person who is being recorded finish.
func (h pairingHost) Alert(ctx context.Context, key string, sound func(context.Context) ([]int16, error), ttl time.Duration) {
	if !h.d.Quiet() {
		h.Hush(true)
	}
	select {
	case <-h.d.coordinator.InjectAlert(sound, "pairing."+key, ttl):
	case <-ctx.Done():
	}
}

func (h pairingHost) Play(ctx context.Context, pcm []int16, ttl time.Duration) error {
	how := <-h.d.coordinator.InjectSound(ctx, pcm, "pairing.code", ttl)
	switch {
	case how == inject.Delivered:
		return nil
	case ctx.Err() != nil:
		return ctx.Err()
	case how == inject.Interrupted:
		return join.ErrSilenced
	case how == inject.Failed:
		return join.ErrEnding
	}
	return join.ErrNotSaid
}

// OpenMic asks on the coordinator's own goroutine, so that no turn can begin in between.
func (h pairingHost) OpenMic(ctx context.Context, id string, ready func()) (bool, error) {
	opened := make(chan bool, 1)
	if !h.d.coordinator.Call(func() {
		switch h.d.coordinator.State() {
		case turn.Idle, turn.Interrupted:
		default:
			opened <- false
			return
		}
		if ctx.Err() != nil {
			opened <- false
			return
		}
		ready()
		h.d.sound.Mic.Open(id, h.d.now())
		opened <- true
	}) {
		return false, join.ErrEnding
	}
	select {
	case ok := <-opened:
		return ok, nil
	case <-ctx.Done():
		return false, context.Cause(ctx) // it may have been opened in this very moment, or will find ctx ended
	}
}

func (h pairingHost) CloseMic(id string) { h.d.sound.Mic.Discard(id) }

func (h pairingHost) Muted() bool { return h.d.sound.Mic.Muted() || h.d.sound.WishMuted() }

func (h pairingHost) Hush(own bool) {
	hush := h.d.coordinator.Hush
	if own {
		hush = h.d.coordinator.Yield
	}
	hush(h.d.now(), h.d.speaker.Drop())
}

func (h pairingHost) Quiet() bool {
	return (h.d.opts.Typing == nil || !h.d.opts.Typing()) && h.d.Quiet()
}

// gesture is told of a button held for long, after its release. Whoever held it to switch the microphone on meant that, and
// nothing else.
func gesture(d *Device, e gpio.Event) {
	if e.Kind == gpio.DoublePressed {
		d.sayAgain()
	}
	if e.Kind != gpio.LongPressed && e.Kind != gpio.VeryLongPressed {
		return
	}
	muted := d.sound.WishMuted()
	unmuteByHand(d, e)
	if !muted && d.cfg.Room.Pairing {
		d.pairing.Held(e.At, e.Kind == gpio.VeryLongPressed)
	}
}

// logMute: the microphone could not be opened again.
const logMute = sound.LogMute

// unmuteByHand ends muting when the button was held for long: with the microphone closed nobody can ask for it aloud.
func unmuteByHand(d *Device, e gpio.Event) {
	if e.Kind != gpio.LongPressed || !d.sound.WishMuted() {
		return
	}
	d.spawn(func() { // opening is not waited for
		if err := d.sound.SetMuted(false); err != nil {
			d.log.Error(logMute, "err", err)
			return
		}
		d.speakerAdapter().Cue(turn.CueReady, d.speaker.Generation())
	})
}
