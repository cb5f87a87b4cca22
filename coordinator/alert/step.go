package alert

import (
	"slices"
	"time"
)

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
	// Answered: a person at this device stops what rings.
	Answered struct {
		At      time.Duration
		Pressed bool // with the button; else with a word or a hush
	}
	// Hushed: something else does, a hush or a press at another device. It rings once more, after Rest of quiet.
	Hushed struct{ At time.Duration }
	// Gestured: a person at this device presses or hushes while nothing rings. A hush ends what rests; a press does so at once after the
	// hush elsewhere that it was too late for.
	Gestured struct {
		At      time.Duration
		Pressed bool
	}
	// Calmed: no turn, call or words are live any more, or some are.
	Calmed struct {
		At  time.Duration
		Yes bool
	}
	// Fronted: nothing goes before alerts any more, or something does.
	Fronted struct {
		At  time.Duration
		Yes bool
	}
	// Sounded: a round is over, played to its end or not. ID and Round are those of its Sound; Heard tells that something of it was.
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
func (Hushed) event()    {}
func (Gestured) event()  {}
func (Calmed) event()    {}
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
	Sound   Verb = iota + 1 // a round of all that ring, the first of which has the ID; Sounded follows
	Silence                 // the round that sounds is cut
	End
)

func (v Verb) String() string { return [...]string{"none", "sound", "silence", "end"}[v] }

// How is how an alert ended.
type How uint8

// Ends.
const (
	Stopped    How = iota // by a person's word or hush
	Unanswered            // it was heard for as long as it may be
	Taken                 // Withdrawn
	Failed                // nobody can have heard it
	Unheeded              // hushed for the second time
	Pressed               // by a person's press
)

func (h How) String() string {
	return [...]string{"stopped", "unanswered", "withdrawn", "failed", "unheeded", "pressed"}[h]
}

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
		s.answered(e)
	case Hushed:
		s.hushed(e.At)
	case Gestured:
		s.gestured(e)
	case Calmed:
		s.calmed(e)
	case Fronted:
		s.fronted(e)
	case Sounded:
		s.sounded(e)
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
	if s.m.n++; s.m.round == 0 {
		s.m.next = max(s.m.next, e.At)
		s.passed(e.At)
	} else if m := s.m; slices.ContainsFunc(m.queue[:m.n], func(q item) bool { return q.from == m.round }) && m.front {
		s.together(e.At)
	}
}

// together has the last that was asked for ring as one with what began to ring with this round: a new one begins at once, and says all.
// A person knows of what began with a round that is cut only when the new one is over.
func (s *step) together(at time.Duration) {
	m := &s.m
	last := &m.queue[m.n-1]
	last.from, last.since = m.round, at
	if m.plays {
		for i := range m.queue[:m.n] {
			if q := &m.queue[i]; q.from == m.round {
				q.from++
			}
		}
	}
	s.silence()
	m.next = at
	s.passed(at)
}

// answered ends all that rings, but for what has joined with the round that sounds: nobody has been told of it yet, so who has stopped
// the pasta has not seen to the eggs. That begins anew, after a pause.
func (s *step) answered(e Answered) {
	m, at, how := &s.m, e.At, Stopped
	if e.Pressed {
		how = Pressed
	}
	joins := func(q item) bool { return m.plays && q.from == m.round }
	rings := m.queue[:m.n]
	if !slices.ContainsFunc(rings, func(q item) bool { return q.from > 0 && !joins(q) }) {
		joins = func(item) bool { return false } // there is nothing that it has joined
	}
	for i := range rings {
		if q := &rings[i]; joins(*q) {
			q.from, q.left = 0, q.left-(at-q.since)
		}
	}
	for m.Begun() {
		s.end(at, slices.IndexFunc(m.queue[:m.n], func(q item) bool { return q.from > 0 }), how)
	}
}

