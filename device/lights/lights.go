// Package lights tells the light of the device what goes on: facts from everywhere, each told by whoever knows it, to one lamp
// (package light).
//
//	coordinator: Show        what the device does               conditions   trouble
//	microphone: Captured     a frame of the person's is here    capture      Muted: no device is open
//	room: Floor              who speaks elsewhere               TurnEnded    a turn has failed
package lights

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

// Options are what Lights are made of.
type Options struct {
	Config     *config.Config               // not changed while they are made
	Open       func() (light.Driver, error) // nil: that of the configuration
	Self       round.CompanionID            // whose colour it begins with
	Level      func() int                   // of what sounds
	Wall       func() time.Time             // nil: time.Now
	Room       Room
	Conditions *condition.Book
}

// Room is what the light asks of the room. It may be asked on any goroutine.
type Room interface {
	Called(turn.Who) round.CompanionID // as the others know whose turn it is
	Houses(round.CompanionID) bool     // it lives here
	InRoom() bool                      // there is a room at all
}

// Lights collect the facts. They are the coordinator's Light.
type Lights struct {
	// fixed
	room  Room
	conds *condition.Book
	lamp  *light.Lamp

	newest sync.Mutex // held by conditions

	// atomic
	name    atomic.Pointer[string] // of the light; nil: none works
	refused atomic.Bool            // why there was no session the last time: the server did not want us
}

// New makes the light; nothing is opened before Run.
func New(o Options) *Lights {
	l := &Lights{room: o.Room, conds: o.Conditions}
	open := o.Open
	if open == nil {
		open = opener(o.Config)
	}
	l.lamp = light.New(light.Options{
		Open:     open,
		Settings: Settings(o.Config),
		Level:    o.Level,
		Wall:     o.Wall,
		Up: func(on light.Driver) {
			name := on.String()
			l.name.Store(&name)
			l.conds.Clear(condition.LightLost)
		},
		Down: func(err error) {
			l.name.Store(nil)
			l.conds.Set(condition.LightLost, err.Error(), "mend it, or set light.driver = \"none\"; it is tried again by itself (see: conch doctor)")
		},
	})
	l.lamp.Tell(func(f *light.Facts) { f.Self = light.CompanionColour(string(o.Self)) })
	l.conds.OnChange(l.conditions)
	l.conditions()
	return l
}

// Run shows what goes on until ctx ends.
func (l *Lights) Run(ctx context.Context) error { return l.lamp.Run(ctx) }

// Settings are how bright the light is to be, and when.
func Settings(c *config.Config) light.Settings {
	return light.Settings{Brightness: float64(c.Light.Brightness) / 100, Dimmed: float64(c.Light.QuietBrightness) / 100, Quiet: Hours(c)}
}

// Hours are those of device.quiet; zero: none.
func Hours(c *config.Config) (h light.Hours) {
	h.From, h.To, _ = config.ParseHours(c.Device.Quiet) // the table of keys allows nothing but these or none
	return h
}

