// Package audiotest has the contract that every card keeps, the twin as well as a real one.
package audiotest

import (
	"fmt"
	"sync/atomic"
	"time"

	"conch/audio"
)

// TB is what the contract needs of a *testing.T; a test of the contract itself has one that only counts.
type TB interface {
	Helper()
	Errorf(format string, a ...any)
	Fatalf(format string, a ...any)
	Logf(format string, a ...any)
}

// patience is how long the contract waits for what must come at all; it says nothing about speed.
const patience = 10 * time.Second

// TestCard is the contract of audio.Card. It runs in real time on the twin (with Run going), on the simulated ALSA card,
// on PulseAudio, on a Pi. wait lets that much time pass; nil means the wall's.
func TestCard(t TB, card audio.Card, wait func(time.Duration)) {
	t.Helper()
	if wait == nil {
		wait = func(d time.Duration) { <-time.NewTimer(d).C }
	}
	c := contract{TB: t, card: card, wait: wait}
	c.playback()
	c.capture()
	c.both()
	c.reopen()
}

type contract struct {
	TB
	card audio.Card
	wait func(time.Duration)
}

// until waits for what must become true.
func (c contract) until(what string, ok func() bool) {
	c.Helper()
	for waited := time.Duration(0); !ok(); waited += 2 * time.Millisecond {
		if waited > patience {
			c.Fatalf("%s: still not after %v", what, patience)
		}
		c.wait(2 * time.Millisecond)
	}
}

// half is one open direction and what its callback saw.
type half struct {
	audio.Stream
	frames, calls, after, empty atomic.Int64
	inside                      atomic.Int32
	overlap                     atomic.Bool
	closed                      atomic.Bool
}

func (h *half) callback(b []int16) {
	if h.inside.Add(1) > 1 {
		h.overlap.Store(true)
	}
	if h.closed.Load() {
		h.after.Add(1)
	}
	if len(b) == 0 {
		h.empty.Add(1)
	}
	for i := range b {
		b[i] = int16(i % 64) // render must fill all of it; take may do what it likes with it
	}
	h.frames.Add(int64(len(b)))
	h.calls.Add(1)
	h.inside.Add(-1)
}

func (c contract) open(name string, conf audio.StreamConfig) *half {
	c.Helper()
	h, open := &half{}, c.card.OpenPlayback
	if name == "capture" {
		open = c.card.OpenCapture
	}
	s, err := open(conf, h.callback)
	if err != nil {
		c.Fatalf("%s: %v", name, err)
	}
	h.Stream = s
	return h
}

func (c contract) close(name string, h *half) {
	c.Helper()
	done := make(chan error, 1)
	go func() { done <- h.Close() }()
	var err error
	c.until(name+": Close returns", func() bool {
		select {
		case err = <-done:
			return true
		default:
			return false
		}
	})
	if err != nil {
		c.Errorf("%s: Close: %v", name, err)
	}
	h.closed.Store(true)
	calls := h.calls.Load()
	h.Rest(true) // nobody minds after the end
	h.Wake()
	h.Flush(func() {})
	h.Stats()
	c.wait(100 * time.Millisecond)
	if h.after.Load() > 0 || h.calls.Load() != calls {
		c.Errorf("%s: called back after Close returned", name)
	}
	if h.overlap.Load() {
		c.Errorf("%s: two callbacks at once", name)
	}
	if h.empty.Load() > 0 {
		c.Errorf("%s: called back with no frames", name)
	}
}

func (c contract) granted(name string, s audio.Stream) {
	c.Helper()
	g := s.Granted()
	if g.Backend == "" || g.Device == "" || g.Name == "" {
		c.Errorf("%s: granted without a name: %+v", name, g)
	}
	if g.Rate <= 0 || g.Period <= 0 || g.Periods <= 0 || g.Queued() <= 0 {
		c.Errorf("%s: granted nothing: %+v", name, g)
	}
	c.Logf("%s: %s: %d frames x %d at %d Hz, queued %v", name, describe(g), g.Period, g.Periods, g.Rate, g.Queued())
}

func describe(g audio.Granted) string { return fmt.Sprintf("%s %q (%s)", g.Backend, g.Device, g.Name) }

func (c contract) playback() {
	c.Helper()
	h := c.open("playback", audio.StreamConfig{})
	c.granted("playback", h)
	c.until("playback: half a second of frames", func() bool { return h.frames.Load() >= audio.CardRate/2 })
	if n := h.Stats().Callbacks; n == 0 || int64(n) > h.calls.Load() {
		c.Errorf("playback: counts %d callbacks; there were %d", n, h.calls.Load())
	}
	c.rests("playback", h)
	c.close("playback", h)
}

// rests: a stream that rests, or cannot, is alive; and it calls again when it is told to.
func (c contract) rests(name string, h *half) {
	c.Helper()
	h.Rest(true)
	n := h.Stats().Callbacks
	c.until(name+": it is alive while it rests", func() bool { return h.Stats().Callbacks > n+10 })
	h.Rest(false)
	calls := h.calls.Load()
	c.until(name+": it calls after its rest", func() bool { return h.calls.Load() > calls })
	if h.Stats().Resting {
		c.Errorf("%s: rests, though it was told not to", name)
	}
	h.Wake() // it never waits
}

func (c contract) capture() {
	c.Helper()
	h := c.open("capture", audio.StreamConfig{})
	c.granted("capture", h)
	c.until("capture: half a second of frames", func() bool { return h.frames.Load() >= audio.CardRate/2 })
	if h.Stats().Callbacks == 0 {
		c.Errorf("capture: counts no callbacks")
	}
	c.rests("capture", h)
	c.close("capture", h)
}

// Both at once, as the appliance does: two devices, not one of both.
func (c contract) both() {
	c.Helper()
	p, r := c.open("playback", audio.StreamConfig{}), c.open("capture", audio.StreamConfig{})
	c.until("both: frames on both", func() bool {
		return p.frames.Load() >= audio.CardRate/5 && r.frames.Load() >= audio.CardRate/5
	})
	c.close("capture of both", r)
	before := p.frames.Load()
	c.until("playback goes on without capture", func() bool { return p.frames.Load() > before+audio.CardRate/10 })
	c.close("playback of both", p)
}

func (c contract) reopen() {
	c.Helper()
	for range 3 {
		h := c.open("playback", audio.StreamConfig{Period: 10 * time.Millisecond, Periods: 2})
		c.until("reopened: frames", func() bool { return h.frames.Load() > 0 })
		c.close("reopened playback", h)
	}
}
