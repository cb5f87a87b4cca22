package gpio

import (
	"cmp"
	"time"
)

// Times of the contact (gpio/FACTS.md 9). They are properties of fingers, switches and wires.
const (
	// PressAfter is the default for how long a contact is closed, after its last bounce, until it is a press: mains clicks and
	// static make clean pulses of 5 to 20 ms, and no finger is quicker.
	PressAfter = 25 * time.Millisecond
	// AtOnce as a press's length is for contacts that somebody else has settled already, as Linux does with keys.
	AtOnce = time.Duration(-1)

	openQuiet    = 4 * time.Millisecond  // quiet that makes an opened touch a glitch
	releaseQuiet = 25 * time.Millisecond // quiet that makes a release; useful as post-roll, so it may be long
	// Noisy bounds a touch: a contact that is not closed for good so long after it could have been a press is a noisy wire
	// until it comes to rest.
	Noisy = 36 * time.Millisecond
	// StuckAfter is the default for a press nobody can mean.
	StuckAfter = 60 * time.Second
)

type phase uint8

const (
	blocked   phase = iota // down since the start or stuck: wait for 25 ms of up
	up                     // at rest
	touched                // first edge seen, not settled
	noisy                  // never came to rest; wait until it does
	down                   // pressed
	lifting                // an edge while down; not settled
	stuckDown              // as blocked, after Stuck: Freed is due
)

// Debounce is a contact's state: a value, with no clock, channel or pointer. It begins blocked, until the contact has been up
// for 25 ms, because a button that is down at the start has not been pressed.
//
//	         edge          closed for 25 ms            edge            25 ms quiet, up
//	up ──────────> touched ─────────────────> down ──────────> lifting ───────────────> up
//	     Touched    │  │        Pressed        ^                  │        Released
//	                │  └ 4 ms quiet, up: Glitched, up             └ 25 ms quiet, down: down
//	                └ 61 ms of noise: Glitched, noisy ─ closed for 25 ms: Touched, Pressed, down
//	down, lifting ── held too long: Released, Stuck, stuckDown ── 25 ms quiet, up: Freed, up
type Debounce struct {
	press time.Duration // a contact so long is a press; negative: at once
	stuck time.Duration // a press so long is nobody's
	phase phase
	known bool          // the last level seen
	first time.Duration // first edge of the touch or of the lifting
	since time.Duration // first edge of the press
	last  time.Duration // last edge: quiet counts from here
	now   time.Duration // never goes back
}

// StartDebounce is a contact nobody has looked at yet. press is how long a contact is until it is a press, stuck how long a
// press may be; zero means PressAfter and StuckAfter.
func StartDebounce(at, press, stuck time.Duration) Debounce {
	press = cmp.Or(press, PressAfter)
	if stuck <= 0 {
		stuck = StuckAfter
	}
	return Debounce{press: press, stuck: stuck, last: at, now: at}
}

// Edge takes an edge with the level read after it, and appends what it means to out. The level may be that of before: two
// edges so close that the reader saw only the second.
func (d Debounce) Edge(e Edge, out []Event) (Debounce, []Event) {
	d, out = d.advance(e.At, e.Down, out)
	return d.change(e.Down, out)
}

// Level takes a level read at a time without an edge: a look on waiting in vain, which heals lost edges.
func (d Debounce) Level(at time.Duration, isDown bool, out []Event) (Debounce, []Event) {
	d, out = d.advance(at, isDown, out)
	if isDown != d.known {
		return d.change(isDown, out)
	}
	return d, out
}

// Wake is when Level is wanted next; false while only an edge can matter.
func (d Debounce) Wake() (time.Duration, bool) {
	switch d.phase {
	case touched:
		return min(d.last+d.quiet(), d.first+d.press+Noisy), true
	case noisy:
		return d.last + d.quiet(), true
	case down:
		return d.since + d.stuck, true
	case lifting:
		return min(d.last+releaseQuiet, d.since+d.stuck), true
	case blocked, stuckDown:
		return d.last + releaseQuiet, !d.known
	}
	return 0, false
}

// quiet is how long a touch rests before it is settled.
func (d Debounce) quiet() time.Duration {
	if d.known {
		return d.press
	}
	return openQuiet
}

// Lost is what becomes of a contact that can no longer be seen: a touch was none, a press has vanished but where it was just
// let go. Kind is 0 where neither was on.
func (d Debounce) Lost(at time.Duration) Event {
	ev := Event{At: max(at, d.now)}
	switch d.phase {
	case touched:
		ev.Kind, ev.At = Glitched, d.first
	case down:
		ev.Kind = Vanished
	case lifting:
		ev.Kind, ev.At = Released, d.first
	}
	return ev
}

// change is what a changed level means, after everything that was due before it.
func (d Debounce) change(isDown bool, out []Event) (Debounce, []Event) {
	d.known, d.last = isDown, d.now
	switch d.phase {
	case up:
		// Whatever the level is by now: the contact has moved, and the first edge acts at once (TURNS.md 2).
		d.phase, d.first = touched, d.now
		out = append(out, Event{Kind: Touched, At: d.now})
		if d.press < 0 && isDown {
			d.phase, d.since = down, d.now
			out = append(out, Event{Kind: Pressed, At: d.now})
		}
	case down:
		d.phase, d.first = lifting, d.now
	}
	return d, out
}

// advance carries out what fell due until at, by the level known then. seen is the level found now: where the known one says
// that nothing happened but the new one disagrees, an edge was lost, and the quiet begins anew.
func (d Debounce) advance(at time.Duration, seen bool, out []Event) (Debounce, []Event) {
	d.now = max(d.now, at)
	for {
		due, waiting := d.Wake()
		if !waiting || due > d.now {
			return d, out
		}
		switch d.phase {
		case touched:
			switch {
			case due < d.last+d.quiet():
				d.phase = noisy
				out = append(out, Event{Kind: Glitched, At: d.first})
			case d.known:
				d.phase, d.since = down, d.first
				out = append(out, Event{Kind: Pressed, At: d.first})
			case seen:
				return d.lost(), out
			default:
				d.phase = up
				out = append(out, Event{Kind: Glitched, At: d.first})
			}
		case noisy:
			switch {
			case d.known:
				d.phase, d.first, d.since = down, d.last, d.last
				out = append(out, Event{Kind: Touched, At: d.last}, Event{Kind: Pressed, At: d.last})
			default:
				d.phase = up
			}
		case down, lifting:
			switch {
			case due == d.since+d.stuck:
				d.phase, d.last = stuckDown, d.now
				out = append(out, Event{Kind: Released, At: due}, Event{Kind: Stuck, At: due})
			case !d.known:
				d.phase = up
				out = append(out, Event{Kind: Released, At: d.first})
			case !seen:
				return d.lost(), out
			default:
				d.phase = down // a contact that let go for a moment
			}
		case blocked, stuckDown:
			if seen {
				return d.lost(), out
			}
			if d.phase == stuckDown {
				out = append(out, Event{Kind: Freed, At: d.last})
			}
			d.phase = up
		}
	}
}

// lost restarts the quiet at an edge that nobody saw.
func (d Debounce) lost() Debounce {
	d.known, d.last = !d.known, d.now
	return d
}
