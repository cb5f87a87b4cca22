package device

import (
	"context"
	"errors"
	"time"

	"conch/companions/voice/rehearsal"
	"conch/coordinator"
	"conch/coordinator/turn"
	"conch/device/again"
	"conch/device/condition"
	"conch/device/config"
	"conch/device/control"
	"conch/device/lights"
	"conch/device/sound"
	"conch/device/state"
	"conch/device/usage"
	"conch/device/world"
	"conch/gpio"
	"conch/gpio/twin"
)

// New chooses and wires everything; nothing runs before Run.
func New(cfg config.Config, o Options) (*Device, error) {
	if o.Log == nil {
		return nil, errors.New("device: Options.Log is missing")
	}
	d := &Device{cfg: cfg, log: o.Log, opts: o, now: o.Now, conds: condition.NewBook(o.Log), synthesizer: rehearsal.NewSynthesizer()}
	d.zone = world.NewWall(o.Log)
	if d.now == nil {
		d.now = since(time.Now())
	}
	if d.feed = o.Feed; d.feed == nil {
		d.feed = control.NewFeed(cfg.Device.Name)
	}
	memory, muted := state.Remember(&d.cfg, d.conds)
	d.memory = memory
	if o.Page && (d.cfg.Web.Talk || d.cfg.TalkWithoutCard()) {
		d.pages = newPages(d)
	}
	d.usage = usage.New(d.cfg.Voice, memory, d.conds)
	if err := d.wireSound(muted); err != nil {
		return nil, err
	}
	if err := openLink(d); err != nil {
		return nil, err
	}
	if cfg.Button.Again && cfg.Button.Mode == "hold" {
		d.again = &again.Keeper{}
	}
	d.hours.changed = make(chan struct{}, 1)
	d.hours.set(&d.cfg)
	d.actors = append(d.actors, d.tended("hours", func(ctx context.Context) error { return d.hours.run(ctx, d.wall(), d.memory, d.speaker) }))
	d.wireCards()
	d.world = world.New(world.Options{Config: &d.cfg, Given: o.Voice != nil, Nudge: d.nudge, Conditions: d.conds, Log: d.log, Now: d.now})
	d.lights = lights.New(lights.Options{
		Config: &d.cfg, Open: o.Light, Self: d.room.Cards[0].ID, Level: d.speaker.Level, Wall: d.wall(), Room: d.room, Conditions: d.conds,
	})
	if err := d.wireVoice(); err != nil {
		return nil, err
	}
	wireIntercom(d)
	tools := o.Tools
	var err error
	if tools == nil {
		if tools, err = d.newTools(); err != nil {
			return nil, err
		}
	}
	d.newDesk()
	d.coordinator, err = coordinator.New(coordinator.Options{
		Voice: d.room.Voices, Speaker: d.speakerAdapter(), Tools: tools,
		Mic:     micAdapter{d.sound.Mic, d.lights.Captured, d.presses.recording.ended, d.sound.Deaf, d.micLost},
		Light:   lit{d.lights, d.feed},
		Phrases: phrases{d.cfg.Device.Language, d.conds, d.log},
		Turn:    d.turnConfig(), Log: d.log, Clock: coordinator.RealClock(d.now), OnEnd: d.turnEnded, OnWords: d.opts.OnWords,
		ToolDeadline: cfg.Turn.Tool, LocalVoice: localVoice{d.synthesizer, d.cfg.Device.Languages, d.cfg.Device.Mouth}, OnSpeech: d.speech,
		Taken: d.room.Taken, Elsewhere: d.elsewhere, OnInject: d.room.Injected, OnSpent: d.spent, OnKept: d.askKept,
		Night: d.night,
		Alarm: d.alarm(),
	})
	if err != nil {
		return nil, err
	}
	if err := d.wireRoom(); err != nil {
		return nil, err
	}
	wirePairing(d)
	d.wirePresses()
	d.key = twin.NewKey("control socket", d.now)
	d.buttons = append([]gpio.Events{d.key}, o.Buttons...)
	for _, k := range d.pages.all() {
		d.buttons = append(d.buttons, k)
	}
	if o.Page {
		d.wirePage()
	}
	return d, nil
}

