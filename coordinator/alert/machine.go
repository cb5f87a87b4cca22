package alert

import "time"

// ID names an alert; no two have the same, and none has 0.
type ID uint64

// Bounds; our choices.
const (
	Most    = 16                      // alerts at the same time; one more has failed
	Longest = 5 * time.Minute         // how long one may be heard that says nothing of it
	Pause   = 1500 * time.Millisecond // between two rounds of sound
	Rest    = time.Minute             // of quiet, before one that was hushed rings once more
	AtOnce  = 2 * time.Second         // a press so soon after a hush elsewhere was meant for what rang
)

// Machine is what rings on a device and what waits behind it, whole, as a comparable value. Its zero value is a device on which
// nothing rings.
type Machine struct {
	queue [Most]item // in the order in which they were asked for
	n     int
	front bool          // nothing goes before them
	round int           // of sound that have begun since some began to ring; 0: none rings
	of    ID            // the first in the last round, by which that is told from others
	next  time.Duration // the next round begins then …
	plays bool          // … but now one sounds
	loud  bool          // it is not quiet here: nothing that rests comes back
}

type item struct {
	id    ID
	from  int           // the round with which it began to ring; 0: it waits for one
	since time.Duration // it is heard since then, when it rings and is in front
	left  time.Duration // for how much longer it may be heard
	heard bool          // something of it was
	rests time.Duration // it was hushed, and waits until then; 0: it does not
	quiet time.Duration // it was hushed then
	again bool          // it was hushed before
}

// Any tells that one rings, or wants to. One that rests does not.
func (m Machine) Any() bool {
	for _, q := range m.queue[:m.n] {
		if q.rests == 0 {
			return true
		}
	}
	return false
}

// Resting counts those that were hushed and ring once more.
func (m Machine) Resting() (n int) {
	for _, q := range m.queue[:m.n] {
		if q.rests != 0 {
			n++
		}
	}
	return n
}

// Begun tells that some have begun to ring, so that a person may know of them.
func (m Machine) Begun() bool { return m.round > 0 }

// Rings tells that they can be heard now, the pauses between rounds included.
func (m Machine) Rings() bool { return m.front && m.Begun() }

// Ringing are those that have begun to ring, in the order in which they were asked for.
func (m Machine) Ringing() (all []ID) {
	for _, q := range m.queue[:m.n] {
		if q.from > 0 {
			all = append(all, q.id)
		}
	}
	return all
}

// Wake is when time alone changes something. The runner tells the machine by Passed.
func (m Machine) Wake() (at time.Duration, ok bool) {
	sooner := func(t time.Duration) {
		if !ok || t < at {
			at, ok = t, true
		}
	}
	if m.front && !m.plays && m.Any() {
		sooner(m.next)
	}
	for _, q := range m.queue[:m.n] {
		if m.front && q.from > 0 {
			sooner(q.since + q.left)
		}
		if q.rests != 0 && !m.loud {
			sooner(q.rests)
		}
	}
	return at, ok
}
