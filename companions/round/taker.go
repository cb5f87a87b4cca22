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
	maxTaken    = 2 // times in it
)

// robbed tells that what a device says of the floor, or into it, is not to count here: it would take it from a companion here that a person
// has called on, and not for the first time.
func (s *answers) robbed(from DeviceID, who CompanionID, about MessageID, what string) bool {
	m := &s.m
	of, ok := calledHere(m, about, who)
	if !ok {
		return false
	}
	refused, began := false, false
	m.editPresser(from, func(p *presser) {
		if p.robbed != of {
			p.robbed, p.refused = of, !through(&p.taken, m.now, takenWindow, maxTaken)
		}
		if refused = p.refused; refused {
			began, p.takes = p.takes == 0, m.now+takenWindow
		}
	})
	if refused {
		s.ignore(from, what, "it takes the floor from whom a person has called")
	}
	if began {
		s.floorTaken(from, false)
	}
	return refused
}

// calledHere is the message of a person who has called on a companion here that has not answered yet, or is about to or does, and not on who.
func calledHere(m *Machine, about MessageID, who CompanionID) (of MessageID, ok bool) {
	called := func(v View, mine ...CompanionID) bool {
		if of, ok = v.Message.ID, false; !v.Message.From.Human() {
			return false
		}
		for _, vote := range m.cfg.judge(v, append(mine, who)) {
			switch {
			case vote.Selected && vote.From == who:
				return false
			case vote.Selected:
				ok = true
			}
		}
		return ok
	}
	for _, k := range m.stakes {
		if (k.phase == stakeSounding || k.phase != stakeOver && k.place.Message == about) && called(k.view, k.companion) {
			return of, true
		}
	}
	if r := &m.rd; r.open && !r.over && r.place.Message == about {
		var mine []CompanionID
		for _, x := range r.roster {
			if x.device == m.cfg.Self && !slices.Contains(r.tried, x.id) {
				mine = append(mine, x.id)
			}
		}
		return of, len(mine) > 0 && called(r.view, mine...)
	}
	return "", false
}

// takes tells that a device takes the floor without end.
func (m *Machine) takes(d DeviceID) bool {
	p := m.presser(d)
	return p != nil && p.takes > 0
}

// calls tells that the rules have a companion called on.
func (m *Machine) calls(v View, who CompanionID) bool {
	votes := m.cfg.judge(v, []CompanionID{who})
	return len(votes) == 1 && votes[0].Selected
}

// takersDue: who has not done it for a while is believed again.
func (s *orders) takersDue() {
	for _, p := range s.m.pressers {
		if s.m.passed(p.takes) {
			s.m.editPresser(p.device, func(x *presser) { x.takes, x.robbed, x.refused = 0, "", false })
			s.floorTaken(p.device, true)
		}
	}
}

func (s *orders) floorTaken(d DeviceID, over bool) {
	why := s.m.nameOf(d) + " takes the floor from companions that were called: those here yield to it no more"
	if over {
		why = s.m.nameOf(d) + " has stopped taking the floor from companions that were called"
	}
	s.write(Place{}, Entry{Kind: EntryMember, By: d, Why: why})
	s.do(FloorTaken{Device: d, Name: s.m.nameOf(d), Over: over, Why: why})
}
