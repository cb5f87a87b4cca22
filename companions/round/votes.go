package round

import (
	"slices"
)

// vote judges for the companions living here. Where the rules are not certain a model may better what is worth saying, if it is quick and
// has not been asked too often; it is not asked where everything is owed or forbidden (ROOM.md 3.2).
func (s *rounds) vote() {
	m, r := &s.m, &s.m.rd
	id := func(x seat) CompanionID { return x.id }
	roster := each(r.roster, id)
	mine := each(without(r.roster, func(x seat) bool { return x.device != m.cfg.Self }), id)
	may := m.cfg.VoteBudget > 0 && m.modelled < m.cfg.Calls && !r.message.Private()
	judged := mine
	if may { // how certain the rules are shows in the votes of all
		judged = roster
	}
	if m.cfg.judge == nil {
		r.barred = barredByWords(r.view, roster)
	}
	if len(mine) == 0 {
		return
	}
	all := m.cfg.byRules(r.view, judged)
	certain := 0.0
	if may {
		certain = Certainty(all)
	}
	var votes []Vote
	open, owed := false, false // to a model
	for _, v := range all {
		owed = owed || v.Selected
		if !slices.Contains(mine, v.From) {
			continue
		}
		v.MessageID, v.Certain = r.place.Message, certain // by code, never by a model
		if v.called() {
			r.called = append(r.called, v.From)
		}
		for _, x := range m.spoke {
			if x.id == v.From {
				v.Spoke = x.turn
			}
		}
		open = open || v.Layer != LayerOwed && v.Layer != LayerForbidden
		votes = append(votes, v)
	}
	if !may || !open || owed || m.cfg.Sure > 0 && certain >= m.cfg.Sure {
		s.publish(votes)
		return
	}
	m.modelled++
	r.pending, r.refine = votes, m.now+m.cfg.VoteBudget
	recent := without(r.view.Recent, func(x Message) bool {
		_, whispered := x.Whisper()
		return x.Private() || whispered
	})
	s.do(Refine{Place: r.place, Message: r.message, Recent: recent, Votes: slices.Clone(votes), Until: r.refine})
}

// publish is the one envelope of votes that a device sends for a round.
func (s *rounds) publish(votes []Vote) {
	r := &s.m.rd
	r.pending, r.refine = nil, 0
	s.send(Votes{r.place, votes})
	s.count(votes, s.m.cfg.Self)
}

// votesLate: the model's time is over.
func (s *rounds) votesLate() {
	r := &s.m.rd
	votes := slices.Clone(r.pending)
	for i := range votes {
		votes[i].Reason += " (by rules: the model was too slow)"
	}
	s.publish(votes)
}

// refined: what a model made of the votes. It may move state, importance, closing, reason and terms of what is worth saying; who votes on
// what is set here, and a vote that makes no sense leaves the rules' one standing.
func (s *rounds) refined(e Refined) {
	r := &s.m.rd
	if !r.open || r.place != e.Place || r.pending == nil {
		s.ignore("", "Refined", "its round does not wait for it")
		return
	}
	votes := slices.Clone(r.pending)
	for i, rule := range votes {
		for _, v := range e.Votes {
			if v.From == rule.From {
				votes[i] = rule.bettered(v)
				break
			}
		}
	}
	s.publish(votes)
}

// votesHeard counts an envelope of votes, now or when its message comes (ROOM.md 2).
func (s *rounds) votesHeard(from DeviceID, p Votes) {
	m, r := &s.m, &s.m.rd
	p.Place.Epoch = s.here(from, p.Place.Epoch, p.Place.Message)
	ahead := s.m.near(p.Place.Epoch) && m.epoch.Before(p.Place.Epoch) // votes silence nobody: they wait for their message
	if !ahead && p.Place.Epoch != m.epoch {
		s.ignore(from, "Votes", "of no epoch that counts here")
		return
	}
	switch {
	case p.Place.Message == "" || p.Place.Number < 1 || len(p.Votes) > maxPerDevice:
		s.ignore(from, "Votes", "a field is missing or out of range")
	case r.open && r.place == p.Place:
		s.count(p.Votes, from)
	case r.open && !ahead && p.Place.Number <= r.place.Number:
		s.ignore(from, "Votes", "for a round that is over, or another message")
	case slices.ContainsFunc(m.early, func(x early) bool { return x.from == from && x.votes.Place == p.Place }):
		s.ignore(from, "Votes", "it has voted on this message")
	default:
		p.Votes = slices.Clone(p.Votes)
		theirs := without(m.early, func(x early) bool { return x.from != from })
		if len(theirs) >= maxEarlyEach {
			m.early = without(m.early, func(x early) bool { return x.from == from && x.votes.Place == theirs[0].votes.Place })
		}
		m.early = with(m.early, early{from, p}, maxEarly)
	}
}

// count takes votes into the round, if they may count: the first of each companion of the roster, from where it lives.
func (s *rounds) count(votes []Vote, from DeviceID) {
	r := &s.m.rd
	own := false // r.votes can be appended to: nobody else has them
	for _, v := range votes {
		what := "Votes of " + string(v.From)
		at, ok := r.seat(v.From)
		switch {
		case !ok:
			s.ignore(from, what, "not in the roster")
			continue
		case r.roster[at].device != from:
			s.ignore(from, what, "it does not live there")
			continue
		case v.MessageID != r.place.Message:
			s.ignore(from, what, "on another message than its envelope")
			continue
		}
		if err := CheckVote(v); err != nil {
			s.ignore(from, err.Error(), "a field of the vote is wrong")
			if !r.decided {
				r.refused = append(slices.Clip(r.refused), refusal(v.From, err))[:min(len(r.refused)+1, maxCompanions)]
			}
			continue
		}
		if r.voted.has(at) {
			s.ignore(from, what, "it has voted on this message")
			continue
		}
		if r.decided {
			s.ignore(from, what, "late: the round was decided")
			continue
		}
		if v.Selected && s.m.takes(from) && r.message.From.Human() {
			v.Selected = s.m.calls(r.view, v.From)
		}
		if !own {
			r.votes, own = slices.Grow(slices.Clip(r.votes), len(votes)), true
		}
		r.voted.add(at)
		r.votes = append(r.votes, &v)
	}
}
