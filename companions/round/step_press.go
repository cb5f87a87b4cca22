package round

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"conch/companions/round/because"
)

func (s *step) pressed(e Pressed) {
	s.nextEpoch("a press here", e.Ask)
	s.m.hold(holder{s.m.cfg.Self, s.m.epoch, e.Turn, s.m.now, s.m.now + s.m.cfg.Hold})
}

// confirm notes a press that has silenced this device, here or with what came of it before, and says so where that is asked. To one that has lost
// the floor the next beat says it: or who hammers would make everybody else flood the room.
func (s *step) confirm(from DeviceID, p Press) {
	if slices.ContainsFunc(s.out, func(e Effect) bool { _, hush := e.(Hush); return hush }) {
		s.m.silenced = p.Epoch
	}
	if p.Ask && s.m.silenced == p.Epoch && s.m.counted(from) {
		b := s.m.beat(false)
		b.Confirms = true
		s.do(Send{b}) // also without the broker: there may be a second way
	}
}

func (s *step) pressEnded(e PressEnded) {
	h, ok := s.m.holding(s.m.cfg.Self)
	if !ok || h.turn != e.Turn {
		s.ignore("", "PressEnded", "no press of this turn has the floor")
		return
	}
	s.m.letGo(h.device, h.epoch)
	s.send(PressOver{h.epoch})
}

// pressHeard: a press that is new silences everything here, whatever its number is, and what it is here is the newest epoch. Of two that
// come at once the lower one only holds the floor: its person records all the same, and nobody claims meanwhile.
func (s *step) pressHeard(from DeviceID, p Press) {
	if !s.epochHere(from, p.Epoch, "Press") {
		return
	}
	m := &s.m
	seen := m.epoch == p.Epoch && !m.minted && m.rd.place.Epoch != p.Epoch // what came of it, before it
	switch {
	case !s.m.meet(from, p.Epoch):
		return // every press is sent twice
	case !s.heeds(from):
		s.ignore(from, "Press", "it has lost the floor, and only silences")
		return
	}
	here := p.Epoch
	if !seen {
		why := "a press elsewhere"
		e, newest := s.raise(from, p.Epoch, p.After, "a person pressed at "+s.m.nameOf(from))
		if here = e; !newest {
			why = "a newer press has been heard; this one only holds the floor"
		}
		s.record(Place{Epoch: here}, Entry{Kind: EntryPress, By: from, Why: why})
	}
	if p.Epoch.N < m.epoch.N {
		s.beat(false, false) // it does not know what counts here
	}
	if s.m.up { // by the second way its end would not come
		s.m.hold(holder{from, here, "", m.now, m.now + m.cfg.Hold})
	}
}

// epochHere tells that an epoch can be one of that device.
func (s *step) epochHere(from DeviceID, e Epoch, what string) bool {
	ok := sane(e) && e.Device == from
	if !ok {
		s.ignore(from, what, "no epoch that could be")
	}
	return ok
}

func (s *step) pressOver(from DeviceID, p PressOver) {
	if !s.epochHere(from, p.Epoch, "PressOver") {
		return
	}
	if s.m.meet(from, p.Epoch) && (p.Epoch != s.m.epoch || s.m.minted) && s.heeds(from) { // the press is still to come, or was lost
		s.raise(from, p.Epoch, Epoch{}, "a person pressed at "+s.m.nameOf(from))
	}
	s.m.letGo(from, s.m.asHere(from, p.Epoch))
}

// said: the person's words. The press that brought them may have lost its epoch to another, or there was none (typed words):
// then they take a new one, so that no utterance is lost and the newest counts.
func (s *step) said(e Said) {
	m := &s.m
	switch {
	case strings.TrimSpace(e.Text) == "":
		s.pressEnded(PressEnded{Turn: e.Turn, Why: "nothing was said"})
		return
	case e.ID == "" || slices.Contains(m.seen, e.ID):
		s.ignore("", "Said", "its message id is missing or has been used")
		return
	}
	private, why := privately(m, e)
	if why != "" { // in the clear it would be said to everybody
		msg := Message{ID: e.ID, From: Human(m.cfg.Self), To: e.To, Turn: e.Turn, Epoch: m.epoch, For: m.cfg.Self}
		s.record(msg.Place(), Entry{Kind: EntrySilent, Message: &msg, Why: why})
		s.do(Lost{e.Turn, why})
		if h, held := m.holding(m.cfg.Self); held && h.turn == e.Turn {
			s.pressEnded(PressEnded{Turn: e.Turn, Why: why})
		}
		return
	}
	began := m.now
	var epoch Epoch
	h, held := s.m.holding(m.cfg.Self)
	switch {
	case held && h.turn != e.Turn && e.Turn != "":
		// Words of a turn that a newer press here has replaced: everybody gets to know them, nobody answers.
		epoch = Epoch{max(h.epoch.N-1, 1), m.cfg.Self}
	case held && h.epoch == m.epoch:
		began, epoch = h.since, h.epoch
		s.m.letGo(h.device, h.epoch)
	default:
		if held {
			began = h.since
			s.m.letGo(h.device, m.epoch)
			s.m.holders = without(m.holders, func(x holder) bool { return x.device == m.cfg.Self })
		}
		joins := m.own.sounded
		s.nextEpoch("words came", false)
		m.own.sounded = joins
		epoch = m.epoch
	}
	msg := Message{ID: e.ID, From: Human(m.cfg.Self), To: slices.Clone(e.To), Text: e.Text, Turn: e.Turn, Epoch: epoch, Number: 1, For: private}
	if epoch == m.epoch {
		msg.After = m.after
	}
	joins := joins(&s.m, began)
	if m.before = with(m.before, said{e.ID, m.now}, maxJoins); private != "" {
		m.before = nil // nothing is joined to it
	} else {
		msg.Metadata = metadata(languages(m.cfg.Words), e.Text, joins)
	}
	s.send(msg)
	if epoch.Before(m.epoch) {
		s.remember(msg)
		msg = msg.Public()
		s.record(msg.Place(), Entry{Kind: EntrySuperseded, Message: &msg, Why: "a newer press here", Because: because.Of("newer")})
		s.do(Lost{e.Turn, "a newer press here"})
		return
	}
	s.outcome(EntrySuperseded, "a newer message")
	m.own = own{message: msg.Public(), turn: e.Turn, open: true}
	s.accept(msg, m.cfg.Self)
}

// privately is the device that words are for alone; empty: they are everybody's. why: they cannot be said in private.
func privately(m *Machine, e Said) (d DeviceID, why string) {
	only, whispered := Message{To: e.To}.Whisper()
	if !whispered || e.Open {
		return "", ""
	}
	for _, x := range m.members {
		if !hasCard(x.Cards, only) || hasCard(m.cards, only) || d != "" && !m.listed.senior(x.Device, d) {
			continue
		}
		if d, why = x.Device, ""; x.Version < Version {
			why = fmt.Sprintf("%s runs an older conch, to which nothing can be said in private: upgrade it, or ask without --to", m.nameOf(d))
		}
	}
	return cmp.Or(d, m.cfg.Self), why
}
