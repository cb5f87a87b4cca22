package round

import (
	"cmp"
	"slices"
	"time"

	"conch/companions/round/because"
)

// messageHeard checks a message from elsewhere: who says it lives where it comes from.
func (s *rounds) messageHeard(from DeviceID, msg Message) {
	why := ""
	who, companion := msg.From.Companion()
	switch {
	case msg.ID == "" || msg.Number < 1 || msg.Metadata.Chain < 0 || len(msg.To) > maxCompanions || len(msg.Metadata.Joins) > maxSeen ||
		len(msg.Metadata.Queue) > maxCompanions:
		why = "a field is missing or out of range"
	case !sane(msg.Epoch):
		why = "no epoch that could be"
	case !companion && msg.From != Human(from):
		why = "its sender does not live there"
	case !companion && !msg.Metadata.Silence && msg.Epoch.Device != from:
		why = "no press of that device has this epoch"
	case companion && !s.m.livesOn(who, from):
		why = "its sender does not live there"
	case slices.Contains(s.m.ahead, msg.ID): // a history was quicker: the press counts, and the words open their round
		m, it := &s.m, func(id MessageID) bool { return id == msg.ID }
		m.ahead, m.seen = without(m.ahead, it), without(m.seen, it)
		m.recent = without(m.recent, func(x Message) bool { return x.ID == msg.ID })
	case slices.Contains(s.m.seen, msg.ID):
		why = "seen before"
	}
	if why != "" {
		s.ignore(from, "Message", why)
		return
	}
	if msg.Private() && msg.For != s.m.cfg.Self { // its words are not for this device, whoever carried them here
		msg = msg.Public()
	}
	if s.placed(from, &msg) && !(companion && s.robbed(from, who, msg.Place(), "Message")) {
		s.accept(msg, from)
	}
}

// placed finds what the epoch of a message is here, and lets its press count if that was missed. False: it does not count.
func (s *rounds) placed(from DeviceID, msg *Message) bool {
	m, e := &s.m, msg.Epoch
	why := "a person spoke at " + s.m.nameOf(from)
	if !msg.From.Human() || msg.Metadata.Silence {
		msg.Epoch = s.here(from, e, "")
		switch {
		case !s.m.near(msg.Epoch):
			s.ignore(from, "Message", "no epoch that could be")
			return false
		case m.epoch.Before(msg.Epoch):
			_, ok := s.missed(from, msg.Epoch, "Message", why)
			return ok
		case msg.From.Human() && !unanswered(m, *msg):
			s.ignore(from, "Message", "nobody waits for an answer")
			return false
		}
		return true
	}
	msg.Epoch = s.m.asHere(from, e)
	late := overtaken(&s.m, from, e) && !s.m.later(msg.After)
	fresh, more := late || s.m.meet(from, e), s.m.presser(from).said == e
	s.m.editPresser(from, func(p *presser) { p.said = e })
	if more && !s.counts(from) { // one press, one message: each further one is as much of a disturbance
		s.ignore(from, "Message", "its presses do not count now")
		return false
	}
	switch {
	case e == m.epoch && !(fresh && m.minted), !fresh && s.m.near(msg.Epoch) && !m.epoch.Before(msg.Epoch):
		return true
	case late: // in doubt, silence; its press may still come
		if s.heeds(from) {
			s.starve(from)
			s.cut(why)
		}
		if s.m.near(e) && e.Before(m.epoch) {
			return true
		}
		s.ignore(from, "Message", "of an older epoch")
		return false
	case !fresh || !s.heeds(from):
		s.ignore(from, "Message", "its presses do not count now")
		return false
	}
	msg.Epoch, _ = s.raise(from, e, msg.After, why)
	return true
}

