package device

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"conch/audio"
	"conch/companions/voice/rehearsal"
	"conch/coordinator"
	"conch/coordinator/turn"
	"conch/device/condition"
	"conch/device/config"
	"conch/device/control"
	"conch/device/sound"
	"conch/device/state"
	"conch/gpio"
	"conch/gpio/twin"
)

// New chooses and wires everything; nothing runs before Run.
func New(cfg config.Config, o Options) (*Device, error) {
	if o.Log == nil {
		return nil, errors.New("device: Options.Log is missing")
	}
	d := &Device{cfg: cfg, log: o.Log, opts: o, now: o.Now, conds: condition.NewBook(o.Log), mouth: rehearsal.NewMouth()}
	if d.now == nil {
		d.now = since(time.Now())
	}
	d.mute.told = make(chan struct{}, 1)
	memory, muted := state.Remember(&d.cfg, d.conds)
	d.memory = memory
	d.mute.wish.Store(muted)
	if err := d.wireSound(); err != nil {
		return nil, err
	}
	if err := d.openLink(); err != nil {
		return nil, err
	}
	d.wireCards()
	d.wireLight()
	if err := d.wireVoice(); err != nil {
		return nil, err
	}
	tools := o.Tools
	var err error
	if tools == nil {
		if tools, err = d.newHands(); err != nil {
			return nil, err
		}
	}
	d.coordinator, err = coordinator.New(coordinator.Options{
		Voice: d.room.Voices, Speaker: d.loud(), Mic: ear{d.mic, d.lights.captured, d.recording.ended}, Tools: tools, Light: d.lights, Phrases: phrases{d},
		Turn: d.turnConfig(), Log: d.log, Clock: coordinator.RealClock(d.now), OnEnd: d.turnEnded,
		ToolDeadline: cfg.Turn.Tool, LocalVoice: localVoice{d.mouth}, OnSpeech: d.speech,
		Taken: d.room.Taken, OnInject: d.room.Injected,
	})
	if err != nil {
		return nil, err
	}
	if err := d.wireRoom(); err != nil {
		return nil, err
	}
	d.wirePairing()
	// The hand of the control socket is a button like any other, with a virtual contact, which nothing disturbs.
	d.hand = twin.NewLine("control socket")
	d.buttons = append([]gpio.Events{gpio.NewButton(d.hand, gpio.ButtonOptions{Clock: d.now, Press: gpio.AtOnce, Stuck: stuckAfter(&cfg)})}, o.Buttons...)
	return d, nil
}

func (d *Device) wireSound() error {
	d.card = d.opts.Card
	if d.card == nil {
		card, err := audio.NewCard(d.cfg.Audio.Backend, d.log)
		switch {
		case err == nil:
			d.card = card
		case d.opts.Anyway:
			d.card = noCard{err}
		default:
			return fmt.Errorf("%w: %w", control.ErrRefused, err)
		}
	}
	volume, cues := d.memory.Volume(), d.cfg.Audio.CueVolume
	d.speaker = audio.NewSpeaker(audio.SpeakerConfig{Fade: d.cfg.Audio.Fade, Now: d.now, Volume: &volume, Cues: &cues})
	d.mic = audio.NewMic(audio.MicConfig{
		Preroll: d.cfg.Audio.Preroll, Now: d.now, Loud: d.speaker.LastAudible,
		Sink: func(id string, pcm []int16) {
			if !d.tap.heard(id, d.now(), pcm) {
				d.room.Voices.Append(turn.ID(id), pcm)
			}
		},
		Started: func(id string) {
			if d.tap.started(id) {
				return
			}
			d.lights.captured(true)
			d.coordinator.Post(turn.CaptureStarted{At: d.now(), Turn: turn.ID(id)})
		},
		Ended: func(id string, c audio.Captured) {
			if c.Flat && d.flat() {
				d.coordinator.Post(turn.CaptureLost{At: d.now(), Turn: turn.ID(id)})
				return
			}
			d.coordinator.Post(turn.CaptureEnded{At: d.now(), Turn: turn.ID(id), Samples: c.Held})
		},
		Stirred: func() { d.conds.Clear(condition.SoundFlat) },
		Lost: func(id string) {
			if d.tap.lost(id) {
				return
			}
			d.lights.captured(false)
			d.coordinator.Post(turn.CaptureLost{At: d.now(), Turn: turn.ID(id), Say: d.nothingCaptured()})
		},
		Mute: d.closeCapture,
	})
	if d.mute.wish.Load() {
		return d.mic.SetMuted(true)
	}
	return nil
}

