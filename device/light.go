package device

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"conch/companions/round"
	"conch/coordinator"
	"conch/coordinator/turn"
	"conch/device/condition"
	"conch/device/config"
	"conch/device/control"
	"conch/device/wait"
	"conch/gpio"
	"conch/gpio/light"
)

// The light of the device: facts from everywhere, each told by whoever knows it, to one lamp (package light).
//
//	coordinator: Show        what the device does               conditions   trouble
//	microphone: captured     a frame of the person's is here    capture      muted: no device is open
//	room: floor              who speaks elsewhere               turnEnded    a turn has failed

// lights collects the facts. It is the coordinator's Light.
type lights struct {
	d    *Device
	lamp *light.Lamp

	newest sync.Mutex // held by conditions

	// atomic
	name    atomic.Pointer[string] // of the light; nil: none works
	refused atomic.Bool            // why there was no session the last time: the server did not want us
	quiet   atomic.Pointer[string] // light.quiet as it is now
}

// wireLight makes the light; nothing is opened before Run.
func (d *Device) wireLight() {
	l := &lights{d: d}
	d.lights = l
	l.quiet.Store(&d.cfg.Light.Quiet)
	l.lamp = light.New(light.Options{
		Open:     d.openLight(),
		Settings: lightSettings(d.cfg.Light),
		Level:    d.speaker.Level,
		Up: func(on light.Driver) {
			name := on.String()
			l.name.Store(&name)
			d.conds.Clear(condition.LightLost)
		},
		Down: func(err error) {
			l.name.Store(nil)
			d.conds.Set(condition.LightLost, err.Error(), "mend it, or set light.driver = \"none\"; it is tried again by itself (see: conch doctor)")
		},
	})
	l.lamp.Tell(func(f *light.Facts) { f.Self = light.CompanionColour(string(d.room.Cards[0].ID)) })
	d.conds.OnChange(l.conditions)
	l.conditions()
}

func lightSettings(c config.Light) light.Settings {
	s := light.Settings{Brightness: float64(c.Brightness) / 100, Dimmed: float64(c.QuietBrightness) / 100}
	if c.Quiet != "" {
		s.Quiet.From, s.Quiet.To, _ = config.ParseHours(c.Quiet) // the table of keys allows no other
	}
	return s
}

