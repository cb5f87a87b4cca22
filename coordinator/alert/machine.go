package alert

import "time"

// ID names an alert; no two have the same, and none has 0.
type ID uint64

// Bounds; our choices.
const (
	Most    = 16                      // alerts at the same time; one more has failed
	Longest = 5 * time.Minute         // how long one may be heard that says nothing of it
	Pause   = 1500 * time.Millisecond // between two rounds of sound, and between two alerts
)

// Machine is what rings on a device and what waits behind it, whole, as a comparable value. Its zero value is a device on which
// nothing rings.
type Machine struct {
	queue [Most]item // in the order in which they were asked for; the first one rings
	n     int
	front bool          // nothing goes before it
	since time.Duration // the first one is heard since then, when it has begun and front
	next  time.Duration // its next round begins then …
	plays bool          // … but now one sounds
}

type item struct {
	id    ID
	left  time.Duration // for how much longer it may be heard
	round int           // of sound that have begun
	heard bool          // something of it was
}

// First is the alert that rings, or is about to, or is behind something; 0: there is none.
func (m Machine) First() ID { return m.queue[0].id }

// Begun tells that the first one has begun to ring, so that a person may know of it.
func (m Machine) Begun() bool { return m.queue[0].round > 0 }

// Rings tells that it can be heard now, the pauses between its rounds included.
func (m Machine) Rings() bool { return m.front && m.Begun() }

// Wake is when time alone changes something. The runner tells the machine by Passed.
func (m Machine) Wake() (at time.Duration, ok bool) {
	if !m.front || m.n == 0 {
		return 0, false
	}
	if !m.plays {
		at, ok = m.next, true
	}
	if over := m.since + m.queue[0].left; m.Begun() && (!ok || over < at) {
		at, ok = over, true
	}
	return at, ok
}