// runPlayback keeps the loudspeaker's half of the card open.
func (d *Device) runPlayback(ctx context.Context) error {
	return d.keep(ctx, "speaker", &d.playback, audio.KeeperConfig{
		Open:   func(c audio.StreamConfig) (audio.Stream, error) { return d.speaker.OpenOn(d.card, c) },
		Stream: sound.Playback(d.cfg.Audio),
		Up: func(g audio.Granted) {
			d.slowCard(g)
		},
	})
}

// runCapture keeps the microphone's half of the card open.
func (d *Device) runCapture(ctx context.Context) error {
	return d.keep(ctx, "microphone", &d.capture, audio.KeeperConfig{
		Open:   d.openCapture,
		Up:     func(audio.Granted) { d.conds.Clear(condition.SoundFlat) }, // of the one before
		Stream: sound.Capture(d.cfg.Audio),
		Off:    d.captureOff,
	})
}

func (d *Device) keep(ctx context.Context, what string, state *atomic.Pointer[soundState], c audio.KeeperConfig) error {
	code, up := condition.Code("sound."+what), c.Up
	c.Name, c.Log = what, d.log
	c.Up = func(g audio.Granted) {
		if up != nil {
			up(g)
		}
		state.Store(&soundState{granted: g})
		if g.Backend == audio.BackendNull && d.cfg.Audio.Backend == "auto" {
			d.conds.Set(code, "no "+what+": there is no sound card, and no sound server",
				"plug a card in, or see that its driver is loaded (conch audio list, conch doctor); it is taken by itself")
			return
		}
		d.conds.Clear(code)
	}
	c.Down = func(err error) {
		state.Store(&soundState{err: err})
		d.conds.Set(code, err.Error(), "plug it in again or choose another (conch audio list); it comes back by itself")
	}
	c.Better = d.card.Better
	keeper := audio.NewKeeper(c)
	d.mute.mu.Lock()
	d.keepers.of(what).Store(keeper)
	keeper.SetOff(what == "microphone" && d.mute.wish.Load())
	d.mute.mu.Unlock()
	keeper.Run(ctx)
	return nil
}

// A press must be silence within 30 ms; the loudspeaker's part of that is its bound (audio/FACTS.md 4.1: a sample waits for up
// to a period more than the buffer, then comes the fade), and the rest needs a little, too.
const (
	silenceIn = 30 * time.Millisecond
	tightIn   = 27 * time.Millisecond
)

// bound is how long the open loudspeaker may still sound after a press; 0: none is open.
func (d *Device) bound() time.Duration {
	if p := d.playback.Load(); p != nil && p.err == nil {
		return p.granted.Bound(d.cfg.Audio.Fade)
	}
	return 0
}

// slowCard tells of a card that was opened with a buffer longer than it was asked for.
func (d *Device) slowCard(g audio.Granted) {
	bound := g.Bound(d.cfg.Audio.Fade)
	if bound > tightIn {
		d.log.Warn("audio.slow", "device", g.Device, "period_frames", g.Period, "periods", g.Periods, "rate_hz", g.Rate, "bound_ms", ms(bound), "wanted_ms",
			ms(silenceIn))
	}
	if bound <= silenceIn || g.Backend == audio.BackendNull {
		d.conds.Clear(condition.SoundSlow)
		return
	}
	what := fmt.Sprintf("falls silent up to %.0f ms after a press, not within %.0f", ms(bound), ms(silenceIn))
	if d.speaker.HardDrops() {
		what = fmt.Sprintf("is cut off at a press, with a click: by itself it would go on for %.0f ms", ms(bound))
	}
	d.conds.Set(condition.SoundSlow, fmt.Sprintf("the loudspeaker %s %s (its buffer is %d frames x %d)", g.Name, what, g.Period, g.Periods),
		"set audio.period_ms and audio.periods lower, name the card itself (alsa:CARD=..., conch audio list), or take another card; conch "+
			"bench silence measures it")
}

// noCard stands for a sound system that cannot be used at all: each attempt says why.
type noCard struct{ err error }

func (c noCard) OpenPlayback(audio.StreamConfig, func([]int16)) (audio.Stream, error) {
	return nil, c.err
}

func (c noCard) OpenCapture(audio.StreamConfig, func([]int16)) (audio.Stream, error) {
	return nil, c.err
}

func (noCard) Better(audio.Granted) bool { return false }
func (noCard) Spent() bool               { return false }

func (d *Device) loud() loud {
	sound := d.opts.Cues
	if sound == nil {
		sound = earcon
	}
	return loud{Speaker: d.speaker, cue: sound, cues: d.cfg.Audio.Cues, volume: d.memory.KeepVolume}
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
