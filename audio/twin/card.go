// Package twin is a sound card made of a clock and a tape, and the air of a virtual room (air.go). It needs no cgo.
//
//	render ─> ring of Periods periods ─> tape (what sounded, with its time)
//	Feed   ─> virtual air ─────────────> take
//
// The playback half behaves like an ALSA card under miniaudio: the callback of tick k fills the place in the ring that
// sounds Periods periods later, and a card that is not fed goes on playing what is in its ring, again and again. So a
// flag set at any time is heard within (Periods+1) x Period plus the fade.
//
// A Card advances by Advance (tests: the clock stands otherwise) or by Run (in time with the wall, faster, or as fast as
// it goes). Callbacks run on the goroutine that calls Advance or Run, one at a time. All frames are 48 kHz mono unless a
// name says otherwise.
package twin

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"conch/audio"
)

// ErrUnplugged is what opening a card returns while it is unplugged.
var ErrUnplugged = errors.New("device is gone (it is unplugged)")

// DefaultTape is how much of the tape is kept unless KeepTape says otherwise.
const DefaultTape = 2 * time.Minute

// Card is the twin of a sound card. It implements audio.Card.
type Card struct {
	clock *Clock

	// AfterPeriod, if set, is called on the advancing goroutine after each tick, with its time, before the next. It may
	// block: the time of a standing clock then waits. Set it before the first tick.
	AfterPeriod func(now time.Duration)

	// Sounded, if set, is given what has sounded, period by period, on the advancing goroutine. It must not block, nor keep the slice. Set it
	// before the first tick.
	Sounded func(frames []int16)

	ticking sync.Mutex // held while callbacks run; taken before mu

	mu        sync.Mutex
	streams   []*stream
	unplugged bool
	stalled   time.Duration // no callbacks before this time
	margin    int           // frames; 0: cannot be rewound
	late      func() int    // frames that have been played when a rewind comes; nil: none
	air       []int16       // what the microphone will hear
	tape      []int16
	tapeFrom  time.Duration // when tape[0] sounded
	keep      int           // frames
	record    io.Writer
	recordErr error
	recordAt  time.Duration // of the beginning of record
	recorded  int           // frames in record
}

// NewCard makes a card on a clock, with nothing plugged into it but the clock.
func NewCard(c *Clock) *Card { return &Card{clock: c, keep: audio.CardFrames(DefaultTape)} }

// Clock is the card's clock.
func (c *Card) Clock() *Clock { return c.clock }

// KeepTape keeps the last d of the tape; older sound is forgotten.
func (c *Card) KeepTape(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.keep = audio.CardFrames(d)
}

// Record writes what sounds from now on to w as well, signed 16 bit little endian. Where no playback device is open, it is
// silence (written when one is again), so that a place in the record is a time. The first error ends it; see RecordErr.
func (c *Card) Record(w io.Writer) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.record, c.recordErr = w, nil
	c.recordAt, c.recorded = c.clock.Now(), 0
}

// RecordErr is the error that ended Record, if one did.
func (c *Card) RecordErr() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.recordErr
}

// Rewinds makes playback that is opened from now on give back what it has not played, but for margin.
func (c *Card) Rewinds(margin time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.margin = audio.CardFrames(margin)
}

// LateRewinds makes rewinds come late from now on, each by as many frames as late says.
func (c *Card) LateRewinds(late func() int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.late = late
}

// lateCaptures is how many periods a stalled capture device keeps.
const lateCaptures = 50

// stream is one half of the card, open.
type stream struct {
	card    *Card
	granted audio.Granted
	opened  time.Duration
	ticks   int           // guarded by card.mu
	next    time.Duration // of the next tick; guarded by card.mu
	behind  int           // ticks without a callback; by the ticking goroutine
	closed  bool          // guarded by card.mu
	dead    bool          // unplugged while open: for good; guarded by card.mu

	render func([]int16)
	back   audio.Rewinder // nil: cannot be rewound
	anew   []int16        // what is rendered anew
	intact int            // slots in the ring that were rendered last, one after the other; by the ticking goroutine
	take   func([]int16)
	ring   [][]int16 // playback: one buffer a period; capture: periods not delivered yet
	slot   int
	buf    []int16 // capture: this period; playback: what a late callback renders in vain

	callbacks atomic.Uint64
}