// hushed has what rings rest, and ends what was hushed before.
func (s *step) hushed(at time.Duration) {
	m := &s.m
	if !m.Begun() {
		return
	}
	s.silence()
	for i := 0; i < m.n; {
		switch q := &m.queue[i]; {
		case q.from == 0:
			i++
		case q.again:
			s.end(at, i, Unheeded)
		default:
			if m.front {
				q.left -= at - q.since
			}
			q.from, q.rests, q.quiet, q.again = 0, at+Rest, at, true
			i++
		}
	}
	if m.n > 0 {
		m.round, m.next = 0, at+Pause
	}
}

func (s *step) gestured(e Gestured) {
	how := Stopped
	if e.Pressed {
		how = Pressed
	}
	for i := s.m.n - 1; i >= 0; i-- {
		if q := s.m.queue[i]; q.rests != 0 && (!e.Pressed || e.At-q.quiet <= AtOnce) {
			s.end(e.At, i, how)
		}
	}
}

// calmed: what rests does so for the whole of its rest.
func (s *step) calmed(e Calmed) {
	m := &s.m
	if m.n == 0 || m.loud != e.Yes {
		return
	}
	m.loud = !e.Yes
	for i := range m.queue[:m.n] {
		if q := &m.queue[i]; q.rests != 0 {
			q.rests = e.At + Rest
		}
	}
}

// fronted: what is behind something else is silent and loses nothing of its time.
func (s *step) fronted(e Fronted) {
	m := &s.m
	if m.n == 0 || e.Yes == m.front {
		return
	}
	for i := range m.queue[:m.n] {
		if q := &m.queue[i]; e.Yes {
			q.since = e.At
		} else if q.from > 0 {
			q.left -= e.At - q.since
		}
	}
	if m.front = e.Yes; e.Yes {
		m.next = e.At
		s.passed(e.At)
	} else {
		s.silence()
	}
}

func (s *step) silence() {
	if m := &s.m; m.plays {
		m.plays = false
		s.out = append(s.out, Order{ID: m.of, Do: Silence, Round: m.round})
	}
}

func (s *step) sounded(e Sounded) {
	m := &s.m
	if e.ID != m.of || e.Round != m.round {
		return
	}
	for i := range m.queue[:m.n] {
		if q := &m.queue[i]; q.from > 0 {
			q.heard = q.heard || e.Heard
		}
	}
	if m.plays {
		m.plays, m.next = false, e.At+Pause
	}
}

// passed ends what was heard for as long as it may be, and has all others begin the next round together.
func (s *step) passed(at time.Duration) {
	m := &s.m
	for i := range m.queue[:m.n] {
		if q := &m.queue[i]; q.rests != 0 && q.rests <= at && !m.loud {
			q.rests = 0
		}
	}
	if !m.front {
		return
	}
	for i := 0; i < m.n; {
		switch q := m.queue[i]; {
		case q.from == 0 || at < q.since+q.left:
			i++
		case q.heard:
			s.end(at, i, Unanswered)
		default:
			s.end(at, i, Failed)
		}
	}
	if !m.Any() || m.plays || at < m.next {
		return
	}
	m.round++
	m.plays, m.of = true, 0
	for i := range m.queue[:m.n] {
		q := &m.queue[i]
		if q.rests != 0 {
			continue
		}
		if m.of == 0 {
			m.of = q.id
		}
		if q.from == 0 {
			q.from, q.since = m.round, at
		}
	}
	s.out = append(s.out, Order{ID: m.of, Do: Sound, Round: m.round})
}

// end takes one out. A round goes on for the others; where none rings any more, what waits begins after a pause, to be heard as another.
func (s *step) end(at time.Duration, i int, how How) {
	m := &s.m
	id := m.queue[i].id
	copy(m.queue[i:], m.queue[i+1:m.n])
	m.n--
	m.queue[m.n] = item{}
	last := m.Begun() && len(m.Ringing()) == 0
	if last {
		s.silence()
	}
	s.out = append(s.out, Order{ID: id, Do: End, How: how})
	switch {
	case m.n == 0:
		*m = Machine{}
	case last:
		m.round, m.next = 0, at+Pause
	}
}
