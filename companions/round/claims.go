package round

import (
	"slices"
	"time"
)

// claimHeard: the floor is taken, whether or not this device has decided, or seen the message. Of two claims the better one
// counts; somebody who can be heard already keeps the floor.
func (s *answers) claimHeard(from DeviceID, c Claim) {
	if c.Place.Message == "" || c.Place.Number < 1 || len(c.Votes) > maxCompanions || len(c.Instead) > maxCompanions || len(c.Extras) > maxCompanions {
		s.ignore(from, "Claim", "a field is missing or out of range")
		return
	}
	if !s.atHome(from, c.Companion, "Claim") || !s.epochOf(from, &c.Place, "Claim") || s.beyond(from, c.Place, "Claim") {
		return
	}
	m, r, f := &s.m, &s.m.rd, &s.m.floor
	if knownClaim(&s.m, from, c) {
		return // said again, for somebody who had missed it
	}
	if s.robbed(from, c.Companion, c.Place, "Claim") {
		return
	}
	m.claims = with(m.claims, heardClaim{from, c}, maxClaims)
	if f.of(from, c.Place, c.Companion) {
		f.claim = c // it was heard before its claim came
		return
	}
	if r.open && c.Place.Number < r.place.Number && (r.device != from || f.state != floorFree) {
		s.ignore(from, "Claim", "its message has been answered")
		return
	}
	s.record(c.Place, Entry{Kind: EntryClaim, Companion: c.Companion, By: from})
	if r.open && r.place == c.Place {
		for _, x := range c.Instead {
			if x == c.Companion || !r.try(x) {
				continue
			}
			if i := s.m.stake(c.Place, x); i >= 0 && m.stakes[i].phase != stakeSounding {
				s.yield(m.stakes[i], "too late: "+string(c.Companion)+" speaks instead")
			}
		}
	}
	switch {
	case f.state == floorSounding && f.device != from && f.device == m.cfg.Self:
		// It cannot know yet. When it does, and could be heard already, the better claim wins.
		s.sayAgain(s.m.stake(f.place, f.companion))
		return
	case f.state == floorSounding && f.device != from && !newer(c.Place, f.place):
		return
	case f.state == floorClaimed && f.device != from && !Better(c, f.claim):
		return
	}
	if f.state != floorFree && f.device == m.cfg.Self {
		if i := s.m.stake(f.place, f.companion); i >= 0 {
			s.yield(m.stakes[i], string(c.Companion)+" has the better claim")
		}
	}
	s.taken(floor{
		state: floorClaimed, device: from, place: c.Place, companion: c.Companion, claim: c, since: m.now,
		until: m.now + m.cfg.StartLimit + m.cfg.Margin,
	})
}

// beyond tells that nobody may speak at a place: the turns without a person are used up (I6).
func (s *answers) beyond(from DeviceID, p Place, what string) bool {
	r := &s.m.rd
	if !r.open || p.Number < r.place.Number || s.m.cfg.Manners.spent(r.message) == "" {
		return false
	}
	s.ignore(from, what, "beyond the turn limit")
	return true
}

// atHome tells that a companion may speak where it does. Who has lost its name meanwhile, to another or to a new one, is heard under it to
// the end of its answer: or others would take the floor that they do not know to be taken.
func (s *answers) atHome(d DeviceID, c CompanionID, what string) bool {
	x, f := s.m.member(d), &s.m.floor
	switch {
	case s.m.livesOn(c, d), f.state != floorFree && f.device == d && f.companion == c:
		return true
	case x != nil && slices.ContainsFunc(x.former, func(o former) bool { return o.id == c && !s.m.passed(o.until) }):
		return true
	}
	s.ignore(d, what, "its companion does not live there")
	return false
}

// newer tells that a comes after b in one epoch.
func newer(a, b Place) bool { return a.Epoch == b.Epoch && a.Number > b.Number }

