package round

// epochOf is where a packet of epoch e stands: false if it is older than what counts, or nonsense. A newer one means that a
// press was missed: it is heard now.
func (s *answers) epochOf(from DeviceID, e Epoch, what string) bool {
	switch {
	case !s.m.sane(e):
		s.ignore(from, what, "no epoch that could be")
		return false
	case e.Before(s.m.epoch):
		s.ignore(from, what, "of an older epoch")
		return false
	case s.m.epoch.Before(e):
		s.adopt(e, "a person pressed elsewhere (seen by what came of it)", true)
	}
	return true
}

// adopt makes e the epoch: everything older is void (ROOM.md 4.1).
func (s *answers) adopt(e Epoch, why string, hush bool) {
	m := &s.m
	m.epoch = e
	if hush {
		s.do(Hush{Epoch: e, Why: why})
	}
	for _, k := range m.stakes {
		if k.phase != stakeOver {
			s.abandon(k.place, k.companion, why)
		}
	}
	s.outcome(EntrySuperseded, why)
	m.own.turn = "" // the press or the hush ended it
	m.rd, m.floor = roundState{}, floor{}
	m.silence, m.asked, m.claims = 0, "", nil
	m.early = without(m.early, func(x early) bool { return x.votes.Place.Epoch.Before(e) })
}

// nextEpoch takes the floor for the person here.
func (s *answers) nextEpoch(why string) {
	s.adopt(Epoch{min(s.m.epoch.N+1, maxEpoch), s.m.cfg.Self}, why, false)
	s.send(Press{s.m.epoch})
	s.record(Place{Epoch: s.m.epoch}, Entry{Kind: EntryPress, By: s.m.cfg.Self, Why: why})
}
