package light

import (
	"math"
	"slices"
	"time"
)

// Frame is what the LEDs show, as the eye sees it.
type Frame struct {
	LEDs       []Colour // the first LED first
	Brightness uint8    // of them all; 255 is full
}

// Shape is what a light can show.
type Shape struct {
	Pixels int           // LEDs in a row; at least one
	Colour bool          // each has its colour
	Dim    bool          // each can be less than full
	Least  time.Duration // between two frames of what moves, if setting one takes a while; zero: tick
}

// tick is the time between two frames of what moves. Our choice: 30 a second look smooth, and cost little.
const tick = time.Second / 30

func (s Shape) tick() time.Duration { return max(tick, s.Least) }

// Periods and strengths of the looks (see the package's table).
const (
	breath       = 3 * time.Second
	breathLeast  = 0.15 // never quite dark: something goes on
	pulsePeriod  = 4 * time.Second
	pulseLength  = 800 * time.Millisecond
	flashPeriod  = 6 * time.Second
	flashLength  = 120 * time.Millisecond
	momentLength = time.Second
	pulseLevel   = 0.5 // of the amber pulse
	turnPeriod   = 2 * time.Second
	dimLevel     = 0.35 // of somebody else's floor
	speakLeast   = 0.2  // between two words
	speakLit     = 0.5  // where an LED that is only on or off is on
	doublePeriod = 2 * time.Second
)

// rhythm is how long an LED is lit and dark in turn, from the beginning of a look on, over and over. Empty: always lit.
type rhythm []time.Duration

// rhythms of the looks, for one LED without colours.
var rhythms = map[Look]rhythm{
	Listening: nil,
	Waiting:   {time.Second, time.Second},
	Empty:     {150 * time.Millisecond, 200 * time.Millisecond},
	Noted:     {800 * time.Millisecond, 200 * time.Millisecond},
	Pairing:   {600 * time.Millisecond, 200 * time.Millisecond, 200 * time.Millisecond, 200 * time.Millisecond},
	Muted:     {1900 * time.Millisecond, 100 * time.Millisecond},
	Other:     {60 * time.Millisecond, 1940 * time.Millisecond},
	Error:     doubleBlink,
	Offline:   {pulseLength, pulsePeriod - pulseLength},
	Missed:    {flashLength, flashPeriod - flashLength},
}

var doubleBlink = rhythm{100 * time.Millisecond, 150 * time.Millisecond, 100 * time.Millisecond, doublePeriod - 350*time.Millisecond}

func (r rhythm) period() (sum time.Duration) {
	for _, d := range r {
		sum += d
	}
	return sum
}

// at says whether the LED is lit at a time, and how long that stays so; zero is for ever.
func (r rhythm) at(t time.Duration) (lit bool, stays time.Duration) {
	if len(r) == 0 {
		return true, 0
	}
	t %= r.period()
	for i, d := range r {
		if t < d {
			return i%2 == 0, d - t
		}
		t -= d
	}
	return false, 0 // not reached: t was less than the sum
}

// Frame draws the scene: since it began, with what sounds at a level from 0 to 1, at a brightness from 0 to 1. stays is how
// long the frame holds; zero: until something else is told.
func (s Scene) Frame(shape Shape, since time.Duration, level, brightness float64) (f Frame, stays time.Duration) {
	leds := make([]Colour, max(1, shape.Pixels))
	if s.Look == Off || brightness <= 0 {
		return Frame{LEDs: leds}, 0
	}
	f = Frame{leds, uint8(math.Ceil(255 * min(1, brightness)))}
	if !shape.Dim {
		f.Brightness = 255 // it has one only
	}
	if s.Look == Pairing && shape.Colour && len(leds) > 1 {
		s.turn(leds, since)
		return f, shape.tick()
	}
	strength, stays := s.strength(shape, since, level)
	c := s.Colour.times(strength)
	for i := range leds {
		if i > 0 && s.Look == Other && shape.Colour {
			break // one LED is enough
		}
		leds[i] = c
	}
	return f, stays
}

