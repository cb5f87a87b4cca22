package round

import (
	"slices"
	"time"
)

// floor is who speaks or is about to, as far as known here. A claim that is seen counts even where its message has not come.
type floor struct {
	state     floorState
	device    DeviceID
	place     Place
	companion CompanionID
	claim     Claim
	since     time.Duration
	until     time.Duration // lease; 0 where this device has the floor: then its stake knows
	ends      time.Duration // when the last sample is heard, if known
}

type floorState uint8

const (
	floorFree     floorState = iota
	floorClaimed             // somebody is about to speak
	floorSounding            // somebody can be heard
)

// stake is an answer that this device prepares, is about to give, or gives.
type stake struct {
	phase     stakePhase
	place     Place
	companion CompanionID
	message   Message // that is answered
	view      View
	decision  Decision
	claim     Claim
	due       time.Duration // end of the pause; next renewal
	limit     time.Duration
	sounded   bool

	// Of what it says.
	id    MessageID // once known
	text  string
	left  time.Duration
	ends  time.Duration
	given bool // published
}

type stakePhase uint8

const (
	stakeReady    stakePhase = iota // prepared while somebody else speaks
	stakeClaimed                    // in the pause
	stakeCued                       // may be heard, is not yet
	stakeSounding                   // can be heard
	stakeOver                       // abandoned; its SpeechEnded is still to come
)

// forget is how long an abandoned answer may take to end.
const forget = 30 * time.Second

func (s *step) stake(p Place, c CompanionID) int {
	return slices.IndexFunc(s.m.stakes, func(k stake) bool { return k.place == p && k.companion == c })
}

func (s *step) edit(i int, f func(*stake)) {
	s.m.stakes = slices.Clone(s.m.stakes)
	f(&s.m.stakes[i])
}

// prepare lets a companion get its answer ready.
func (s *step) prepare(c CompanionID) int {
	m, r := &s.m, &s.m.rd
	if i := s.stake(r.place, c); i >= 0 {
		return i
	}
	list := slices.Clone(m.stakes)
	if len(list) >= maxStakes {
		list = list[1:]
	}
	m.stakes = append(list, stake{phase: stakeReady, place: r.place, companion: c, message: r.message, view: r.view, decision: r.decision})
	turn := ""
	if m.own.message.ID == r.message.ID {
		turn, m.own.turn = m.own.turn, ""
	}
	s.do(Prepare{
		Place: r.place, Companion: c, Turn: turn, Message: r.message, Why: whyOf(r.decision, c), Guidance: Guidance(r.view, c, r.decision),
	})
	return len(m.stakes) - 1
}

// whyOf is why c speaks.
func whyOf(d Decision, c CompanionID) string {
	if c != d.Winner {
		for _, v := range d.Votes {
			if v.From == c {
				return v.Reason
			}
		}
	}
	return d.Reason
}

func (s *step) claimOf(c CompanionID) Claim {
	r := &s.m.rd
	extras := slices.DeleteFunc(slices.Clone(r.decision.Extras), func(x CompanionID) bool { return x == c || slices.Contains(r.tried, x) })
	return Claim{Place: r.place, Companion: c, Votes: r.decision.Votes, Extras: extras, Instead: r.tried}
}

// claim takes the floor for a companion living here, and starts the pause. Nobody else here: no pause.
func (s *step) claim(c CompanionID) {
	m, r := &s.m, &s.m.rd
	claim := s.claimOf(c)
	s.send(claim)
	m.floor = floor{state: floorClaimed, device: m.cfg.Self, place: r.place, companion: c, claim: claim, since: m.now}
	r.expect, r.grace = 0, 0
	place := r.place
	s.record(Entry{Kind: EntryClaim, Place: &place, Companion: c, By: m.cfg.Self, Why: whyOf(r.decision, c)})
	if len(r.tried) > 0 {
		s.record(Entry{Kind: EntryInstead, Place: &place, Companion: c, By: m.cfg.Self, Why: r.why})
	}
	i := s.prepare(c)
	s.edit(i, func(k *stake) {
		k.phase, k.claim = stakeClaimed, claim
		k.decision.Extras = claim.Extras
		k.due, k.limit = m.now+m.cfg.Pause, m.now+m.cfg.StartLimit
	})
	if m.Alone() || m.cfg.Pause == 0 {
		s.cue(i)
	}
}

// cue: the pause is over.
func (s *step) cue(i int) {
	k := s.m.stakes[i]
	s.edit(i, func(k *stake) { k.phase, k.due = stakeCued, 0 })
	s.do(Speak{k.place, k.companion})
}

// getReady lets the next speaker prepare while the last one still sounds (ROOM.md 3.6).
func (s *step) getReady() {
	m := &s.m
	if at := m.prepareAt(); at > 0 && m.now >= at {
		c, _ := s.candidate()
		s.prepare(c)
	}
}

