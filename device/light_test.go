package device

import (
	"errors"
	"math"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"conch/coordinator"
	"conch/coordinator/turn"
	"conch/device/condition"
	"conch/device/config"
	"conch/gpio/light"
)

// strip is a light that remembers what it showed.
type strip struct {
	mu     sync.Mutex
	shape  light.Shape
	frames []light.Frame
	closed bool
	fails  error // of Set
}

func (s *strip) Shape() light.Shape { return s.shape }
func (s *strip) String() string     { return "strip" }

func (s *strip) Set(f light.Frame) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.frames = append(s.frames, f)
	return s.fails
}

func (s *strip) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	return nil
}

// now is the newest frame's first LED.
func (s *strip) now() light.Colour {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.frames) == 0 {
		return light.Colour{}
	}
	return s.frames[len(s.frames)-1].LEDs[0]
}

func (s *strip) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.frames)
}

func (s *strip) lit() bool { return s.now() != light.Colour{} }

// shade says whether c is a colour, only darker.
func shade(c, of light.Colour) bool {
	part := max(float64(c.R)/255, float64(c.G)/255, float64(c.B)/255)
	near := func(x, y uint8) bool { return math.Abs(float64(x)-part*float64(y)) < 1.5 }
	return part > 0 && near(c.R, of.R) && near(c.G, of.G) && near(c.B, of.B)
}

func TestLightFollowsTheTurn(t *testing.T) {
	t.Parallel()
	s := &strip{shape: light.Shape{Pixels: 3, Colour: true, Dim: true}}
	b := newBox(t, boxOptions{light: func() (light.Driver, error) { return s, nil }, config: func(c *config.Config) { c.Light.Brightness = 100 }})
	b.until("dark", func() bool { return s.count() > 0 && !s.lit() })
	b.hand.Press()
	b.until("white: frames are captured", func() bool { return s.now() == light.White })
	b.pause(300 * time.Millisecond)
	b.hand.Release()
	b.until("the companion's colour", func() bool { return shade(s.now(), light.CompanionColour("ada")) })
	b.until("dark again", func() bool { return !s.lit() })
}

// shows opens this light.
func (s *strip) shows() (light.Driver, error) { return s, nil }

func newStrip() *strip { return &strip{shape: light.Shape{Pixels: 3, Colour: true, Dim: true}} }

// seen says whether a frame was ever shown that is so.
func (s *strip) seen(is func(light.Frame) bool) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.ContainsFunc(s.frames, is)
}

// A companion of another device that has the floor is one dim LED in its colour here.
func TestFlatLightShowsWhoSpeaksElsewhere(t *testing.T) {
	f := newFlat(t)
	s := newStrip()
	kitchen := f.raise("kitchen", "Ada", boxOptions{})
	hall := f.raise("hall", "Ben", boxOptions{light: s.shows})
	f.meet()
	want, _ := light.Scene{Look: light.Other, Colour: light.CompanionColour("ada")}.Frame(s.shape, 0, 0, 0.4)
	kitchen.types("Ada, long")
	hall.until("showing Ada, dim, on one LED", func() bool { return s.seen(want.Equal) })
	f.calm()
	hall.until("dark when she has spoken", func() bool { return !s.lit() })
	if d := len(hall.turnsEnded()); d != 0 {
		t.Errorf("the hall itself had %d turns; this test shows nothing", d)
	}
}

func TestLightOfTrouble(t *testing.T) {
	t.Parallel()
	s := newStrip()
	b := newBox(t, boxOptions{light: s.shows})
	b.until("dark", func() bool { return s.count() > 0 && !s.lit() })
	b.card.Unplug()
	b.until("a red blink", func() bool { return s.now() == light.Red })
	b.card.Replug()
	b.until("mended", func() bool { return len(b.conds.List()) == 0 })
	b.until("dark", func() bool { return !s.lit() })
	b.conds.Set(condition.RoomRenamed, "two of one name", "rename one")
	b.conds.Set(condition.SoundSlow, "a card with large buffers", "take another")
	b.conds.Set(condition.KeyMissing, "a rehearsal voice answers", "sudo conch key")
	b.pause(100 * time.Millisecond)
	if s.lit() {
		t.Error("the light tells of what works nevertheless")
	}
	b.conds.Set(condition.NetworkLost, "no network", "wait")
	b.until("no network: amber", func() bool { return shade(s.now(), light.Amber) })
}

