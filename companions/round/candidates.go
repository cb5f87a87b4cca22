package round

// settle does what follows from where things stand, after every fact: decide, claim, get ready, give up.
func (s *rounds) settle() {
	m, r := &s.m, &s.m.rd
	if !r.open {
		return
	}
	if !r.decided {
		if !complete(&s.m) {
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
			if c, ok := s.m.candidate(); ok && s.m.seatOf(c) == m.cfg.Self && m.now >= r.grace && Better(s.m.rd.claimOf(c), m.floor.claim) {
				s.takeFloor(c)
			}
		}
		s.getReady()
	case floorSounding:
		r.expect = 0
		s.getReady()
	}
}

// nextSpeaker: the floor is free.
func (s *rounds) nextSpeaker() {
	m, r := &s.m, &s.m.rd
	c, ok := s.m.candidate()
	switch {
	case !ok:
		s.nobody("nobody is left who could answer: " + r.why)
	case m.now < r.grace:
		r.expect = 0
	case s.m.seatOf(c) == m.cfg.Self:
		s.takeFloor(c)
	case r.expect == 0 || r.candidate != c:
		r.candidate, r.expect = c, m.now+m.cfg.ClaimLimit
		if r.message.From.Human() {
			r.expect += PeopleWait // its device may see reason to let people answer first
		}
	}
}

// nobody ends a round without an answer, or without a further one.
func (s *rounds) nobody(why string) {
	m, r := &s.m, &s.m.rd
	r.over, r.silentAt, r.expect, r.grace = true, 0, 0, 0
	if m.own.open && m.own.message.ID == r.message.ID {
		s.outcome(EntrySilent, why)
		s.lose("nobody answers: " + why)
	}
	s.m.hangs(r.message)
}