// prepareAt is when the winner here may get ready for the floor that another answer still has; 0: not yet known, or nobody.
func (m *Machine) prepareAt() time.Duration {
	r, f := &m.rd, &m.floor
	if !r.open || !r.decided || r.over || r.unready || f.state != floorSounding || f.ends == 0 || f.place == r.place || len(m.holders) > 0 || m.now < r.grace {
		return 0
	}
	s := step{m: *m}
	c, ok := s.candidate()
	if !ok || s.seatOf(c) != m.cfg.Self || s.stake(r.place, c) >= 0 {
		return 0
	}
	return max(f.ends-m.cfg.Prepare, 1)
}

// abandon ends an answer here. SpeechEnded tells when it is really over.
func (s *step) abandon(p Place, c CompanionID, why string) {
	i := s.stake(p, c)
	if i < 0 || s.m.stakes[i].phase == stakeOver {
		return
	}
	s.edit(i, func(k *stake) { k.phase, k.due, k.limit = stakeOver, 0, s.m.now+forget })
	s.do(Abandon{p, c, why})
}

// yield gives up an answer for another one.
func (s *step) yield(k stake, why string) {
	if k.phase == stakeClaimed || k.phase == stakeCued {
		s.send(Withdraw{k.place, k.companion, why})
		place := k.place
		s.record(Entry{Kind: EntryWithdraw, Place: &place, Companion: k.companion, By: s.m.cfg.Self, Why: why})
	}
	s.abandon(k.place, k.companion, why)
	if f := &s.m.floor; f.device == s.m.cfg.Self && f.place == k.place && f.companion == k.companion {
		*f = floor{}
	}
}

// claimHeard: the floor is taken, whether or not this device has decided, or seen the message. Of two claims the better one
// counts; somebody who can be heard already keeps the floor.
func (s *step) claimHeard(from DeviceID, c Claim) {
	if c.Place.Message == "" || c.Place.Number < 1 || len(c.Votes) > maxCompanions || len(c.Instead) > maxCompanions || len(c.Extras) > maxCompanions {
		s.ignore(from, "Claim", "a field is missing or out of range")
		return
	}
	if !s.livesOn(c.Companion, from) {
		s.ignore(from, "Claim", "its companion does not live there")
		return
	}
	if !s.epochOf(from, c.Place.Epoch, "Claim") {
		return
	}
	m, r, f := &s.m, &s.m.rd, &s.m.floor
	if s.knownClaim(from, c) {
		return // said again, for somebody who had missed it
	}
	m.claims = append(slices.Clip(m.claims), heardClaim{from, c})
	m.claims = m.claims[max(0, len(m.claims)-maxClaims):]
	if f.device == from && f.place == c.Place && f.companion == c.Companion {
		f.claim = c // it was heard before its claim came
		return
	}
	if r.open && c.Place.Number < r.place.Number && (r.device != from || f.state != floorFree) {
		s.ignore(from, "Claim", "its message has been answered")
		return
	}
	place := c.Place
	s.record(Entry{Kind: EntryClaim, Place: &place, Companion: c.Companion, By: from})
	if r.open && r.place == c.Place {
		for _, x := range c.Instead {
			if !slices.Contains(r.tried, x) && x != c.Companion {
				r.tried = append(slices.Clip(r.tried), x)
				if i := s.stake(c.Place, x); i >= 0 && m.stakes[i].phase != stakeSounding {
					s.yield(m.stakes[i], "too late: "+string(c.Companion)+" speaks instead")
				}
			}
		}
	}
	switch {
	case f.state == floorSounding && f.device != from && f.device == m.cfg.Self:
		// It cannot know yet. When it does, and could be heard already, the better claim wins.
		s.again(s.stake(f.place, f.companion))
		return
	case f.state == floorSounding && f.device != from && !newer(c.Place, f.place):
		return
	case f.state == floorClaimed && f.device != from && !Better(c, f.claim):
		return
	}
	if f.state != floorFree && f.device == m.cfg.Self {
		if i := s.stake(f.place, f.companion); i >= 0 {
			s.yield(m.stakes[i], string(c.Companion)+" has the better claim")
		}
	}
	s.taken(floor{
		state: floorClaimed, device: from, place: c.Place, companion: c.Companion, claim: c, since: m.now,
		until: m.now + m.cfg.StartLimit + m.cfg.Margin,
	})
}

func (s *step) knownClaim(from DeviceID, c Claim) bool {
	return slices.ContainsFunc(s.m.claims, func(x heardClaim) bool {
		return x.from == from && x.claim.Place == c.Place && x.claim.Companion == c.Companion && len(x.claim.Instead) == len(c.Instead)
	})
}

// taken gives the floor to somebody elsewhere.
func (s *step) taken(f floor) {
	m := &s.m
	m.floor = f
	for _, k := range m.stakes { // what was prepared for this very message is not needed
		if k.place == f.place && k.phase == stakeReady {
			s.abandon(k.place, k.companion, string(f.companion)+" speaks")
		}
	}
	if m.own.message.Place() == f.place {
		s.lose(string(f.companion) + " answers")
	}
}

// again says once more what somebody missed.
func (s *step) again(i int) {
	if i < 0 {
		return
	}
	k := s.m.stakes[i]
	s.send(k.claim)
	s.send(s.speaking(k))
}