// OpenPlayback implements audio.Card.
func (c *Card) OpenPlayback(conf audio.StreamConfig, render func(out []int16)) (audio.Stream, error) {
	s, err := c.open("playback", conf, 5*time.Millisecond)
	if err != nil {
		return nil, err
	}
	s.render = render
	s.ring = make([][]int16, s.granted.Periods)
	for i := range s.ring {
		s.ring[i] = make([]int16, s.granted.Period)
	}
	c.mu.Lock()
	if c.margin > 0 && conf.Back != nil && s.granted.Period%audio.RewindStep == 0 {
		s.granted.Margin, s.back = c.margin, conf.Back
		s.anew = make([]int16, s.granted.Period*s.granted.Periods)
	}
	c.mu.Unlock()
	if conf.Back != nil {
		conf.Back.Keep(s.granted)
	}
	c.add(s)
	return s, nil
}

// OpenCapture implements audio.Card.
func (c *Card) OpenCapture(conf audio.StreamConfig, take func(in []int16)) (audio.Stream, error) {
	s, err := c.open("capture", conf, 10*time.Millisecond)
	if err != nil {
		return nil, err
	}
	s.take = take
	c.add(s)
	return s, nil
}

// Better is never true: what is granted is all there is.
func (*Card) Better(audio.Granted) bool { return false }

// Spent is never true.
func (*Card) Spent() bool { return false }

func (c *Card) open(half string, conf audio.StreamConfig, period time.Duration) (*stream, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.unplugged {
		return nil, fmt.Errorf("audio: open %s %q: %w", half, conf.Device, ErrUnplugged)
	}
	if conf.Period > 0 {
		period = conf.Period
	}
	if conf.Periods <= 0 {
		conf.Periods = 3
		if c.margin > 0 && conf.Back != nil {
			conf.Periods = 8
		}
	}
	frames := max(1, audio.CardFrames(period))
	s := &stream{card: c, granted: audio.Granted{
		Backend: audio.BackendTwin, Device: "twin:" + half, Name: "virtual " + half,
		Rate: audio.CardRate, Period: frames, Periods: conf.Periods,
	}}
	s.buf = make([]int16, frames)
	return s, nil
}

func (c *Card) add(s *stream) {
	c.mu.Lock()
	defer c.mu.Unlock()
	s.opened = c.clock.Now()
	s.next = s.opened + audio.CardDuration(s.granted.Period)
	c.streams = append(c.streams, s)
}

// Capturing says whether a capture device is open.
func (c *Card) Capturing() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.ContainsFunc(c.streams, func(s *stream) bool { return s.take != nil })
}

// Granted implements audio.Stream.
func (s *stream) Granted() audio.Granted { return s.granted }

// Stats implements audio.Stream.
func (s *stream) Stats() audio.StreamStats { return audio.StreamStats{Callbacks: s.callbacks.Load()} }

// Rest implements audio.Stream: it goes on calling.
func (s *stream) Rest(bool) {}

// Wake implements audio.Stream: it calls when its time comes.
func (s *stream) Wake() bool { return false }

// Flush implements audio.Stream: what waits in it sounds.
func (s *stream) Flush(func()) {}

// Close implements audio.Stream. Called from a callback it would wait for itself, as with a real card.
func (s *stream) Close() error {
	s.card.ticking.Lock()
	defer s.card.ticking.Unlock()
	s.card.mu.Lock()
	defer s.card.mu.Unlock()
	s.closed = true
	s.card.streams = slices.DeleteFunc(s.card.streams, func(other *stream) bool { return other == s })
	return nil
}

// Unplug takes the card away: callbacks stop and nobody is told, what was queued is lost, opening fails.
func (c *Card) Unplug() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.unplugged = true
	for _, s := range c.streams {
		s.dead = true
	}
	c.streams = nil
}

// Replug brings it back. What was open before stays dead, as with a real card.
func (c *Card) Replug() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.unplugged = false
}

// Stall holds callbacks back for d from now, as a starved audio thread does. Playback repeats its ring meanwhile;
// capture loses nothing and delivers late.
func (c *Card) Stall(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.stalled = c.clock.Now() + d
}

// Advance moves a standing clock by d, period by period, calling what is due on the way.
func (c *Card) Advance(d time.Duration) {
	end := c.clock.Now() + d
	for c.step(end) {
	}
	c.clock.set(end)
}

