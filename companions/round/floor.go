package round

// prepare lets a companion get its answer ready.
func (s *answers) prepare(c CompanionID) int {
	m, r := &s.m, &s.m.rd
	if i := s.m.stake(r.place, c); i >= 0 {
		return i
	}
	answer := stake{phase: stakeReady, place: r.place, companion: c, message: r.message, device: r.device, view: r.view, decision: r.decision}
	m.stakes = with(m.stakes, answer, maxStakes)
	turn := ""
	if m.own.message.ID == r.message.ID {
		turn, m.own.turn = m.own.turn, ""
	}
	message := r.message
	message.Text = r.words
	s.do(Prepare{
		Place: r.place, Companion: c, Turn: turn, Message: message, Why: whyOf(r.decision, c), Guidance: guidance(r.view, c, r.decision),
	})
	return len(m.stakes) - 1
}

// whyOf is why c speaks.
func whyOf(d Decision, c CompanionID) string {
	if v, ok := d.vote(c); ok && c != d.Winner {
		return v.Reason
	}
	return d.Reason
}

// takeFloor takes the floor for a companion living here, and starts the pause. Nobody else here: no pause.
func (s *answers) takeFloor(c CompanionID) {
	m, r := &s.m, &s.m.rd
	claim := s.m.rd.claimOf(c)
	s.send(claim)
	m.floor = floor{state: floorClaimed, device: m.cfg.Self, place: r.place, companion: c, claim: claim, since: m.now}
	r.expect, r.grace = 0, 0
	s.record(r.place, Entry{Kind: EntryClaim, Companion: c, By: m.cfg.Self, Why: whyOf(r.decision, c)})
	if len(r.tried) > 0 {
		s.record(r.place, Entry{Kind: EntryInstead, Companion: c, By: m.cfg.Self, Why: r.why})
	}
	i := s.prepare(c)
	s.m.editStake(i, func(k *stake) {
		k.phase, k.claim = stakeClaimed, claim
		k.decision.Extras = claim.Extras
		k.due, k.limit = m.now+m.cfg.Pause, m.now+m.cfg.StartLimit
	})
	if m.Alone() || m.cfg.Pause == 0 {
		s.cue(i)
	}
}

// cue: the pause is over.
func (s *answers) cue(i int) {
	k := s.m.stakes[i]
	s.m.editStake(i, func(k *stake) { k.phase, k.due = stakeCued, 0 })
	s.do(Speak{k.place, k.companion})
}

// getReady lets the next speaker prepare while the last one still sounds (ROOM.md 3.6).
func (s *answers) getReady() {
	m := &s.m
	if at := m.prepareAt(); at > 0 && m.now >= at {
		c, _ := s.m.candidate()
		s.prepare(c)
	}
}

// abandon ends an answer here. SpeechEnded tells when it is really over.
func (s *answers) abandon(p Place, c CompanionID, why string) {
	i := s.m.stake(p, c)
	if i < 0 || s.m.stakes[i].phase == stakeOver {
		return
	}
	s.m.editStake(i, func(k *stake) { k.phase, k.due, k.limit = stakeOver, 0, s.m.now+forget })
	s.do(Abandon{p, c, why})
}

// yield gives up an answer for another one.
func (s *answers) yield(k stake, why string) {
	if k.phase == stakeClaimed || k.phase == stakeCued {
		s.send(Withdraw{k.place, k.companion, why})
		s.record(k.place, Entry{Kind: EntryWithdraw, Companion: k.companion, By: s.m.cfg.Self, Why: why})
	}
	s.abandon(k.place, k.companion, why)
	s.m.vacate(s.m.cfg.Self, k.place, k.companion)
}

// cut ends what can be heard here, or is about to: a press silences, even one that is not the newest.
func (s *answers) cut(why string) {
	for _, k := range s.m.stakes {
		if k.phase == stakeClaimed || k.phase == stakeCued || k.phase == stakeSounding {
			s.do(Hush{Epoch: s.m.epoch, Why: why})
			s.yield(k, why)
		}
	}
}

// taken gives the floor to somebody elsewhere.
func (s *answers) taken(f floor) {
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

// sayAgain says once more what somebody missed.
func (s *answers) sayAgain(i int) {
	if i < 0 {
		return
	}
	k := s.m.stakes[i]
	s.send(k.claim)
	s.send(s.m.speaking(k))
}

// released: what the end of a speech, here or elsewhere, means for its round.
func (s *answers) released(from DeviceID, p Release) {
	m, r := &s.m, &s.m.rd
	if !p.OK {
		s.failed(p.Place, p.Companion, p.Why)
		return
	}
	s.record(p.Place, Entry{Kind: EntrySpoke, Companion: p.Companion, By: from, HeardMS: max(p.HeardMS, 0), Why: p.Why})
	if silenced := m.quieted > 0 && m.now-m.quieted < pressWindow; !silenced && (from == m.cfg.Self || m.own.message.Place() == p.Place) {
		s.thrives()
	}
	if m.own.open && m.own.message.Place() == p.Place {
		s.outcome(EntryAnswered, "answered by "+string(p.Companion))
		s.lose(string(p.Companion) + " answered")
	}
	if r.open && r.place == p.Place {
		r.over, r.expect, r.grace, r.silentAt = true, 0, 0, 0
	}
}

// unanswered: whoever had the floor is gone. If what it says is known already, the next round waits for no more.
func (s *answers) unanswered(f floor, why string) {
	s.m.quietFrom()
	if r := &s.m.rd; r.open && r.place == f.place && !r.over {
		s.failed(f.place, f.companion, why)
	}
}