func (s *answers) withdrawHeard(from DeviceID, p Withdraw) {
	if !s.epochOf(from, &p.Place, "Withdraw") {
		return
	}
	f, r := &s.m.floor, &s.m.rd
	s.m.claims = without(s.m.claims, func(x heardClaim) bool { return x.of(from, p.Place, p.Companion) })
	if !f.of(from, p.Place, p.Companion) {
		s.ignore(from, "Withdraw", "it has no claim")
		return
	}
	s.record(p.Place, Entry{Kind: EntryWithdraw, Companion: p.Companion, By: from, Why: p.Why})
	*f = floor{}
	if r.open && r.place == p.Place && r.try(p.Companion) { // it saw a better claim, which is about to come here, too
		r.grace, r.why = s.m.now+s.m.cfg.Margin, string(p.Companion)+" withdrew: "+p.Why
	}
}

// speakingHeard: somebody can be heard. What could not be heard yet yields to it; of two who can be heard the one with the
// better claim goes on, and says its claim again, so that both compare the same two.
func (s *answers) speakingHeard(from DeviceID, p Speaking) {
	if p.Place.Message == "" || p.Place.Number < 1 {
		s.ignore(from, "Speaking", "a field is missing or out of range")
		return
	}
	if !s.atHome(from, p.Companion, "Speaking") || !s.epochOf(from, &p.Place, "Speaking") || s.beyond(from, p.Place, "Speaking") ||
		s.robbed(from, p.Companion, p.Place, "Speaking") {
		return
	}
	m, f := &s.m, &s.m.floor
	same := f.of(from, p.Place, p.Companion)
	theirs := Claim{Place: p.Place, Companion: p.Companion}
	claim := theirs
	if same {
		claim = f.claim
	}
	if !same && f.state != floorFree {
		for _, x := range m.claims {
			if x.of(from, p.Place, p.Companion) {
				theirs = x.claim
			}
		}
		own := f.device == m.cfg.Self
		i := s.m.stake(f.place, f.companion)
		switch {
		case own && i >= 0 && f.state == floorSounding:
			if !Better(theirs, m.stakes[i].claim) {
				s.sayAgain(i)
				return
			}
			s.yield(m.stakes[i], string(p.Companion)+" speaks and has the better claim")
		case own && i >= 0:
			s.yield(m.stakes[i], string(p.Companion)+" can be heard")
		case f.state == floorSounding && !Better(theirs, f.claim):
			return
		case f.state == floorClaimed && newer(f.place, p.Place):
			return // its release is on the way: whoever claims has seen it
		}
	}
	next := floor{state: floorSounding, device: from, place: p.Place, companion: p.Companion, claim: claim, since: m.now,
		until: m.now + m.cfg.Lease + m.cfg.Margin}
	if left := time.Duration(min(max(p.LeftMS, 0), int(m.cfg.SpeakLimit/time.Millisecond))) * time.Millisecond; left > 0 {
		next.ends = m.now + left
	} else if same {
		next.ends = f.ends
	}
	if m.own.open && m.own.message.Place() == p.Place {
		m.own.sounded = true
	}
	s.taken(next)
}

// releaseHeard: the floor is free again.
func (s *answers) releaseHeard(from DeviceID, p Release) {
	if !s.atHome(from, p.Companion, "Release") {
		return
	}
	if p.Heard != nil && p.Said != "" && (p.For == "" || p.For == s.m.cfg.Self) {
		s.correct(p.Said, p.Companion, *p.Heard, p.Envelope)
	}
	if p.Place.Epoch = s.here(from, p.Place.Epoch, p.Place.Message); p.Place.Epoch.Before(s.m.epoch) {
		return // cut by the press that made it old
	}
	if !s.epochOf(from, &p.Place, "Release") {
		return
	}
	if s.m.vacate(from, p.Place, p.Companion) {
		s.m.quietFrom()
	}
	s.released(from, p)
}