// wirePresses has the buttons reach what a press is about.
func (d *Device) wirePresses() {
	p := &d.presses
	p.speaker, p.mic, p.turns, p.room = d.speaker, d.sound.Mic, d.coordinator, d.room
	p.conds, p.log, p.now = d.conds, d.log, d.now
	p.ended = func(c *contact) {
		d.pages.pressed(c.Events)
		d.pairing.Pressed()
		d.feed.Post(control.EventPress, nil)
	}
	p.let = func() { d.feed.Post(control.EventRelease, nil) }
	p.gesture, p.told = func(e gpio.Event) { gesture(d, e) }, d.opts.OnEvent
}

// micLost ends the utterance of that id without a word.
func (d *Device) micLost(id string) {
	if d.pairing.Sound.Lost(id) {
		return
	}
	d.lights.Captured(false)
	lost := turn.CaptureLost{At: d.now(), Turn: turn.ID(id), Latched: d.presses.recording.latched(turn.ID(id))}
	if d.sound.Mic.Muted() {
		lost.Say = turn.WordsMuted
	}
	d.coordinator.Post(lost)
}

// wireSound makes the sound card; what is said goes where the turn is, unless somebody listens for a code.
func (d *Device) wireSound(muted bool) (err error) {
	d.sound, err = sound.New(sound.Options{
		Board:     d.cfg.Device.Board,
		Elsewhere: d.pages.elsewhere(),
		Audio:     d.cfg.Audio, Card: d.opts.Card, Anyway: d.opts.Anyway, Volume: d.memory.Volume(), Muted: muted, Conditions: d.conds, Log: d.log, Now: d.now,
		Sink: func(id string, pcm []int16) {
			if !d.pairing.Sound.Heard(id, pcm) {
				d.room.Voices.Append(turn.ID(id), pcm)
			}
		},
		Started: func(id string) {
			if d.pairing.Sound.Started(id) {
				return
			}
			d.lights.Captured(true)
			d.coordinator.Post(turn.CaptureStarted{At: d.now(), Turn: turn.ID(id)})
		},
		Any: d.opts.AnySound,
		Ended: func(id string, h sound.Heard) {
			if h.Flat {
				d.coordinator.Post(turn.CaptureLost{At: d.now(), Turn: turn.ID(id)})
				return
			}
			d.coordinator.Post(turn.CaptureEnded{At: d.now(), Turn: turn.ID(id), Samples: h.Samples, Empty: h.Empty})
		},
		Lost:      d.micLost,
		KeepMuted: d.memory.KeepMuted,
		ShowMuted: func(yes bool) { // what is called here is made later
			d.lights.Muted(yes)
			if yes {
				d.coordinator.Post(turn.LetGo{At: d.now()})
			}
		},
	})
	if err == nil {
		d.speaker = d.sound.Speaker
	}
	return err
}

// speakerAdapter is the speaker as the coordinator sees it.
func (d *Device) speakerAdapter() speakerAdapter {
	sound := d.opts.Cues
	if sound == nil {
		sound = earcon
	}
	return speakerAdapter{Speaker: d.speaker, cue: sound, cues: d.cfg.Audio.Cues, volume: d.memory.KeepVolume}
}

// alarm is what an alert sounds like.
func (d *Device) alarm() coordinator.Alarm {
	if d.opts.Alarm != nil {
		return d.opts.Alarm
	}
	return (&alarm{voice: namesVoice{d.synthesizer, d.cfg.Device.Language}}).round
}

// turnConfig is the machine's deadlines, as a household wants them.
func (d *Device) turnConfig() turn.Config {
	c, t := d.cfg.Turn, turn.DefaultConfig()
	t.Listening, t.Committing, t.InResponse, t.Awaiting = c.Listen, c.Commit, c.Response, c.Next
	t.Thinking, t.SessionGrace, t.Tail = c.Thinking, c.Reconnect, d.cfg.Audio.Postroll
	t.Room = d.room.InRoom()
	return t
}

// since is a monotonic clock.
func since(start time.Time) func() time.Duration {
	return func() time.Duration { return time.Since(start) }
}

// nudge has everything that waits for another attempt try now.
func (d *Device) nudge() {
	for _, v := range d.room.Voices.All() {
		v.Nudge()
	}
	if d.bus != nil {
		d.bus.Nudge()
	}
}
