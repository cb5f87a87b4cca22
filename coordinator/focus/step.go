package focus

import (
	"slices"
	"time"
)

// Event is a fact.
type Event interface{ event() }

type (
	// Acquired: an activity begins. Whatever its channel had before ends; content lies beneath it, but for the one that it replaces.
	Acquired struct {
		At      time.Duration
		Channel Channel
		Instead ID // content that it takes the place of, as another place in a book does; 0: none
		Activity
	}
	// Released: an activity is over: it came to its end, or a person said stop.
	Released struct {
		At time.Duration
		ID ID
	}
	// Stopped: a person wants silence. What content there is comes back only when a person asks for it.
	Stopped struct{ At time.Duration }
	// Resumed: a person asks for it.
	Resumed struct{ At time.Duration }
	// Passed: it is At.
	Passed struct{ At time.Duration }
)

func (Acquired) event() {}
func (Released) event() {}
func (Stopped) event()  {}
func (Resumed) event()  {}
func (Passed) event()   {}

// Order is what becomes of an activity. Each that was Acquired has one End, and nothing after it.
type Order struct {
	ID  ID
	Do  Verb
	Why Why // of an End
}

// Verb is what is done with an activity.
type Verb uint8

// Verbs.
const (
	Play  Verb = iota + 1 // it is heard as it is: from its beginning, or from the sample behind the last that was heard
	Duck                  // it is heard softly
	Pause                 // it is silent; what has not been heard is kept
	End
)

func (v Verb) String() string { return [...]string{"none", "play", "duck", "pause", "end"}[v] }

// Why is why an activity ended.
type Why uint8

// Reasons.
const (
	Over     Why = iota // Released
	Replaced            // another one of its channel began, or of content another one instead of it, or one too many
	Expired             // it was paused for longer than its patience
)

func (w Why) String() string { return [...]string{"over", "replaced", "expired"}[w] }

// Step returns the machine after ev and what becomes of whom, in order.
func Step(m Machine, ev Event) (Machine, []Order) {
	s := step{m: m}
	switch e := ev.(type) {
	case Acquired:
		if e.ID == 0 || m.Level(e.ID) != 0 {
			return m, nil // it has begun already
		}
		i := index(e.Channel)
		if i == newest {
			s.push(e)
		} else {
			s.end(i, Replaced)
		}
		s.m.slots[i] = slot{Activity: e.Activity}
		s.settle(e.At)
	case Released:
		for i, o := range m.slots {
			if o.ID == e.ID && e.ID != 0 {
				s.end(i, Over)
				s.settle(e.At)
			}
		}
	case Stopped:
		s.hold(true, e.At)
	case Resumed:
		s.hold(false, e.At)
	case Passed:
		for i, o := range slices.Backward(m.slots[:]) { // those that follow one that ends move
			if o.until > 0 && o.until <= e.At {
				s.end(i, Expired)
			}
		}
		s.settle(e.At)
	}
	return s.m, s.out
}

type step struct {
	m   Machine
	out []Order
}

func (s *step) end(i int, why Why) {
	id := s.m.slots[i].ID
	if id == 0 {
		return
	}
	s.m.slots[i] = slot{}
	if i >= newest {
		copy(s.m.slots[i:], s.m.slots[i+1:])
		s.m.slots[len(s.m.slots)-1] = slot{}
	}
	s.out = append(s.out, Order{id, End, why})
}

// push makes the newest place of content free. Where all are taken, the oldest ends.
func (s *step) push(e Acquired) {
	for i, o := range s.m.slots[newest:] {
		if o.ID == e.Instead {
			s.end(newest+i, Replaced)
			break
		}
	}
	s.end(len(s.m.slots)-1, Replaced)
	copy(s.m.slots[newest+1:], s.m.slots[newest:])
}

// hold has all content wait until a person asks for it, or no longer.
func (s *step) hold(on bool, at time.Duration) {
	for i := range s.m.slots[newest:] {
		o := &s.m.slots[newest+i]
		o.held = on && o.ID != 0
	}
	s.settle(at)
}

// settle gives each activity its level. Those that give way do so before another one comes forward.
func (s *step) settle(at time.Duration) {
	front, exclusive := false, false
	var want [len(s.m.slots)]Level
	returns := -1
	for i, o := range s.m.slots {
		switch {
		case o.ID == 0:
			continue
		case i > newest, o.held: // only content lies beneath content
			want[i] = Paused
			continue
		case !front && o.level == Foreground, !front && !o.heard:
			want[i] = Foreground
		case !front:
			want[i], returns = o.level, i // not before a breath
		case exclusive || !o.Mixable:
			want[i] = Paused
		default:
			want[i] = Ducked
		}
		front, exclusive = true, exclusive || o.Exclusive
	}
	switch {
	case returns < 0:
		s.m.back = 0
	case s.m.back == 0:
		s.m.back = at + Breath
	case s.m.back <= at:
		s.m.back, want[returns] = 0, Foreground
	}
	for _, louder := range [...]bool{false, true} {
		for i := range s.m.slots {
			if (want[i] == Foreground) == louder {
				s.become(i, want[i], at)
			}
		}
	}
}

// become changes the level of one.
func (s *step) become(i int, l Level, at time.Duration) {
	o := &s.m.slots[i]
	if l == o.level {
		return
	}
	o.level, o.until, o.heard = l, 0, o.heard || l != Paused
	if l == Paused && o.Patience > 0 {
		o.until = at + o.Patience
	}
	s.out = append(s.out, Order{ID: o.ID, Do: [...]Verb{Foreground: Play, Ducked: Duck, Paused: Pause}[l]})
}
