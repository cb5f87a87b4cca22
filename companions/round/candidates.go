package round

import "slices"

// settle does what follows from where things stand, after every fact: decide, claim, get ready, give up.
func (s *step) settle() {
	m, r := &s.m, &s.m.rd
	if !r.open {
		return
	}
	if !r.decided {
		if !s.complete() {
			return
		}
		s.decide(false)
	}
	if r.over {
		return
	}
	if r.decision.Winner == "" {
		if r.silentAt > 0 && m.now >= r.silentAt && m.floor.state == floorFree {
			s.nobody(r.decision.Reason)
		}
		return
	}
	if len(m.holders) > 0 {
		r.expect = 0
		return
	}
	switch m.floor.state {
	case floorFree:
		s.nextSpeaker()
	case floorClaimed: // in the pause a better claim wins
		r.expect = 0
		if m.floor.place == r.place && m.floor.device != m.cfg.Self && m.now-m.floor.since <= m.cfg.Pause+m.cfg.Margin {
			if c, ok := s.candidate(); ok && s.seatOf(c) == m.cfg.Self && m.now >= r.grace && Better(s.claimOf(c), m.floor.claim) {
				s.claim(c)
			}
		}
		s.getReady()
	case floorSounding:
		r.expect = 0
		s.getReady()
	}
}

// candidate is whose turn it is: the best of those who may speak, are here, and have not had the floor (once each).
func (s *step) candidate() (CompanionID, bool) {
	r := &s.m.rd
	for _, c := range r.decision.Order {
		if !slices.Contains(r.tried, c) && s.present(s.seatOf(c)) {
			return c, true
		}
	}
	return "", false
}

func (s *step) seatOf(c CompanionID) DeviceID {
	r := &s.m.rd
	if at, ok := slices.BinarySearchFunc(r.roster, seat{id: c}, func(a, b seat) int { return compareIDs(a.id, b.id) }); ok {
		return r.roster[at].device
	}
	return ""
}

// nextSpeaker: the floor is free.
func (s *step) nextSpeaker() {
	m, r := &s.m, &s.m.rd
	c, ok := s.candidate()
	switch {
	case !ok:
		s.nobody("nobody is left who could answer: " + r.why)
	case m.now < r.grace:
		r.expect = 0
	case s.seatOf(c) == m.cfg.Self:
		s.claim(c)
	case r.expect == 0 || r.candidate != c:
		r.candidate, r.expect = c, m.now+m.cfg.ClaimLimit
		if r.message.From.Human() {
			r.expect += PeopleWait // its device may see reason to let people answer first
		}
	}
}

// nobody ends a round without an answer, or without a further one.
func (s *step) nobody(why string) {
	m, r := &s.m, &s.m.rd
	r.over, r.silentAt, r.expect, r.grace = true, 0, 0, 0
	if m.own.open && m.own.message.ID == r.message.ID {
		s.outcome(EntrySilent, why)
		s.lose("nobody answers: " + why)
	}
	s.hangs(r.message)
}

// failed: c had the floor, or was to take it, and nothing came of it. The next one takes over (ROOM.md 3.5).
func (s *step) failed(place Place, c CompanionID, why string) {
	r := &s.m.rd
	s.record(Entry{Kind: EntryFailed, Place: &place, Companion: c, Why: why})
	if !r.open || r.place != place || slices.Contains(r.tried, c) {
		return
	}
	r.tried = append(slices.Clip(r.tried), c)
	r.expect, r.why = 0, string(c)+": "+why
}

func compareIDs(a, b CompanionID) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}
