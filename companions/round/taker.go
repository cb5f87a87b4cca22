package round

import (
	"slices"
	"time"
)

// A device can take the floor in many ways that nobody gave it: it votes that it was called, claims that all others have failed, or just speaks. What is
// honest of that cannot be told from one packet, for packets get lost. So who does it to a companion here that a person has called on
// is believed now and then, and beyond that this companion yields to it no more, and its name is said (ROOM.md 4.1).
const (
	takenWindow = 10 * time.Minute
	maxTaken    = 2  // times in it
	maxTurned   = 20 // of the manners of others, in a minute
)

// Offence is what a device does again and again.
type Offence string

// Offences.
const (
	OffenceFloor   Offence = "floor"   // it takes the floor from companions here that people have called on, and they yield to it no more
	OffenceManners Offence = "manners" // it turns the manners of the room or of companions without end: what it turns then does not count
)

// offence is when one will be over; 0: there is none.
func (p *presser) offence(o Offence) *time.Duration {
	if o == OffenceManners {
		return &p.turns
	}
	return &p.takes
}

// robbed tells that what a device says of the floor, or into it, is not to count here: it would take it from a companion here that a person
// has called on, and not for the first time.
func (s *answers) robbed(from DeviceID, who CompanionID, at Place, what string) bool {
	m := &s.m
	of, ok := calledHere(m, at, who)
	if !ok {
		return false
	}
	refused := false
	m.editPresser(from, func(p *presser) {
		if p.robbed != of {
			p.robbed, p.refused = of, !through(&p.taken, m.now, takenWindow, maxTaken)
		}
		refused = p.refused
	})
	if refused {
		s.ignore(from, what, "it takes the floor from whom a person has called")
		s.offends(from, OffenceFloor)
	}
	return refused
}

// calledHere is the message of a person who has called on a companion here that has not answered yet, or is about to or does, and not on who. That is
// taken by whatever is of its place, or of a later one: there can be none before the answer, but who takes the floor names it as it likes.
func calledHere(m *Machine, at Place, who CompanionID) (of MessageID, ok bool) {
	called := func(v View, mine ...CompanionID) bool {
		if of, ok = v.Message.ID, false; !v.Message.From.Human() {
			return false
		}
		for _, vote := range m.cfg.byRules(v, append(mine, who)) {
			switch {
			case vote.called() && vote.From == who:
				return false
			case vote.called():
				ok = true
			}
		}
		return ok
	}
	for _, k := range m.stakes {
		if (k.phase == stakeSounding || k.phase != stakeOver && reaches(at, k.place)) && called(k.view, k.companion) {
			return of, true
		}
	}
	if r := &m.rd; r.open && !r.over && reaches(at, r.place) {
		mine := without(r.called, func(c CompanionID) bool { return slices.Contains(r.tried, c) })
		return of, len(mine) > 0 && called(r.view, mine...)
	}
	return "", false
}

func reaches(at, p Place) bool { return at.Epoch == p.Epoch && at.Number >= p.Number }

// takes tells that a device takes the floor without end.
func (m *Machine) takes(d DeviceID) bool {
	p := m.presser(d)
	return p != nil && p.takes > 0
}

// calls tells that the rules have a companion called on.
func (m *Machine) calls(v View, who CompanionID) bool {
	votes := m.cfg.byRules(v, []CompanionID{who})
	return len(votes) == 1 && votes[0].Selected
}

// mayTurn tells that a device may turn the manners of others once more. Where it may not that is said, and its beats bring it later.
func (s *orders) mayTurn(d DeviceID, what string) (ok bool) {
	if d == s.m.cfg.Self {
		return true
	}
	s.m.editPresser(d, func(p *presser) { ok = through(&p.turned, s.m.now, time.Minute, maxTurned) })
	if !ok {
		s.ignore(d, what, "it turns manners too often")
		s.offends(d, OffenceManners)
	}
	return ok
}

// offends names a device, once for as long as it goes on.
func (s *orders) offends(d DeviceID, o Offence) {
	began := false
	s.m.editPresser(d, func(p *presser) {
		until := p.offence(o)
		began, *until = *until == 0, s.m.now+takenWindow
	})
	if began {
		s.offence(d, o, false)
	}
}

// offencesDue: who has not done it for a while is believed again.
func (s *orders) offencesDue() {
	for _, p := range s.m.pressers {
		for _, o := range []Offence{OffenceFloor, OffenceManners} {
			if !s.m.passed(*p.offence(o)) {
				continue
			}
			s.m.editPresser(p.device, func(x *presser) {
				if *x.offence(o) = 0; o == OffenceFloor {
					x.robbed, x.refused = "", false
				}
			})
			s.offence(p.device, o, true)
		}
	}
}

var offenceSentences = map[Offence][2]string{
	OffenceFloor: {
		" takes the floor from companions that were called: those here yield to it no more",
		" has stopped taking the floor from companions that were called",
	},
	OffenceManners: {
		" turns the manners of the room without end: what it turns too often does not count",
		" has stopped turning the manners of the room without end",
	},
}

func (s *orders) offence(d DeviceID, o Offence, over bool) {
	why := s.m.nameOf(d) + offenceSentences[o][map[bool]int{true: 1}[over]]
	s.write(Place{}, Entry{Kind: EntryMember, By: d, Why: why})
	s.do(Offends{Device: d, Name: s.m.nameOf(d), What: o, Over: over, Why: why})
}
