package round

// A press counts because it is new (mqtt shows that: its session lives), and its number is for order only. So nobody has to agree on
// numbers to be heard: a number that is further than maxAhead from what counts here is of a device that counts otherwise, for whatever
// reason, and its press is the next one all the same (ROOM.md 4.1).

// sane tells that e can be an epoch at all.
func sane(e Epoch) bool { return e.N > 0 && e.N <= maxEpoch && e.Device != "" }

func apart(a, b uint64) uint64 { return max(a, b) - min(a, b) }

// near tells that whoever says e counts as this device does.
func (m *Machine) near(e Epoch) bool { return sane(e) && apart(e.N, m.epoch.N) <= maxAhead }

// epochOf is where a packet of a place stands: false if it is older than what counts, or nonsense. A newer one means that a press was
// missed: it is heard now. The place becomes what it is here. Numbers that are far apart say nothing: then a press is older that counted
// here, and newer where it did not, so that of two devices that can be heard the one yields that counted less.
func (s *answers) epochOf(from DeviceID, p *Place, what string) bool {
	e := s.here(from, p.Epoch, p.Message)
	switch near := s.m.near(e); {
	case !sane(e):
		s.ignore(from, what, "no epoch that could be")
		return false
	case near && e.Before(s.m.epoch), !near && s.m.counted(e.Device):
		s.ignore(from, what, "of an older epoch")
		return false
	case e != s.m.epoch:
		e, _ = s.missed(from, e, what, "a person pressed elsewhere (seen by what came of it)")
	}
	p.Epoch = e
	return e == s.m.epoch
}

// here is what counts here of what the device from counts as e. Two devices that count otherwise know each other's press by its device,
// and a round by its message.
func (s *answers) here(from DeviceID, e Epoch, about MessageID) Epoch {
	m := &s.m
	x := s.m.member(from)
	if x == nil || e == m.epoch || !sane(e) {
		return e
	}
	ours := m.epoch
	switch {
	case m.rd.open && about != "" && about == m.rd.place.Message: // also where e was taken for another press before
		ours = m.rd.place.Epoch
	case e == x.theirs:
		return x.ours
	case e.Device != m.epoch.Device, s.m.near(e) && (e.Device != m.cfg.Self || e.Before(m.epoch)):
		return e
	}
	if e != x.theirs || ours != x.ours {
		s.m.editMember(from, func(x *member) { x.theirs, x.ours = e, ours })
	}
	return ours
}

// missed makes an epoch count whose press has not been heard. Of its own presses a device tells, and each of these is a press; of others'
// it may tell now and then.
func (s *answers) missed(from DeviceID, e Epoch, what, why string) (here Epoch, ok bool) {
	switch {
	case e.Device != from:
		if !s.m.mayTell(from) {
			s.ignore(from, what, "it tells of too many presses of others")
			return e, false
		}
	case !s.m.meet(from, e) || !s.heeds(from):
		s.ignore(from, what, "its presses do not count now")
		return e, false
	}
	s.starve(from)
	return s.next(from, e, why), true
}

// raise makes a press of another device the newest. False: another one came at the same time, and is the newer one everywhere. It
// silences all the same.
func (s *answers) raise(from DeviceID, e, after Epoch, why string) (here Epoch, ok bool) {
	m := &s.m
	s.starve(from)
	if atOnce(&s.m, e, after) {
		s.cut(why)
		if here = e; !s.m.near(e) || !e.Before(m.epoch) {
			here = Epoch{m.epoch.N - 1, from}
			s.m.editMember(from, func(x *member) { x.theirs, x.ours = e, here })
		}
		return here, false
	}
	return s.next(from, e, why), true
}

// next makes what the device from counts as e the newest: as e or, where that could not be the next one here, as what could.
func (s *answers) next(from DeviceID, e Epoch, why string) Epoch {
	m := &s.m
	m.silenced = e
	if s.m.near(e) && m.epoch.Before(e) {
		s.adopt(e, why, true)
		return e
	}
	here := Epoch{min(m.epoch.N+1, maxEpoch), e.Device}
	s.adopt(here, why, true)
	m.minted = true
	s.m.editMember(from, func(x *member) { x.theirs, x.ours = e, here })
	return here
}

// atOnce tells that a press was made without knowing of the newest one here, which is the one of the two that counts: the higher one or,
// of two devices that count differently, by their names. Both are as their devices number them: this is so everywhere. Where neither
// names the other because a device was away, a beat tells of the newest, and it is too late to be at once.
func atOnce(m *Machine, e, after Epoch) bool {
	_, held := m.holding(m.epoch.Device)
	here, known := m.asThere(m.epoch), sane(after) || e.N == 1 && m.epoch.N == 1 // two first ones came after none
	switch {
	case m.epoch.Device == e.Device, m.later(after):
		return false
	case !held && !(known && m.now-m.since <= m.cfg.Beat+m.cfg.Margin):
		return false
	case apart(e.N, here.N) <= maxAhead:
		return e.Before(here)
	}
	return known && e.Device < here.Device
}

// later tells that a press came after the newest one here, by what its device says that it came after.
func (m *Machine) later(after Epoch) bool {
	return sane(after) && !m.asHere(after.Device, after).Before(m.epoch)
}

// adopt makes e the epoch: everything older is void (ROOM.md 4.1).
func (s *answers) adopt(e Epoch, why string, hush bool) {
	m := &s.m
	m.epoch, m.minted, m.since, m.hushed = e, false, m.now, Place{}
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
func (s *answers) nextEpoch(why string, ask bool) {
	n := max(s.m.epoch.N, min(s.m.top, s.m.epoch.N+maxAhead/2)) + 1 // who is a little behind is near to it still
	s.m.after = s.m.asThere(s.m.epoch)
	s.starve(s.m.cfg.Self)
	s.adopt(Epoch{min(n, maxEpoch), s.m.cfg.Self}, why, false)
	s.do(Send{Press{s.m.epoch, s.m.after, ask}}) // also without the broker: there may be a second way
	s.record(Place{Epoch: s.m.epoch}, Entry{Kind: EntryPress, By: s.m.cfg.Self, Why: why})
}
