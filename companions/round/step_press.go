package round

import (
	"slices"
	"strings"
)

func (s *step) pressed(turn string) {
	s.nextEpoch("a press here")
	s.m.hold(holder{s.m.cfg.Self, s.m.epoch, turn, s.m.now, s.m.now + s.m.cfg.Hold})
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

// pressHeard: higher epochs silence everything here. A lower one that is new lost to another press or comes from a device
// that does not know the room yet: its person records all the same, and nobody claims meanwhile.
func (s *step) pressHeard(from DeviceID, p Press) {
	if !s.epochHere(from, p.Epoch, "Press") {
		return
	}
	if h, ok := s.m.holding(from); ok && !h.epoch.Before(p.Epoch) {
		return // every press is sent twice
	}
	if x := s.m.member(from); x != nil {
		if !x.press.Before(p.Epoch) || !x.over.Before(p.Epoch) {
			return // the second copy of a press that is known, or over already
		}
		s.m.editMember(from, func(x *member) { x.press = p.Epoch })
	}
	place := Place{Epoch: p.Epoch}
	switch {
	case s.m.epoch.Before(p.Epoch):
		s.adopt(p.Epoch, "a person pressed at "+s.m.nameOf(from), true)
		s.record(place, Entry{Kind: EntryPress, By: from, Why: "a press elsewhere"})
	case p.Epoch == s.m.epoch: // what came of it was seen before it
		if s.m.rd.place.Epoch == p.Epoch {
			return
		}
	default:
		s.record(place, Entry{Kind: EntryPress, By: from, Why: "a newer press has been heard; this one only holds the floor"})
		if p.Epoch.N < s.m.epoch.N {
			s.beat(false, false) // it does not know what counts here, and presses again when it does
		}
	}
	s.m.hold(holder{from, p.Epoch, "", s.m.now, s.m.now + s.m.cfg.Hold})
}

// epochHere tells that an epoch can be one of that device.
func (s *step) epochHere(from DeviceID, e Epoch, what string) bool {
	ok := s.m.sane(e) && e.Device == from
	if !ok {
		s.ignore(from, what, "no epoch that could be")
	}
	return ok
}

func (s *step) pressOver(from DeviceID, p PressOver) {
	if s.epochHere(from, p.Epoch, "PressOver") {
		s.m.pressDone(from, p.Epoch)
	}
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
		s.nextEpoch("words came")
		m.own.sounded = joins
		epoch = m.epoch
	}
	msg := Message{ID: e.ID, From: Human(m.cfg.Self), To: slices.Clone(e.To), Text: e.Text, Turn: e.Turn, Epoch: epoch, Number: 1}
	msg.Metadata = PersonMetadata(e.Text, s.m.joins(began))
	m.before = with(m.before, said{e.ID, m.now}, maxJoins)
	s.send(msg)
	if epoch.Before(m.epoch) {
		s.remember(msg)
		s.record(msg.Place(), Entry{Kind: EntrySuperseded, Message: &msg, Why: "a newer press here"})
		return
	}
	s.outcome(EntrySuperseded, "a newer message")
	m.own = own{message: msg, turn: e.Turn, open: true}
	s.accept(msg, m.cfg.Self)
}
