package gpio

import (
	"slices"
	"time"
)

// Which of many wires is the button, and which way round: found from edges alone. A press is a wire that leaves its rest, stays
// away for a while and comes back; two of them on the same wire in the same direction are the button.
//
//	GPIO17  ‾‾‾|_|____________|‾|_|‾‾‾‾‾‾‾     one press: away for 30 ms to 10 s, bounces left out
//	GPIO27  ‾|_|‾|_|‾|_|‾|_|‾|_|‾|_|‾|_|‾|     noise: never quiet for 20 ms. Left out, and named
//	GPIO5   ‾‾‾‾‾‾‾‾‾‾‾‾|_________________     stuck: away for longer than a press. That is its rest from now on
//	GPIO22  ‾‾‾|______________|‾‾‾‾‾‾‾‾‾‾‾     moves with GPIO17: no telling which is the button, so neither is
//
// It is a machine over facts: no clock, no line. Times are since any start.
type Learner struct {
	wires   []wire
	first   Press // the one that wants a second
	has     bool
	found   Press
	certain bool
}

// Times of a press that somebody makes on request.
const (
	learnQuiet = 20 * time.Millisecond  // no edge for so long: the contact has come to rest
	learnLeast = 30 * time.Millisecond  // shorter is a touch by accident
	learnMost  = 10 * time.Second       // longer is a switch, or something that is not a button
	learnJudge = 100 * time.Millisecond // after the end of a press, when all that moved with it has come to rest
	learnAgain = 30 * time.Second       // the second press comes within this
	learnNoise = 200                    // edges a second of a wire that is no button; the worst contact makes 100 in two presses
)

// Press is one press of one wire.
type Press struct {
	Pin      int
	High     bool // pressed is high
	From, To time.Duration
}

// Heard is what the learner makes of what it has seen.
type Heard struct {
	Kind HeardKind
	Pins []int
}

// HeardKind says which.
type HeardKind uint8

// What is heard.
const (
	HeardOnce     HeardKind = iota + 1 // a press; once more, to be sure
	HeardTwice                         // the same again: Found has it
	HeardOther                         // a press of another wire, or the other way round: it counts as the first
	HeardTogether                      // several wires moved together: which is the button?
	HeardNoise                         // a wire that never rests; it is left out
	HeardStuck                         // a wire that went away and stays there
)

type wire struct {
	pin   int
	rest  bool // level
	level bool
	away  bool // a press is on
	from  time.Duration
	back  time.Duration // first edge of what may be its end
	last  time.Duration // last edge
	open  bool          // edges since it came to rest
	mute  bool          // noise
	begun time.Duration // of the second in which edges are counted
	edges int
	done  []Press // ended and not judged
}

// StartLearner begins with wires whose level at rest is known, and what they are now: one that is not at rest is pressed.
func StartLearner(at time.Duration, rest, levels map[int]bool) *Learner {
	l := &Learner{}
	for pin, high := range rest {
		l.wires = append(l.wires, wire{pin: pin, rest: high, level: levels[pin], away: levels[pin] != high, from: at, last: at, begun: at})
	}
	slices.SortFunc(l.wires, func(a, b wire) int { return a.pin - b.pin })
	return l
}

// Edge takes an edge of a wire with the level after it.
func (l *Learner) Edge(at time.Duration, pin int, high bool) []Heard {
	heard := l.Tick(at)
	i := slices.IndexFunc(l.wires, func(w wire) bool { return w.pin == pin })
	if i < 0 || l.wires[i].mute {
		return heard
	}
	w := &l.wires[i]
	if at-w.begun >= time.Second {
		w.begun, w.edges = at, 0
	}
	if w.edges++; w.edges > learnNoise {
		w.mute = true
		if l.has && l.first.Pin == pin {
			l.has = false
		}
		return append(heard, Heard{HeardNoise, []int{pin}})
	}
	if !w.open {
		w.open = true
		if w.away {
			w.back = at
		} else {
			w.from = at
		}
	}
	w.level, w.last = high, at
	return heard
}