// strength is how bright the whole light is, from 0 to 1, and how long that stays.
func (s Scene) strength(shape Shape, since time.Duration, level float64) (float64, time.Duration) {
	smooth := shape.Dim
	rich := shape.Dim && shape.Colour
	switch {
	case s.Look == Speaking && smooth:
		return speakLeast + (1-speakLeast)*level, shape.tick()
	case s.Look == Speaking:
		return one(level >= speakLit), shape.tick()
	case s.Look == Waiting && smooth:
		return breathLeast + (1-breathLeast)*wave(since, breath), shape.tick()
	case s.Look == Noted && smooth:
		return 1 - float64(since%momentLength)/float64(momentLength), shape.tick()
	case s.Look == Offline && rich:
		at := since % pulsePeriod
		if at >= pulseLength {
			return 0, pulsePeriod - at
		}
		return pulseLevel * wave(at, pulseLength), shape.tick()
	case s.Look == Other && rich:
		return dimLevel, 0
	case s.Look == Muted && shape.Colour:
		return 1, 0
	}
	lit, stays := rhythms[s.Look].at(since)
	if s.Look == Missed && smooth {
		return dimLevel * one(lit), stays
	}
	return one(lit), stays
}

// Period is the time after which a scene shows the same again; zero: it stands still, or it follows what sounds.
func (s Scene) Period(shape Shape) time.Duration {
	rich := shape.Dim && shape.Colour
	switch {
	case s.Look == Off || s.Look == Speaking, shape.Colour && s.Look == Muted, rich && s.Look == Other:
		return 0
	case shape.Dim && s.Look == Waiting:
		return breath
	case shape.Dim && s.Look == Noted:
		return momentLength
	case shape.Colour && shape.Pixels > 1 && s.Look == Pairing:
		return turnPeriod
	}
	return rhythms[s.Look].period()
}

// turn lets one LED go round; the next one rises as it falls.
func (s Scene) turn(leds []Colour, since time.Duration) {
	n := float64(len(leds))
	at := n * float64(since%turnPeriod) / float64(turnPeriod)
	for i := range leds {
		away := math.Abs(at - float64(i))
		away = min(away, n-away)
		leds[i] = s.Colour.times(max(0, 1-away))
	}
}

// wave goes from 0 to 1 and back in a period, softly.
func wave(t, period time.Duration) float64 {
	return 0.5 - 0.5*math.Cos(2*math.Pi*float64(t%period)/float64(period))
}

func one(lit bool) float64 {
	if lit {
		return 1
	}
	return 0
}

func (c Colour) times(by float64) Colour {
	by = max(0, min(1, by))
	part := func(x uint8) uint8 { return uint8(math.Round(float64(x) * by)) }
	return Colour{part(c.R), part(c.G), part(c.B)}
}

// brightest is the value of an LED without colours.
func (c Colour) brightest() uint8 { return max(c.R, c.G, c.B) }

// Dark says that nothing is lit.
func (f Frame) Dark() bool {
	return f.Brightness == 0 || !slices.ContainsFunc(f.LEDs, func(c Colour) bool { return c != Colour{} })
}

// Equal says that two frames look alike.
func (f Frame) Equal(g Frame) bool {
	return slices.Equal(f.LEDs, g.LEDs) && f.Brightness == g.Brightness || len(f.LEDs) == len(g.LEDs) && f.Dark() && g.Dark()
}

// Linear is the share of full power, or of time, that an LED needs to look like v of 255 at a brightness. The eye's curve is
// taken as the power of 2.2, as screens do.
func Linear(v, brightness uint8) float64 {
	return math.Pow(float64(v)*float64(brightness)/(255*255), 2.2)
}

// Loudness makes of a peak (0..32767) a level from 0 to 1 as the ear has it: 40 dB of range, from there on silence.
func Loudness(peak int) float64 {
	if peak <= 0 {
		return 0
	}
	return max(0, min(1, 1+20*math.Log10(float64(peak)/math.MaxInt16)/40))
}
