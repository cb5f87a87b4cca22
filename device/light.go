package device

import (
	"fmt"
	"sync/atomic"

	"conch/companions/round"
	"conch/coordinator"
	"conch/coordinator/turn"
	"conch/gpio"
	"conch/gpio/light"
)

// The light of the device: facts from everywhere, each told by whoever knows it, to one lamp (package light).
//
//	coordinator: Show        what the device does               conditions   trouble
//	microphone: captured     a frame of the person's is here    capture      muted: no device is open
//	room: floor              who speaks elsewhere               turnEnded    a turn has failed

// lightLost is the code of the condition that the light does not work.
const lightLost = "light.lost"

// lights collects the facts. It is the coordinator's Light.
type lights struct {
	d    *Device
	lamp *light.Lamp
	last turn.State // owned by the coordinator's goroutine

	// atomic
	name    atomic.Pointer[string] // of the light; nil: none works
	refused atomic.Bool            // why there was no session the last time: the server did not want us
}

// wireLight makes the light; nothing is opened before Run.
func (d *Device) wireLight() {
	c := d.cfg.Light
	hours, err := light.ParseHours(c.Quiet)
	if err != nil {
		d.log.Error("light.hours", "err", err) // the table of keys allows no other
	}
	l := &lights{d: d}
	d.lights = l
	l.lamp = light.New(light.Options{
		Open:     d.openLight(),
		Settings: lightSettings(c, hours),
		Level:    d.speaker.Level,
		Up: func(on light.Driver) {
			name := on.String()
			l.name.Store(&name)
			d.conds.clear(lightLost)
		},
		Down: func(err error) {
			l.name.Store(nil)
			d.conds.set(lightLost, err.Error(), "mend it, or set light.driver = \"none\"; it is tried again by itself (see: conch doctor)")
		},
	})
	l.lamp.Tell(func(f *light.Facts) { f.Self = light.CompanionColour(string(d.cards[0].ID)) })
	d.conds.changed = l.conditions
	l.conditions()
}

func lightSettings(c LightConfig, quiet light.Hours) light.Settings {
	return light.Settings{Brightness: float64(c.Brightness) / 100, Quiet: quiet, Dimmed: float64(c.QuietBrightness) / 100}
}

// openLight is how the light is opened; nil: there is none.
func (d *Device) openLight() func() (light.Driver, error) {
	if d.opts.Light != nil {
		return d.opts.Light
	}
	c, err := d.cfg.light()
	if c.Driver == gpio.LightNone {
		return nil
	}
	return func() (light.Driver, error) {
		if err != nil {
			return nil, err
		}
		return light.Open(c)
	}
}

// light is the light that the configuration comes to.
func (c *Config) light() (light.Config, error) {
	l := c.Light
	out := light.Config{Driver: gpio.LightDriver(l.Driver), Chip: c.Button.Chip, SPI: l.SPI, Sysfs: l.Sysfs, Count: l.Count, Invert: l.Invert}
	if l.Driver == "auto" { // a board would have named one
		out.Driver = gpio.LightNone
	}
	if b, ok := gpio.FindBoard(c.Device.Board); ok && b.Light.Driver == out.Driver {
		out.Power = b.Light.Power
	}
	var err error
	if out.Pins, err = parsePins(l.Pins); err != nil {
		err = fmt.Errorf("light.pins = %q: %w", l.Pins, err)
	}
	return out, err
}

// Show implements coordinator.Light. It also tells the buttons when a recording has ended without the person, or in the tap
// modes the next tap would mean "stop".
func (l *lights) Show(s turn.State, _ string) {
	if l.last == turn.Listening && s != turn.Listening {
		for _, b := range l.d.buttons {
			b.CaptureEnded()
		}
	}
	l.last = s
	l.lamp.Tell(func(f *light.Facts) { f.Doing = doing(s) })
}

// doing is a state as the light knows it.
func doing(s turn.State) light.Doing {
	switch s {
	case turn.Listening:
		return light.Recording
	case turn.Committing, turn.AwaitingNextResponse:
		return light.Thinking
	case turn.InResponse, turn.ApplyingFactories:
		return light.Answering
	default:
		return light.Nothing
	}
}

// captured says whether a frame from after the press has come from the microphone.
func (l *lights) captured(yes bool) { l.lamp.Tell(func(f *light.Facts) { f.Captured = yes }) }

// speech takes the colour of whoever answers.
func (l *lights) speech(e coordinator.SpeechEvent) {
	if e.Kind == coordinator.SpeechBegan {
		c := light.CompanionColour(string(l.d.voices.owner(e.Turn)))
		l.lamp.Tell(func(f *light.Facts) { f.Self = c })
	}
}

// session takes why there is none with the server: a key that is refused is not a network that is down.
func (l *lights) session(lost turn.SessionLost) {
	l.refused.Store(lost.Say == turn.WordsKeyRefused || lost.Say == turn.WordsQuota)
}

// turnEnded shows that a turn has failed.
func (l *lights) turnEnded(r coordinator.Record) {
	if r.Words != "" || r.Reason == turn.Failed.String() || r.Reason == turn.Expired.String() {
		l.lamp.Failed()
	}
}

// floor takes who has the floor elsewhere; empty: nobody.
func (l *lights) floor(c round.CompanionID) {
	colour := light.Colour{}
	if c != "" {
		colour = light.CompanionColour(string(c))
	}
	l.lamp.Tell(func(f *light.Facts) { f.Floor = colour })
}

// conditions takes what is wrong. The light does not tell of itself, nor of what works nevertheless.
func (l *lights) conditions() {
	l.lamp.Tell(func(f *light.Facts) {
		f.Trouble, f.Offline = false, false
		for _, c := range l.d.conds.list() {
			switch {
			case c.Code == lightLost || c.Code == "room.renamed":
			case c.Code == voiceLost && !l.refused.Load():
				f.Offline = true
			default:
				f.Trouble = true
			}
		}
	})
}
