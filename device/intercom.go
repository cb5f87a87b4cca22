package device

import (
	"context"
	"time"

	"conch/companions/round"
	"conch/companions/skills"
	"conch/coordinator"
	"conch/coordinator/turn"
	"conch/device/intercom"
	"conch/mqtt"
)

// wireIntercom makes the calls between people at two devices, where there are other devices: package intercom carries them, and here is what it
// needs of this one.
func wireIntercom(d *Device) {
	if !d.cfg.Intercom.Enabled || !d.link.Networked() || !d.room.InRoom() {
		return
	}
	voice := namesVoice{d.synthesizer, d.cfg.Device.Language}
	reachable := d.opts.Room.Calls
	if reachable == nil {
		reachable = d.link.Reachable
	}
	d.intercom = intercom.New(intercom.Options{
		Identity: d.link.Identity(), Member: func(id round.DeviceID) bool { return d.link.Belongs()(id) },
		Present: func() (all []intercom.Device) {
			for _, m := range d.room.Members() {
				if m.Device != d.self {
					all = append(all, intercom.Device{ID: m.Device, Name: m.Name})
				}
			}
			return all
		},
		Send: func(n mqtt.Note) {
			if d.bus != nil {
				d.bus.SendNote(n)
			}
		},
		Listen: d.opts.Room.Listen, Port: d.cfg.Intercom.Port, Reachable: reachable,
		Offer: func(ctx context.Context, c intercom.Claim) (func(), error) {
			return d.coordinator.Offer(ctx, coordinator.ClaimFunc{Run: c.Run, Ended: func(turn.EndedHow) { c.Ended() }})
		},
		Say: func(text string) {
			d.coordinator.InjectLocal(func(ctx context.Context) ([]int16, error) { return voice.Speak(ctx, text) }, "intercom", time.Minute)
		},
		Speak: voice.Speak, Language: d.cfg.Device.Language, Log: d.log,
	})
	d.link.Calls = d.intercom.Note
	d.actors = append(d.actors, actor{"intercom", d.intercom.Run})
}

// intercomSkill is the intercom as a skill has it; nil: there is none.
func (d *Device) intercomSkill() *skills.Intercom {
	if d.intercom == nil {
		return nil
	}
	claim := func(c intercom.Claim, err error) (skills.InputClaim, error) {
		if err != nil {
			return skills.InputClaim{}, err
		}
		return skills.InputClaim{Run: c.Run, Ended: func(skills.Ended) { c.Ended() }}, nil
	}
	return &skills.Intercom{
		Names: d.intercom.Names, HangUp: d.intercom.HangUp,
		Call:   func(name string) (skills.InputClaim, error) { return claim(d.intercom.Call(name)) },
		Answer: func() (skills.InputClaim, error) { return claim(d.intercom.Answer()) },
	}
}