// step does the next tick not after end, if there is one.
func (c *Card) step(end time.Duration) bool {
	c.ticking.Lock()
	c.mu.Lock()
	var s *stream
	for _, x := range c.streams {
		if x.next <= end && (s == nil || x.next < s.next) {
			s = x
		}
	}
	if s == nil {
		c.mu.Unlock()
		c.ticking.Unlock()
		return false
	}
	now := s.next
	s.ticks++
	s.next = s.opened + audio.CardDuration((s.ticks+1)*s.granted.Period) // counted in frames: periods need not be whole nanoseconds
	stalled := now < c.stalled
	c.clock.set(now)
	if s.render != nil {
		if s.back != nil && !stalled {
			c.mu.Unlock()
			s.rewind()
			c.mu.Lock()
		}
		c.hear(s.ring[s.slot], now)
		if c.Sounded != nil {
			c.Sounded(s.ring[s.slot])
		}
	} else {
		clear(s.buf)
		n := copy(s.buf, c.air)
		c.air = c.air[n:]
	}
	c.mu.Unlock()
	s.tick(stalled)
	c.ticking.Unlock()
	if c.AfterPeriod != nil {
		c.AfterPeriod(now)
	}
	return true
}

// rewind has rendered anew what is stale in the ring: it all has still to sound. Needs ticking.
func (s *stream) rewind() {
	all := s.granted.Period * s.granted.Periods
	s.card.mu.Lock()
	late := s.card.late
	s.card.mu.Unlock()
	stale := s.back.Stale()
	if stale && s.behind == 0 {
		n := s.back.Rewind(min(all-s.granted.Margin, s.intact*s.granted.Period))
		s.back.SetQueued(audio.CardDuration(all - n))
		first := min(n, s.granted.Period)
		s.render(s.anew[:first])
		if n > 0 {
			left := n
			if late != nil {
				left -= min(n, late())
			}
			if left = s.back.Settle(left); left < n {
				n, first = left, 0
			}
			if s.back.SetQueued(audio.CardDuration(all - n + first)); first < n {
				s.render(s.anew[first:n])
			}
		}
		for i, x := range s.anew[:n] {
			at := all - n + i
			s.ring[(s.slot+at/s.granted.Period)%len(s.ring)][at%s.granted.Period] = x
		}
	}
	s.back.SetQueued(audio.CardDuration(all))
}

// tick is one period of s: its callbacks. Needs ticking.
func (s *stream) tick(stalled bool) {
	if s.take != nil {
		if stalled {
			if len(s.ring) < lateCaptures { // beyond, an overrun: lost
				s.ring = append(s.ring, slices.Clone(s.buf))
			}
			return
		}
		for _, late := range s.ring {
			s.take(late)
			s.callbacks.Add(1)
		}
		s.ring = nil
		s.take(s.buf)
		s.callbacks.Add(1)
		return
	}
	if stalled {
		s.behind++ // the ring keeps what it has: it will be heard again
		s.intact = 0
	} else {
		for ; s.behind > 0; s.behind-- { // too late to be heard
			s.render(s.buf)
			s.callbacks.Add(1)
		}
		s.render(s.ring[s.slot])
		s.intact = min(s.intact+1, len(s.ring))
		s.callbacks.Add(1)
	}
	s.slot = (s.slot + 1) % len(s.ring)
}

// Run lets time pass until ctx ends. On a clock that follows the wall, in time with it. On a standing clock, speed times
// as fast as the wall; with speed 0 as fast as callbacks and AfterPeriod allow.
func (c *Card) Run(ctx context.Context, speed float64) error {
	const step = 5 * time.Millisecond
	started, from := time.Now(), c.clock.Now()
	wake := time.NewTimer(0)
	defer wake.Stop()
	for ctx.Err() == nil {
		if c.clock.wall {
			for c.step(c.clock.Now()) && ctx.Err() == nil {
			}
			wake.Reset(c.untilNext(step))
		} else {
			c.Advance(step)
			if speed <= 0 {
				continue
			}
			due := time.Duration(float64(c.clock.Now()-from) / speed)
			wait := due - time.Since(started)
			if wait <= 0 {
				continue
			}
			wake.Reset(wait)
		}
		select {
		case <-wake.C:
		case <-ctx.Done():
		}
	}
	return nil
}

// untilNext is how long until the next tick, at most d.
func (c *Card) untilNext(d time.Duration) time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.clock.Now()
	for _, s := range c.streams {
		d = min(d, max(0, s.next-now))
	}
	return d
}
