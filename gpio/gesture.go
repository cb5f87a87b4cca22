package gpio

import (
	"fmt"
	"slices"
	"time"
)

// Mode is how a press is meant.
type Mode uint8

// Modes. In each of them the press itself acts at once; they differ only in what ends a recording.
const (
	Hold   Mode = iota // talk while the button is down
	Tap                // one press starts, the next one ends
	Hybrid             // a press shorter than 400 ms is a tap, a longer one is held
)

// ParseMode reads a mode as the configuration spells it.
func ParseMode(s string) (Mode, error) {
	if m := slices.Index(modes, s); m >= 0 {
		return Mode(m), nil
	}
	return Hold, fmt.Errorf("gpio: mode %q: must be hold, tap or hybrid", s)
}

var modes = []string{"hold", "tap", "hybrid"}

func (m Mode) String() string { return modes[m] }

// Times of fingers (gpio/FACTS.md 9; APPLIANCE.md 1).
const (
	tapShorter  = 400 * time.Millisecond // in mode hybrid
	doubleShort = 250 * time.Millisecond // each press of a double press is at most so long
	doubleGap   = 300 * time.Millisecond // and the second begins at most so long after the first
	longPress   = 5 * time.Second
	veryLong    = 10 * time.Second
	nobodys     = 30 * time.Second // longer than that is no gesture but something lying on the button
)

// Gesture turns the contact's presses into those that are meant, and adds gestures after the fact. A value without clock.
//
//	mode    contact   recording   comes out
//	hold    Pressed   -           Pressed
//	        Released  -           Released
//	tap     Pressed   off         Pressed, recording on
//	        Pressed   on          Released, recording off
//	        Released  any         nothing; Released if it was down for 5 s (a gesture is no recording)
//	hybrid  Pressed   off         Pressed
//	        Released  off         Released; recording on and nothing if it was down for less than 400 ms
//	        Pressed   on          Released, recording off
//	all     Touched, Glitched     the same, at once
//	all     Stuck     on          Released, recording off, Stuck
type Gesture struct {
	Mode Mode

	on      bool          // a tap has begun a recording that the next one ends
	ending  bool          // the contact's present press was that one
	pressed time.Duration // first edge of the present press
	short   bool          // the press before was a short one …
	lifted  time.Duration // … and ended here
}

// Recording says that a tap has begun a recording that the next one ends.
func (g Gesture) Recording() bool { return g.on }

// CaptureEnded says that the recording ended by itself (60 s of speech, a lost link): the next tap begins one.
func (g Gesture) CaptureEnded() Gesture {
	g.on = false
	return g
}

// Step takes an event of Debounce and appends what is meant by it.
func (g Gesture) Step(ev Event, out []Event) (Gesture, []Event) {
	switch ev.Kind {
	case Pressed:
		if g.short && ev.At-g.lifted > doubleGap {
			g.short = false
		}
		g.pressed = ev.At
		if g.on {
			g.on, g.ending = false, true
			return g, append(out, Event{Kind: Released, At: ev.At})
		}
		g.on, g.ending = g.Mode == Tap, false
		return g, append(out, ev)
	case Released:
		held := ev.At - g.pressed
		switch {
		case g.ending:
			g.ending = false
		case g.Mode == Hybrid && held < tapShorter:
			g.on = true
		case g.Mode != Tap:
			out = append(out, ev)
		case g.on && held >= longPress:
			g.on = false
			out = append(out, ev)
		}
		return g.gestures(ev.At, held, out)
	case Stuck:
		if g.on {
			g.on = false
			out = append(out, Event{Kind: Released, At: ev.At})
		}
	}
	return g, append(out, ev)
}

// Lost takes Debounce's Lost and says what it means, if anything: no gesture, and no recording that nobody can end.
func (g Gesture) Lost(ev Event) (Event, bool) {
	switch {
	case g.on:
		return Event{Kind: Vanished, At: ev.At}, true
	case g.ending && ev.Kind != Glitched:
		return ev, false
	}
	return ev, ev.Kind != 0
}

// Fingers decide which gestures of all buttons count. A value without clock.
//
//	event                        button not touchable   touchable
//	Pressed                      -                      its gestures count from now on, and of no other
//	Double-, Long-, VeryLong-    does not count         counts, unless another touchable button was pressed since
type Fingers struct {
	last int // touchable button that was pressed last; 0: none yet
}

// Step takes an event of a button, which has a number from 1 on, and says whether it is a gesture that counts.
func (f Fingers) Step(ev Event, button int, touchable bool) (Fingers, bool) {
	switch {
	case !touchable:
		return f, false
	case ev.Kind == Pressed:
		f.last = button
	case ev.Kind == DoublePressed, ev.Kind == LongPressed, ev.Kind == VeryLongPressed:
		return f, f.last == 0 || f.last == button
	}
	return f, false
}

func (g Gesture) gestures(at, held time.Duration, out []Event) (Gesture, []Event) {
	before := g.short
	g.short, g.lifted = held <= doubleShort, at
	switch {
	case before && g.short:
		g.short = false // a third press begins a new pair
		out = append(out, Event{Kind: DoublePressed, At: at})
	case held >= nobodys:
	case held >= veryLong:
		out = append(out, Event{Kind: VeryLongPressed, At: at})
	case held >= longPress:
		out = append(out, Event{Kind: LongPressed, At: at})
	}
	return g, out
}