func TestLightWithoutAServer(t *testing.T) {
	t.Parallel()
	s := newStrip()
	b := newBox(t, boxOptions{light: s.shows, key: "another", offline: true})
	b.until("a refused key is trouble: red", func() bool { c := s.now(); return c == light.Red })
	if s.seen(func(f light.Frame) bool { return f.LEDs[0].G > 0 }) {
		t.Error("a refused key was shown as a network that is down")
	}

	gone := newStrip()
	n := newBox(t, boxOptions{light: gone.shows, address: "ws://127.0.0.1:1/v1/realtime", offline: true})
	n.until("no server: amber", func() bool { c := gone.now(); return c.R > c.G && c.G > 0 && c.B == 0 })
}

func TestLightThatIsLostIsACondition(t *testing.T) {
	t.Parallel()
	s := newStrip()
	s.fails = errors.New("i/o error")
	b := newBox(t, boxOptions{light: s.shows})
	b.until("told", func() bool { return b.holds(condition.LightLost) })
	b.fine() // the conversation goes on without it
	if (socket{b.Device}).Status().Light != "" {
		t.Errorf("status names the light %q; want none that works", (socket{b.Device}).Status().Light)
	}
	s.mu.Lock()
	s.fails = nil
	s.mu.Unlock()
	b.until("back by itself", func() bool { return !b.holds(condition.LightLost) && (socket{b.Device}).Status().Light == "strip" })
}

func TestLightIsDarkAtTheEnd(t *testing.T) {
	t.Parallel()
	s := newStrip()
	b := newBox(t, boxOptions{light: s.shows})
	b.stop()
	b.until("given back", func() bool { s.mu.Lock(); defer s.mu.Unlock(); return s.closed })
}

// A pin that cannot be opened is a condition and no end.
func TestALightThatCannotBeOpened(t *testing.T) {
	t.Parallel()
	b := newBox(t, boxOptions{config: func(c *config.Config) { c.Light.Driver, c.Light.Pins = "gpio", "25"; c.Button.Chip = "there-is-none" }})
	b.until("told", func() bool { return b.holds(condition.LightLost) })
	b.fine()
}

func TestBrightnessIsReloaded(t *testing.T) {
	t.Parallel()
	s := newStrip()
	b := newBox(t, boxOptions{light: s.shows, config: func(c *config.Config) { c.Light.Brightness = 100 }})
	b.card.Unplug() // something that is shown
	b.until("lit", func() bool { return s.seen(func(f light.Frame) bool { return f.Brightness == 255 && !f.Dark() }) })
	running, next := b.cfg, b.cfg
	next.Light.Brightness = 20
	if !(reloads{b.Device}).Take("light.brightness", &next, &running) || running.Light.Brightness != 20 {
		t.Errorf("light.brightness wants a restart, or is not noted: %d", running.Light.Brightness)
	}
	b.until("dimmer", func() bool { return s.seen(func(f light.Frame) bool { return f.Brightness == 51 && !f.Dark() }) })
}

func TestAFailedTurnBlinks(t *testing.T) {
	t.Parallel()
	s := newStrip()
	b := newBox(t, boxOptions{light: s.shows})
	b.until("dark", func() bool { return s.count() > 0 && !s.lit() })
	b.lights.TurnEnded(coordinator.Record{Reason: turn.InterruptedByPress.String()}) // by a person: no failure
	b.lights.TurnEnded(coordinator.Record{Reason: turn.Failed.String()})
	b.until("a red blink", func() bool { return s.now() == light.Red })
	b.until("dark", func() bool { return !s.lit() })
	b.pause(time.Second)
	if n := s.count(); n != 5 { // dark, and two blinks
		t.Errorf("%d frames; want 5", n)
	}
}

// What a person asks for by name is shown by the running device.
func TestALookIsShownByName(t *testing.T) {
	t.Parallel()
	s := newStrip()
	b := newBox(t, boxOptions{light: s.shows})
	b.until("dark", func() bool { return (socket{b.Device}).Status().Light != "" && !s.lit() })
	post := func(body string) *httptest.ResponseRecorder {
		w := httptest.NewRecorder()
		(socket{b.Device}).mux().ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/light", strings.NewReader(body)))
		return w
	}
	if w := post(`{"look": "muted", "for_ms": 300}`); w.Code != http.StatusOK || !strings.Contains(w.Body.String(), `"strip"`) {
		t.Errorf("%d %s; want the light's name", w.Code, w.Body)
	}
	b.until("red", func() bool { return s.now() == light.Red })
	b.until("dark again", func() bool { return !s.lit() })
	for _, bad := range []string{`{"look": "disco", "for_ms": 300}`, `{"look": 1}`, `{`} {
		if w := post(bad); w.Code != http.StatusBadRequest {
			t.Errorf("%s: %d; want %d", bad, w.Code, http.StatusBadRequest)
		}
	}
}