// Level takes the level of a wire that was looked at, which heals lost edges.
func (l *Learner) Level(at time.Duration, pin int, high bool) []Heard {
	i := slices.IndexFunc(l.wires, func(w wire) bool { return w.pin == pin })
	if i < 0 || l.wires[i].level == high {
		return l.Tick(at)
	}
	return l.Edge(at, pin, high)
}

// Tick takes the time. It is wanted every few hundredths of a second.
func (l *Learner) Tick(at time.Duration) (heard []Heard) {
	for i := range l.wires {
		w := &l.wires[i]
		if w.mute {
			continue
		}
		if w.open && at-w.last >= learnQuiet {
			w.open = false
			switch {
			case !w.away && w.level != w.rest:
				w.away = true
			case w.away && w.level == w.rest:
				w.away = false
				if held := w.back - w.from; held >= learnLeast && held <= learnMost {
					w.done = append(w.done, Press{Pin: w.pin, High: !w.rest, From: w.from, To: w.back})
				}
			}
		}
		if w.away && at-w.from > learnMost {
			w.away, w.rest = false, w.level
			heard = append(heard, Heard{HeardStuck, []int{w.pin}})
		}
	}
	return append(heard, l.judge(at)...)
}

// judge looks at presses that ended so long ago that what moved with them has come to rest as well.
func (l *Learner) judge(at time.Duration) (heard []Heard) {
	for {
		p, ok := l.next(at)
		if !ok {
			return heard
		}
		pins := l.together(p)
		switch {
		case len(pins) > 1:
			l.has = false
			heard = append(heard, Heard{HeardTogether, pins})
		case l.has && l.first.Pin == p.Pin && l.first.High == p.High && p.From-l.first.To <= learnAgain:
			l.found, l.certain, l.has = p, true, false
			heard = append(heard, Heard{HeardTwice, []int{p.Pin}})
		case l.has && p.From-l.first.To <= learnAgain:
			heard = append(heard, Heard{HeardOther, []int{l.first.Pin, p.Pin}})
			l.first = p
		default:
			l.first, l.has = p, true
			heard = append(heard, Heard{HeardOnce, []int{p.Pin}})
		}
	}
}

// next takes the earliest press that is ripe.
func (l *Learner) next(at time.Duration) (Press, bool) {
	best := -1
	for i, w := range l.wires {
		if len(w.done) > 0 && at-w.done[0].To >= learnJudge && (best < 0 || w.done[0].From < l.wires[best].done[0].From) {
			best = i
		}
	}
	if best < 0 {
		return Press{}, false
	}
	p := l.wires[best].done[0]
	l.wires[best].done = l.wires[best].done[1:]
	return p, true
}

// together are the wires that were away at the same time as p, with its own; what they did is judged with it.
func (l *Learner) together(p Press) []int {
	pins := []int{p.Pin}
	for i := range l.wires {
		w := &l.wires[i]
		n := len(w.done)
		w.done = slices.DeleteFunc(w.done, func(q Press) bool { return q.From <= p.To && q.To >= p.From })
		if len(w.done) < n || !w.mute && w.away && w.from <= p.To {
			pins = append(pins, w.pin)
		}
	}
	slices.Sort(pins)
	return slices.Compact(pins)
}

// Found is the button, once two presses agree.
func (l *Learner) Found() (Press, bool) { return l.found, l.certain }

// Waiting says that one press has been seen and a second is wanted, or that one is on: no time to change anything.
func (l *Learner) Waiting(at time.Duration) bool {
	if l.has && at-l.first.To <= learnAgain {
		return true
	}
	return slices.ContainsFunc(l.wires, func(w wire) bool { return !w.mute && (w.away || w.open || len(w.done) > 0) })
}