// accept is a message's one way into the machine.
func (s *rounds) accept(msg Message, from DeviceID) {
	m := &s.m
	passed := m.rd.open && msg.Epoch == m.epoch && msg.Number <= m.rd.place.Number
	if msg.From.Human() && !msg.Metadata.Silence {
		s.m.letGo(from, msg.Epoch)
		if !passed { // words that came late are of a turn that has been counted
			m.chain, m.chainKnown, m.modelled = 0, true, 0
		}
	}
	if _, ok := msg.From.Companion(); ok {
		if m.chain++; m.chain > m.cfg.Manners.ChainLimit && from != m.cfg.Self { // neither answered nor remembered, whoever says it
			m.chain--
			s.ignore(from, "Message", "beyond the turn limit")
			return
		}
	}
	if !msg.From.Human() || msg.Metadata.Silence { // counted here, and not by who speaks
		msg.Metadata.Chain = map[bool]int{true: m.chain, false: max(m.chain, msg.Metadata.Chain)}[m.chainKnown]
	} else {
		msg.Metadata.Chain = 0
	}
	s.remember(msg)
	if msg.From.Human() && msg.Text != "" && !msg.Private() { // manners are everybody's
		if c, ok := spokenControl(msg.Text, s.m.allCards()); ok {
			s.control(c, from, "as somebody said at "+s.m.nameOf(from))
		}
	}
	why := ""
	switch {
	case msg.Epoch != m.epoch:
		why = "of an epoch that is not the newest here: remembered, not answered"
	case passed:
		why = "a newer message is there: remembered, not answered"
	case !msg.From.Human() && m.hushed.Number > 0 && msg.Number == m.hushed.Number+1:
		why = "what it is a part of was silenced: remembered, not answered"
	case !wordsOf(m, msg):
		why = "what it is said to has not come: remembered, not answered"
	}
	if why != "" {
		if from != m.cfg.Self {
			s.ignore(from, "Message", why)
		}
		return
	}
	if m.own.open && m.own.message.Epoch == msg.Epoch && msg.ID != m.own.message.ID {
		why := "the conversation has gone on"
		if who, ok := msg.From.Companion(); ok {
			m.own.sounded, why = true, "answered by "+string(who) // a text is published when it sounds
		}
		s.outcome(EntrySilent, why)
		s.lose("somebody else has answered")
	}
	s.openRound(msg, from)
	m.threads = m.threads.Next(msg.Public(), m.now)
}

// wordsOf tells that the person's words of a message's epoch are known. Whatever is said before them would be in their way: they are the first.
func wordsOf(m *Machine, msg Message) bool {
	first := func(x Message) bool { return x.From.Human() && !x.Metadata.Silence }
	return first(msg) || m.rd.open && m.rd.place.Epoch == msg.Epoch ||
		slices.ContainsFunc(m.recent, func(x Message) bool { return first(x) && x.Epoch == msg.Epoch })
}

// unanswered tells that what a person has asked is open: nobody has answered it, and nobody is about to.
func unanswered(m *Machine, msg Message) bool {
	r := &m.rd
	return r.open && r.over && r.message.ID == m.asked && r.place.Epoch == msg.Epoch && r.place.Number+1 == msg.Number && m.floor.state == floorFree
}

