package round

import (
	"time"

	"conch/companions/round/because"
	"conch/device/printable"
)

// farAhead keeps sums of times from overflowing, whatever a fact says.
const farAhead = 1 << 60

func (s *orders) do(e Effect) { s.out = append(s.out, e) }

// send tells the others, if they can be reached.
func (s *orders) send(p Packet) {
	if s.m.up {
		s.do(Send{p})
	}
}

// record writes an entry of the ledger, if not too many are the same other device's doing.
func (s *orders) record(at Place, e Entry) {
	if e.By != "" && e.By != s.m.cfg.Self && !s.m.mayWrite(e.By) {
		s.ignore(e.By, "Entry", "too much in the ledger is its doing")
		return
	}
	s.write(at, e)
}

// write is an entry of the ledger; of a place that names nothing there is none.
func (s *orders) write(at Place, e Entry) {
	if at != (Place{}) {
		e.Place = &at
	}
	e.AtMS, e.Device = float64(s.m.now+s.m.stood)/float64(time.Millisecond), s.m.cfg.Self
	s.do(Record{e})
}

// ignore reports what changes nothing. What names the thing, why is one of a few sentences: it is counted by them.
func (s *orders) ignore(from DeviceID, what, why string) { s.do(Ignored{from, what, why}) }

// clock takes the time of a fact. Where a deadline has passed by more than Margin nobody came to look, and the device stood still: a
// busy machine, SIGSTOP. The machine's time stands with it, so that what others sent meanwhile (beats, votes) is heard before it is
// missed. The others' time does not: to them it is gone after three beats, and back with the beat that it sends at once.
func (s *orders) clock(at time.Duration) {
	m := &s.m
	at = min(at, farAhead) - m.stood
	if due, ok := m.due(); ok {
		if late := at - max(due, m.now); late > m.cfg.Margin {
			m.stood += late
			at -= late
			m.nextBeat = min(m.nextBeat, at)
		}
	}
	m.now = max(m.now, at)
}

// outcome records what became of the person's message: once (I2).
func (s *orders) outcome(kind EntryKind, why string) {
	o := &s.m.own
	if !o.open {
		return
	}
	if o.sounded {
		kind = EntryAnswered
	}
	o.open = false
	msg := o.message
	s.record(msg.Place(), Entry{Kind: kind, Message: &msg, Why: why, Because: s.endedBy(kind, why)})
}

// endedBy is why a person's message ended without an answer, for people.
func (s *orders) endedBy(kind EntryKind, why string) because.Reason {
	d := s.m.rd.decision
	switch {
	case kind == EntrySuperseded:
		return because.Of("newer")
	case kind != EntrySilent:
		return ""
	case why == d.Reason:
		return d.Because
	}
	return because.Of("left_nobody")
}

// lose tells the button's live turn that no answer comes from here.
func (s *orders) lose(why string) {
	if o := &s.m.own; o.turn != "" {
		s.do(Lost{o.turn, why})
		o.turn = ""
	}
}

// failed: c had the floor, or was to take it, and nothing came of it. The next one takes over (ROOM.md 3.5).
func (s *orders) failed(place Place, c CompanionID, why string) {
	r := &s.m.rd
	reason := because.Of("no_claim")
	if seat := s.m.seatOf(c); seat != "" && !s.m.present(seat) {
		reason = because.Of("gone")
	}
	s.record(place, Entry{Kind: EntryFailed, Companion: c, Why: why, Because: reason})
	if r.open && r.place == place && r.try(c) {
		r.expect, r.why = 0, string(c)+": "+why
	}
}

func (m *Machine) beat(ask bool) Beat {
	b := Beat{
		Name: m.cfg.Name, Version: Version, Digest: m.digest, Budget: int(m.cfg.VoteBudget / time.Millisecond),
		Epoch: m.epoch, Turns: m.turns, Room: m.setting, Ask: ask, Silenced: m.silenced,
	}
	if m.joining > 0 {
		b.Digest = ""
	}
	return b
}

// beat says that this device is here.
func (s *orders) beat(cards, ask bool) {
	m := &s.m
	if !m.up {
		return
	}
	b := m.beat(ask)
	if cards && m.joining <= 0 {
		b.Cards, b.Page = append([]Card{}, m.cards...), printable.PageOf(m.cfg.Page)
		m.cardsAt, m.cardsDue = m.now, false
	}
	if ask {
		m.askedAt = m.now
	}
	s.send(b)
}