func (s *step) speaking(k stake) Speaking {
	left := 0
	if k.ends > s.m.now {
		left = int((k.ends - s.m.now) / time.Millisecond)
	}
	return Speaking{Place: k.place, Companion: k.companion, LeftMS: left}
}

// newer tells that a comes after b in one epoch.
func newer(a, b Place) bool { return a.Epoch == b.Epoch && a.Number > b.Number }

func (s *step) withdrawHeard(from DeviceID, p Withdraw) {
	if !s.epochOf(from, p.Place.Epoch, "Withdraw") {
		return
	}
	f, r := &s.m.floor, &s.m.rd
	s.m.claims = slices.DeleteFunc(slices.Clone(s.m.claims), func(x heardClaim) bool {
		return x.from == from && x.claim.Place == p.Place && x.claim.Companion == p.Companion
	})
	if f.state == floorFree || f.device != from || f.place != p.Place || f.companion != p.Companion {
		s.ignore(from, "Withdraw", "it has no claim")
		return
	}
	place := p.Place
	s.record(Entry{Kind: EntryWithdraw, Place: &place, Companion: p.Companion, By: from, Why: p.Why})
	*f = floor{}
	if r.open && r.place == p.Place && !slices.Contains(r.tried, p.Companion) {
		// It saw a better claim, which is about to come here, too.
		r.tried = append(slices.Clip(r.tried), p.Companion)
		r.grace, r.why = s.m.now+s.m.cfg.Margin, string(p.Companion)+" withdrew: "+p.Why
	}
}

// speakingHeard: somebody can be heard. What could not be heard yet yields to it; of two who can be heard the one with the
// better claim goes on, and says its claim again, so that both compare the same two.
func (s *step) speakingHeard(from DeviceID, p Speaking) {
	if p.Place.Message == "" || p.Place.Number < 1 {
		s.ignore(from, "Speaking", "a field is missing or out of range")
		return
	}
	if !s.livesOn(p.Companion, from) {
		s.ignore(from, "Speaking", "its companion does not live there")
		return
	}
	if !s.epochOf(from, p.Place.Epoch, "Speaking") {
		return
	}
	m, f := &s.m, &s.m.floor
	same := f.device == from && f.place == p.Place && f.companion == p.Companion
	if !same && f.state != floorFree {
		theirs := Claim{Place: p.Place, Companion: p.Companion}
		for _, x := range m.claims {
			if x.from == from && x.claim.Place == p.Place && x.claim.Companion == p.Companion {
				theirs = x.claim
			}
		}
		own := f.device == m.cfg.Self
		i := s.stake(f.place, f.companion)
		switch {
		case own && i >= 0 && f.state == floorSounding:
			if !Better(theirs, m.stakes[i].claim) {
				s.again(i)
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
	claim := f.claim
	if !same {
		claim = Claim{Place: p.Place, Companion: p.Companion}
	}
	next := floor{state: floorSounding, device: from, place: p.Place, companion: p.Companion, claim: claim, since: m.now, until: m.now + m.cfg.Lease + m.cfg.Margin}
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
func (s *step) releaseHeard(from DeviceID, p Release) {
	if !s.livesOn(p.Companion, from) {
		s.ignore(from, "Release", "its companion does not live there")
		return
	}
	if p.Heard != nil && p.Said != "" {
		s.correct(p.Said, p.Companion, *p.Heard)
	}
	if s.sane(p.Place.Epoch) && p.Place.Epoch.Before(s.m.epoch) {
		return // cut by the press that made it old
	}
	if !s.epochOf(from, p.Place.Epoch, "Release") {
		return
	}
	f := &s.m.floor
	if f.state != floorFree && f.device == from && f.place == p.Place && f.companion == p.Companion {
		*f = floor{}
		s.quietFrom()
	}
	s.released(from, p)
}

// released: what the end of a speech, here or elsewhere, means for its round.
func (s *step) released(from DeviceID, p Release) {
	m, r := &s.m, &s.m.rd
	place := p.Place
	if !p.OK {
		s.failed(place, p.Companion, p.Why)
		return
	}
	s.record(Entry{Kind: EntrySpoke, Place: &place, Companion: p.Companion, By: from, HeardMS: max(p.HeardMS, 0), Why: p.Why})
	if m.own.open && m.own.message.Place() == place {
		s.outcome(EntryAnswered, "answered by "+string(p.Companion))
		s.lose(string(p.Companion) + " answered")
	}
	if r.open && r.place == place {
		r.over, r.expect, r.grace, r.silentAt = true, 0, 0, 0
	}
}

// correct: of a message only text was heard.
func (s *step) correct(id MessageID, who CompanionID, text string) {
	m := &s.m
	i := slices.IndexFunc(m.recent, func(x Message) bool { return x.ID == id && x.From == Participant(who) })
	if i < 0 || m.recent[i].Text == text {
		return
	}
	m.recent = slices.Clone(m.recent)
	m.recent[i].Text = text
	s.do(Correct{id, text})
}