// openLight is how the light is opened; nil: there is none.
func (d *Device) openLight() func() (light.Driver, error) {
	if d.opts.Light != nil {
		return d.opts.Light
	}
	c, err := lightConfig(&d.cfg)
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
func lightConfig(c *config.Config) (light.Config, error) {
	l := c.Light
	out := light.Config{Driver: gpio.LightDriver(l.Driver), Chip: c.Button.Chip, SPI: l.SPI, Sysfs: l.Sysfs, Count: l.Count, Invert: l.Invert}
	if l.Driver == "auto" { // a board would have named one
		out.Driver = gpio.LightNone
	}
	if b, ok := gpio.FindBoard(c.Device.Board); ok && b.Light.Driver == out.Driver {
		out.Power = b.Light.Power
	}
	var err error
	if out.Pins, err = config.ParsePins(l.Pins); err != nil {
		err = fmt.Errorf("light.pins = %q: %w", l.Pins, err)
	}
	return out, err
}

// Show implements coordinator.Light.
func (l *lights) Show(s turn.State, _ string) {
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

// adjust takes how bright it is to be, while it runs.
func (l *lights) adjust(c config.Light) {
	l.quiet.Store(&c.Quiet)
	l.lamp.Adjust(lightSettings(c))
}

// captured says whether a frame from after the press has come from the microphone.
func (l *lights) captured(yes bool) { l.lamp.Tell(func(f *light.Facts) { f.Captured = yes }) }

// muted says whether no capture device is open, by wish.
func (l *lights) muted(yes bool) { l.lamp.Tell(func(f *light.Facts) { f.Muted = yes }) }

// speech takes the colour of whoever answers.
func (l *lights) speech(e coordinator.SpeechEvent) {
	if e.Kind == coordinator.SpeechBegan {
		c := light.CompanionColour(string(l.d.room.Called(e.Who))) // as the others show it
		l.lamp.Tell(func(f *light.Facts) { f.Self = c })
	}
}

// session takes why there is none with the server: a key that is no good is not a network that is down.
func (l *lights) session(lost turn.SessionLost) {
	l.refused.Store(lost.Say != turn.WordsOffline && lost.Say != turn.WordsServerError && lost.Say != turn.WordsClockWrong && lost.Say != turn.WordsElsewhere)
}

// turnEnded shows that a turn has failed.
func (l *lights) turnEnded(r coordinator.Record) {
	if r.Words != "" || r.Reason == turn.Failed.String() || r.Reason == turn.Expired.String() {
		l.lamp.Failed()
	}
}

// floor takes who has the floor; companions that live elsewhere are shown.
func (l *lights) floor(who round.Participant) {
	colour := light.Colour{}
	if c, ok := who.Companion(); ok && !l.d.room.Houses(c) {
		colour = light.CompanionColour(string(c))
	}
	l.lamp.Tell(func(f *light.Facts) { f.Floor = colour })
}

// String names the light; empty: there is none, or it does not work.
func (l *lights) String() string {
	if name := l.name.Load(); name != nil {
		return *name
	}
	return ""
}

// maxSample bounds how long somebody may look at a look.
const maxSample = time.Minute

// lightMux serves whoever looks after the wires:
//
//	POST /light  {"look": "listening", "for_ms": 3000}  -> {"light": …}
func (d *Device) lightMux(mux *http.ServeMux) {
	mux.HandleFunc("POST /light", func(w http.ResponseWriter, r *http.Request) {
		var q struct {
			Look string  `json:"look"`
			For  float64 `json:"for_ms"`
		}
		if !control.Decode(w, r, &q) {
			return
		}
		look, err := light.ParseLook(q.Look)
		name := d.lights.String()
		switch {
		case err != nil:
			err = fmt.Errorf("%w: %w", control.ErrRefused, err)
		case name == "":
			err = errors.New("there is no light, or it does not work (see: conch doctor)")
		default:
			d.lights.lamp.Show(look, min(time.Duration(q.For*float64(time.Millisecond)), maxSample))
		}
		control.Reply(w, map[string]string{"light": name}, err)
	})
}

// A Look is something that the light can tell.
type Look struct{ Name, About string }

// Looks lists them, the most important first.
func Looks() (all []Look) {
	for _, l := range light.Looks() {
		all = append(all, Look{l.String(), l.About()})
	}
	return all
}

// ShowLight shows a look on the light of this configuration, for so long: on that of the running appliance, or where none
// runs on one that it opens. begun is told what the light is called.
func ShowLight(ctx context.Context, cfg config.Config, look string, length time.Duration, begun func(name string)) error {
	shown, err := light.ParseLook(look)
	if err != nil {
		return fmt.Errorf("%w: %w", control.ErrRefused, err)
	}
	length = min(length, maxSample)
	if remote, err := control.Dial(cfg); err == nil {
		var answer struct{ Light string }
		in := map[string]any{"look": look, "for_ms": ms(length)}
		if err := remote.Do(ctx, http.MethodPost, "/light", in, &answer); err != nil {
			return err
		}
		begun(answer.Light)
		_ = wait.For(ctx, length) // whoever has seen enough
		return nil
	}
	c, err := lightConfig(&cfg)
	if err != nil {
		return fmt.Errorf("%w: config: %w", control.ErrRefused, err)
	}
	if c.Driver == gpio.LightNone {
		return fmt.Errorf("%w: there is no light: set light.driver, or device.board to a board that has one (conch gpio list --boards)", control.ErrRefused)
	}
	opened, err := light.Open(c)
	if err != nil {
		return err
	}
	begun(opened.String())
	var failed error
	ctx, cancel := context.WithTimeout(ctx, length)
	defer cancel()
	lamp := light.New(light.Options{
		Open:     func() (light.Driver, error) { return opened, nil },
		Settings: lightSettings(config.Light{Brightness: cfg.Light.Brightness}), // quiet hours or not
		Level:    func() int { return rand.IntN(math.MaxInt16) },
		Down:     func(err error) { failed = err; cancel() },
	})
	lamp.Show(shown, 2*length)
	_ = lamp.Run(ctx) // it ends with ctx only
	return failed
}

// conditions takes what is wrong.
func (l *lights) conditions() {
	l.newest.Lock() // what is told last is what was looked up last
	defer l.newest.Unlock()
	trouble, offline := false, false
	for _, c := range l.d.conds.List() {
		switch severity := c.Code.Severity(); {
		case strings.HasPrefix(string(c.Code), string(condition.VoiceUnheard)) && l.d.room.InRoom():
			trouble = true // the others do not get to know what is said
		case c.Code == condition.VoiceLost && l.refused.Load():
			trouble = true
		case severity == condition.Offline:
			offline = true
		case severity == condition.Trouble:
			trouble = true
		}
	}
	l.lamp.Tell(func(f *light.Facts) { f.Trouble, f.Offline = trouble, offline })
}