// openRound snapshots the roster and votes (ROOM.md 3.1, 3.2).
func (s *rounds) openRound(msg Message, from DeviceID) {
	m := &s.m
	m.silence, m.asked = 0, ""
	for _, k := range m.stakes {
		if k.place != msg.Place() && (k.phase == stakeReady || k.phase == stakeClaimed || k.phase == stakeCued) {
			s.yield(k, "its message has been answered")
		}
	}
	m.ended = m.ended && !(msg.From.Human() && !msg.Metadata.Silence)
	r := roundState{open: true, place: msg.Place(), words: msg.Text, device: from, began: m.now}
	msg = msg.Public()
	r.message = msg
	r.view = View{
		Message: msg, Members: m.Members(), Recent: heardBefore(m, msg), Turns: m.turns, Room: m.setting.Involvement, Manners: m.cfg.Manners,
		Threads: m.threads, At: m.now, Away: m.away, People: m.people, Words: m.cfg.Words,
	}
	only, whispered := msg.Whisper()
	whispered = whispered && msg.From.Human()
	budget := 0
	spent := s.m.cfg.Manners.spent(msg)
	for _, x := range r.view.Members {
		seats := 0
		for _, c := range x.Cards {
			switch {
			case Participant(c.ID) == msg.From:
			case m.setting.Muted:
				r.quiet = append(r.quiet, silenced(c.ID, LayerForbidden, because.Of("room_quiet"), because.IDs))
			case c.Muted:
				r.quiet = append(r.quiet, silenced(c.ID, LayerForbidden, because.Of("muted"), because.IDs))
			case spent != "":
				r.quiet = append(r.quiet, silenced(c.ID, LayerForbidden, spent, because.IDs))
			case whispered && (c.ID != only || msg.Private() && x.Device != msg.For):
				r.quiet = append(r.quiet, silenced(c.ID, LayerForbidden, because.Of("whispered", "who", string(only)), because.IDs))
			case msg.Private() && !whispered:
				r.quiet = append(r.quiet, silenced(c.ID, LayerForbidden, because.Of("answered_alone"), because.IDs))
			default:
				r.roster = append(r.roster, seat{c.ID, x.Device})
				seats++
			}
		}
		if seats > 0 {
			budget = max(budget, x.Budget)
		}
	}
	slices.SortFunc(r.roster, func(a, b seat) int { return cmp.Compare(a.id, b.id) })
	r.deadline = m.now + min(time.Duration(min(budget, int(longestWait/time.Millisecond)))*time.Millisecond+m.cfg.Margin, longestWait)
	m.rd = r
	s.vote()
	for _, x := range m.early {
		if x.votes.Place == r.place {
			s.count(x.votes.Votes, x.from)
		}
	}
	m.early = without(m.early, func(x early) bool {
		return x.votes.Place.Epoch == r.place.Epoch && x.votes.Place.Number <= r.place.Number
	})
}

// decide is selection (ROOM.md 3.3, 3.4).
func (s *rounds) decide(atLimit bool) {
	m, r := &s.m, &s.m.rd
	if r.pending != nil { // cannot be late: the rules stand
		s.votesLate()
	}
	roster := each(r.roster, func(x seat) CompanionID { return x.id })
	d := Decide(r.message, roster, each(r.votes, func(v *Vote) Vote { return *v }), r.barred...)
	d.Waited, d.AtLimit = float64(m.now-r.began)/float64(time.Millisecond), atLimit
	for _, x := range r.refused {
		for i := range d.Silent {
			if d.Silent[i].Companion == x.Companion && slices.Contains(d.Absent, x.Companion) {
				d.Silent[i].Reason, d.Silent[i].Because = x.Reason, x.Because
			}
		}
	}
	d.Silent = append(d.Silent, r.quiet...)
	if spent := s.m.cfg.Manners.spent(r.message); len(roster) == 0 && spent != "" {
		d.say(spent)
	}
	r.decided, r.decision, r.deadline = true, d, 0
	place, msg := r.place, r.message
	s.record(place, Entry{Kind: EntryRound, Message: &msg, Decision: &d, Why: d.Reason, Because: d.Because})
	if d.Winner == "" {
		r.why = d.Reason
		if r.over { // somebody who saw more votes has spoken already
			r.silentAt = 0
		} else if r.silentAt = m.now; len(d.Absent) > 0 { // or may have a winner
			r.silentAt += m.cfg.ClaimLimit
		}
		if d.Ended {
			s.endConversation(place, because.Of("over").English(because.IDs))
			if r.device == m.cfg.Self {
				s.send(Ended{place})
			}
		}
		return
	}
	if PeopleFirst(r.view, d) {
		r.grace = m.now + PeopleWait
	}
}

// endConversation: the conversation is over until a person speaks (ROOM.md 3, terminal).
func (s *rounds) endConversation(place Place, why string) {
	if s.m.ended {
		return
	}
	s.m.ended = true
	s.record(place, Entry{Kind: EntryEnded, Why: why})
}

func (s *rounds) endedHeard(from DeviceID, p Ended) {
	if !s.epochOf(from, &p.Place, "Ended") {
		return
	}
	if r := &s.m.rd; r.open && r.place.Number > p.Place.Number {
		s.ignore(from, "Ended", "the conversation has gone on")
		return
	}
	s.endConversation(p.Place, "the conversation is over, says "+s.m.nameOf(from))
}
