package device

import (
	"sync"
	"testing"
	"time"

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

func TestLightFollowsTheTurn(t *testing.T) {
	s := &strip{shape: light.Shape{Pixels: 3, Colour: true, Dim: true}}
	b := newBox(t, boxOptions{light: func() (light.Driver, error) { return s, nil }, config: func(c *Config) { c.Light.Brightness = 100 }})
	b.until("dark", func() bool { return s.count() > 0 && !s.lit() })
	b.hand.Press()
	b.until("white: frames are captured", func() bool { return s.now() == light.White })
	b.pause(300 * time.Millisecond)
	b.hand.Release()
	b.until("the companion's colour", func() bool {
		c, own := s.now(), light.CompanionColour("ada")
		return c != light.Colour{} && int(c.R)*int(own.B)/10 == int(c.B)*int(own.R)/10 && c.R != c.G
	})
	b.until("dark again", func() bool { return !s.lit() })
}