// opener is how the light of the configuration is opened; nil: there is none.
func opener(conf *config.Config) func() (light.Driver, error) {
	c, err := Config(conf)
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

// Config is the light that the configuration comes to.
func Config(c *config.Config) (light.Config, error) {
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
func (l *Lights) Show(s turn.State, _ string) {
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

// Adjust takes how bright it is to be, while it runs.
func (l *Lights) Adjust(c *config.Config) { l.lamp.Adjust(Settings(c)) }

// Captured says whether a frame from after the press has come from the microphone.
func (l *Lights) Captured(yes bool) { l.lamp.Tell(func(f *light.Facts) { f.Captured = yes }) }

// Muted says whether no capture device is open, by wish.
func (l *Lights) Muted(yes bool) {
	l.lamp.Tell(func(f *light.Facts) { f.Muted, f.Captured = yes, f.Captured && !yes })
}

// Speech takes the colour of whoever answers.
func (l *Lights) Speech(e coordinator.SpeechEvent) {
	if e.Kind == coordinator.SpeechBegan {
		c := light.CompanionColour(string(l.room.Called(e.Who))) // as the others show it
		l.lamp.Tell(func(f *light.Facts) { f.Self = c })
	}
}

// Session takes why there is none with the server: a key that is no good is not a network that is down.
func (l *Lights) Session(lost turn.SessionLost) {
	switch lost.Say {
	case turn.WordsOffline, turn.WordsNotRunning, turn.WordsHearOnly, turn.WordsNoAnswer, turn.WordsServerError, turn.WordsClockWrong, turn.WordsElsewhere:
		l.refused.Store(false)
	default:
		l.refused.Store(true)
	}
}

// TurnEnded shows that a turn has failed, or that nothing was said in it.
func (l *Lights) TurnEnded(r coordinator.Record) {
	switch {
	case r.Words != "" || r.Reason == turn.Failed.String() || r.Reason == turn.Expired.String():
		l.lamp.Moment(light.Error)
	case r.Reason == turn.Empty.String(), r.Reason == turn.TooShort.String():
		l.lamp.Moment(light.Empty)
	}
}

// Floor takes who has the floor; companions that live elsewhere are shown.
func (l *Lights) Floor(who round.Participant) {
	colour := light.Colour{}
	if c, ok := who.Companion(); ok && !l.room.Houses(c) {
		colour = light.CompanionColour(string(c))
	}
	l.lamp.Tell(func(f *light.Facts) { f.Floor = colour })
}

// Pairing shows whether a person's way into a room is open.
func (l *Lights) Pairing(yes bool) { l.lamp.Tell(func(f *light.Facts) { f.Pairing = yes }) }

// Missed shows whether something was said of which no person has asked who did not hear it.
func (l *Lights) Missed(yes bool) { l.lamp.Tell(func(f *light.Facts) { f.Missed = yes }) }

// String names the light; empty: there is none, or it does not work.
func (l *Lights) String() string {
	if name := l.name.Load(); name != nil {
		return *name
	}
	return ""
}

// maxSample bounds how long somebody may look at a look.
const maxSample = time.Minute

// Serve serves whoever looks after the wires:
//
//	POST /light  {"look": "listening", "for_ms": 3000}  -> {"light": …}
func (l *Lights) Serve(mux *http.ServeMux) {
	mux.HandleFunc("POST /light", func(w http.ResponseWriter, r *http.Request) {
		var q struct {
			Look string  `json:"look"`
			For  float64 `json:"for_ms"`
		}
		if !control.Decode(w, r, &q) {
			return
		}
		look, err := light.ParseLook(q.Look)
		name := l.String()
		switch {
		case err != nil:
			err = fmt.Errorf("%w: %w", control.ErrRefused, err)
		case name == "":
			err = errors.New("there is no light, or it does not work (see: conch doctor)")
		default:
			l.lamp.Show(look, min(time.Duration(q.For*float64(time.Millisecond)), maxSample))
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

// Show shows a look on the light of this configuration, for so long: on that of the running appliance, or where none
// runs on one that it opens. begun is told what the light is called.
func Show(ctx context.Context, cfg config.Config, look string, length time.Duration, begun func(name string)) error {
	shown, err := light.ParseLook(look)
	if err != nil {
		return fmt.Errorf("%w: %w", control.ErrRefused, err)
	}
	length = min(length, maxSample)
	if remote, err := control.Dial(cfg); err == nil {
		var answer struct{ Light string }
		in := map[string]any{"look": look, "for_ms": float64(length) / float64(time.Millisecond)}
		if err := remote.Do(ctx, http.MethodPost, "/light", in, &answer); err != nil {
			return err
		}
		begun(answer.Light)
		_ = wait.For(ctx, length) // whoever has seen enough
		return nil
	}
	c, err := Config(&cfg)
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
		Settings: light.Settings{Brightness: float64(cfg.Light.Brightness) / 100}, // quiet hours or not
		Level:    func() int { return rand.IntN(math.MaxInt16) },
		Down:     func(err error) { failed = err; cancel() },
	})
	lamp.Show(shown, 2*length)
	_ = lamp.Run(ctx) // it ends with ctx only
	return failed
}

// conditions takes what is wrong.
func (l *Lights) conditions() {
	l.newest.Lock() // what is told last is what was looked up last
	defer l.newest.Unlock()
	trouble, offline := false, false
	for _, c := range l.conds.List() {
		switch severity := c.Code.Severity(); {
		case strings.HasPrefix(string(c.Code), string(condition.VoiceUnheard)) && l.room.InRoom():
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
