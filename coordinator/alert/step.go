package alert

import "time"

// Event is a fact.
type Event interface{ event() }

type (
	// Asked: somebody wants a person's attention, until one presses, for Longest at most (0: the default).
	Asked struct {
		At      time.Duration
		ID      ID
		Longest time.Duration
	}
	// Withdrawn: whoever asked does not want it any more.
	Withdrawn struct {
		At time.Duration
		ID ID
	}
	// Answered: a person stops what has begun to ring.
	Answered struct{ At time.Duration }
	// Fronted: nothing goes before alerts any more, or something does.
	Fronted struct {
		At  time.Duration
		Yes bool
	}
	// Sounded: a round is over, played to its end or not. Heard tells that something of it was.
	Sounded struct {
		At    time.Duration
		ID    ID
		Round int
		Heard bool
	}
	// Passed: it is At.
	Passed struct{ At time.Duration }
)

func (Asked) event()     {}
func (Withdrawn) event() {}
func (Answered) event()  {}
func (Fronted) event()   {}
func (Sounded) event()   {}
func (Passed) event()    {}

// Order is what becomes of an alert. Each that was Asked has one End, and nothing after it.
type Order struct {
	ID    ID
	Do    Verb
	Round int // of Sound and Silence, from 1
	How   How // of an End
}

// Verb is what is done with an alert.
type Verb uint8

// Verbs.
const (
	Sound   Verb = iota + 1 // a round of it; Sounded follows
	Silence                 // the round that sounds is cut
	End
)

func (v Verb) String() string { return [...]string{"none", "sound", "silence", "end"}[v] }

// How is how an alert ended.
type How uint8

// Ends.
const (
	Stopped    How = iota // by a person
	Unanswered            // it was heard for as long as it may be
	Taken                 // Withdrawn
	Failed                // nobody can have heard it
)

func (h How) String() string { return [...]string{"stopped", "unanswered", "withdrawn", "failed"}[h] }

// Step returns the machine after ev and what becomes of whom, in order.
func Step(m Machine, ev Event) (Machine, []Order) {
	s := step{m: m}
	switch e := ev.(type) {
	case Asked:
		s.asked(e)
	case Withdrawn:
		if i := m.index(e.ID); i >= 0 {
			s.end(e.At, i, Taken)
		}
	case Answered:
		if m.Begun() {
			s.end(e.At, 0, Stopped)
		}
	case Fronted:
		s.fronted(e)
	case Sounded:
		if first := &s.m.queue[0]; e.ID != 0 && e.ID == first.id && e.Round == first.round {
			first.heard = first.heard || e.Heard
			if s.m.plays {
				s.m.plays, s.m.next = false, e.At+Pause
			}
		}
	case Passed:
		s.passed(e.At)
	}
	return s.m, s.out
}

type step struct {
	m   Machine
	out []Order
}

func (m Machine) index(id ID) int {
	for i, q := range m.queue[:m.n] {
		if q.id == id {
			return i
		}
	}
	return -1
}

func (s *step) asked(e Asked) {
	if e.ID == 0 || s.m.index(e.ID) >= 0 {
		return
	}
	if s.m.n == Most {
		s.out = append(s.out, Order{ID: e.ID, Do: End, How: Failed})
		return
	}
	if e.Longest <= 0 {
		e.Longest = Longest
	}
	s.m.queue[s.m.n] = item{id: e.ID, left: e.Longest}
	if s.m.n++; s.m.n == 1 {
		s.m.next = e.At
		s.passed(e.At)
	}
}

// fronted: what is behind something else is silent and loses nothing of its time.
func (s *step) fronted(e Fronted) {
	m := &s.m
	if m.n == 0 || e.Yes == m.front {
		return
	}
	if m.front = e.Yes; e.Yes {
		m.since, m.next = e.At, e.At
		s.passed(e.At)
		return
	}
	first := &m.queue[0]
	if m.Begun() {
		first.left -= e.At - m.since
	}
	s.silence()
}

func (s *step) silence() {
	if first := s.m.queue[0]; s.m.plays {
		s.m.plays = false
		s.out = append(s.out, Order{ID: first.id, Do: Silence, Round: first.round})
	}
}

func (s *step) passed(at time.Duration) {
	m := &s.m
	first := &m.queue[0]
	switch {
	case m.n == 0 || !m.front:
	case m.Begun() && at >= m.since+first.left:
		how := Failed
		if first.heard {
			how = Unanswered
		}
		s.end(at, 0, how)
	case !m.plays && at >= m.next:
		if !m.Begun() {
			m.since = at
		}
		first.round++
		m.plays = true
		s.out = append(s.out, Order{ID: first.id, Do: Sound, Round: first.round})
	}
}

// end takes one out. The next one rings after a pause, so that it is heard as another.
func (s *step) end(at time.Duration, i int, how How) {
	m := &s.m
	if i == 0 {
		s.silence()
	}
	s.out = append(s.out, Order{ID: m.queue[i].id, Do: End, How: how})
	copy(m.queue[i:], m.queue[i+1:m.n])
	m.n--
	m.queue[m.n] = item{}
	switch {
	case m.n == 0:
		*m = Machine{}
	case i == 0:
		m.next = at + Pause
	}
}
