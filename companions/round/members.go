package round

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"conch/device/printable"
)

// linkChanged: without the broker only who lives here is in the room. With it a device listens first and asks, so that it
// knows who is there before it says who it brings (ROOM.md 2: a newcomer asks, members answer).
func (s *company) linkChanged(up bool) {
	m := &s.m
	if up == m.up {
		return
	}
	m.up = up
	if up {
		m.joining, m.askNext, m.asks = m.now+m.cfg.Join, m.now+m.cfg.Join, maxAsks
		m.nextBeat, m.cardsDue, m.told = m.now+m.cfg.Beat, false, nil
		s.beat(false, true)
		return
	}
	m.joining, m.askNext, m.asks, m.nextBeat, m.cardsDue, m.histories, m.met = 0, 0, 0, 0, false, nil, nil
	for len(m.members) > 0 {
		s.gone(m.members[0].Device, "the broker cannot be reached")
	}
	for _, h := range m.holders {
		if h.device != m.cfg.Self {
			s.m.letGo(h.device, h.epoch)
		}
	}
	if f := m.floor; f.state != floorFree && f.device != m.cfg.Self {
		m.floor = floor{}
		s.unanswered(f, "the broker cannot be reached")
	}
}

// presenceDue: beats, answers, and who has missed three beats.
func (s *company) presenceDue() {
	m := &s.m
	if !m.up {
		return
	}
	for _, x := range m.members {
		if m.passed(m.expiry(x)) {
			s.gone(x.Device, fmt.Sprintf("%d beats missed", m.cfg.Missed))
		}
	}
	if s.m.passed(m.joining) {
		m.joining = 0
		s.takePlace()
		s.clashes()
		s.beat(true, false)
		m.nextBeat = m.now + m.cfg.Beat
	}
	if s.m.passed(m.nextBeat) {
		s.beat(false, false)
		m.nextBeat = m.now + m.cfg.Beat
	}
	if m.cardsDue && s.m.passed(m.cardsAt+m.cfg.cardsGap()) {
		s.beat(true, false)
	}
	if s.m.passed(m.askNext) {
		m.asks--
		m.askNext = 0
		if m.asks > 0 {
			m.askNext = m.now + 2*m.cfg.Beat
		}
		if !m.Alone() {
			s.send(HistoryAsk{})
		}
	}
	for _, h := range m.histories {
		if m.passed(h.at) {
			s.tellHistory(h.to)
		}
	}
	m.histories = without(m.histories, func(h historyDue) bool { return m.passed(h.at) })
}

// beatHeard: somebody is here.
func (s *company) beatHeard(from DeviceID, b Beat) {
	m := &s.m
	if !m.up {
		s.ignore(from, "Beat", "the broker cannot be reached")
		return
	}
	if b.Left {
		s.gone(from, "it has left")
		return
	}
	b.Name = m.listed.called(from, b.Name)
	if s.m.member(from) == nil {
		if len(m.members)+1 >= maxDevices {
			s.ignore(from, "Beat", "the room is full")
			return
		}
		if m.joining == 0 && !s.m.mayChange(from) {
			s.ignore(from, "Beat", "it comes and goes too often")
			return
		}
		at, _ := s.m.memberAt(from)
		m.members = slices.Insert(slices.Clone(m.members), at, member{Member: Member{Device: from, Name: b.Name}})
		s.do(MembersChanged{s.m.nameOf(from) + " is here"})
		if b.Epoch == (Epoch{}) {
			s.begunAnew(from)
		}
	}
	s.m.editMember(from, func(x *member) {
		x.last, x.Name, x.Version = m.now, b.Name, max(b.Version, 1)
		x.Budget = min(max(b.Budget, 0), int(longestWait/time.Millisecond))
	})
	s.numbersTold(from, b)
	if b.Cards != nil {
		s.m.editMember(from, func(x *member) { x.Page = printable.PageOf(b.Page) })
		s.learnCards(from, b)
	}
	x := s.m.member(from)
	switch {
	case b.Ask && m.joining > 0: // two newcomers: it hears when this one announces itself
	case b.Ask && m.cardsAt > 0 && m.now-m.cardsAt < m.cfg.cardsGap():
		m.cardsDue = true
	case b.Ask:
		s.beat(true, false)
	}
	if b.Digest != "" && (!x.known || x.digest != b.Digest) && m.now-m.askedAt >= m.cfg.Beat/2 {
		s.beat(m.joining == 0, true)
	}
}

// learnCards takes in who lives on another device.
func (s *company) learnCards(from DeviceID, b Beat) {
	m := &s.m
	total := len(m.cards)
	for _, x := range m.members {
		if x.Device != from {
			total += len(x.told)
		}
	}
	var cards []Card
	for _, c := range b.Cards {
		switch {
		case c.ID == "" || Participant(c.ID).Human() || hasCard(cards, c.ID):
			s.ignore(from, "Beat", "a card without an id of its own")
		case len(cards) >= maxPerDevice || total+len(cards) >= maxCompanions:
			s.ignore(from, "Beat", "too many companions")
		default:
			cards = append(cards, c)
		}
	}
	x := s.m.member(from)
	if x.known && x.digest == b.Digest && digestOf(x.told) == digestOf(cards) {
		return
	}
	if !s.m.mayChange(from) {
		s.ignore(from, "Beat", "its companions change too often")
		return
	}
	verb := map[bool]string{false: " brings ", true: " has changed: "}[x.known]
	s.m.editMember(from, func(x *member) { x.told, x.digest, x.known = cards, b.Digest, true })
	s.sortOut()
	why := s.m.nameOf(from) + verb + cardList(cards)
	s.record(Place{}, Entry{Kind: EntryMember, By: from, Why: why})
	s.do(MembersChanged{why})
	for _, c := range cards {
		if c.Renamed != "" && c.Renamed != c.ID && hasCard(m.cards, c.Renamed) {
			s.meet(from, c.ID, fmt.Sprintf("two companions are called %s: the one at %s is %s in this room", c.Renamed, s.m.nameOf(from), c.ID))
		}
	}
	if m.joining == 0 {
		s.clashes()
	}
}

func cardList(cards []Card) string {
	return cmp.Or(strings.Join(each(cards, func(c Card) string { return string(c.ID) }), ", "), "nobody")
}

// gone: a device left, died, or froze. Its votes are not waited for, its claim and its hold are void.
func (s *company) gone(d DeviceID, why string) {
	m := &s.m
	if m.presser(d) != nil { // should it come again it may count anew
		s.m.editPresser(d, func(p *presser) { p.known = nil })
	}
	i, ok := s.m.memberAt(d)
	if !ok {
		s.m.letGo(d, Epoch{N: maxEpoch, Device: d})
		return
	}
	text := s.m.nameOf(d) + " is gone: " + why
	r := &m.rd
	next, lost := s.m.candidate()
	lost = lost && r.open && r.decided && !r.over && s.m.seatOf(next) == d
	for _, c := range m.members[i].Cards {
		m.away = with(without(m.away, func(o Card) bool { return o.ID == c.ID }), c, maxPerDevice)
	}
	m.members = slices.Delete(slices.Clone(m.members), i, i+1)
	s.sortOut()
	s.m.letGo(d, Epoch{N: maxEpoch, Device: d})
	s.record(Place{}, Entry{Kind: EntryMember, By: d, Why: text})
	s.do(MembersChanged{text})
	if f := m.floor; f.state != floorFree && f.device == d {
		m.floor = floor{}
		s.unanswered(f, "its device is gone: "+why)
	}
	if lost && !slices.Contains(r.tried, next) { // it dies before it has claimed: the substitution has a reason too (ROOM.md 3.5)
		s.failed(r.place, next, "its device is gone: "+why)
	}
	if s.m.seatOf(r.candidate) == d {
		r.expect = 0
	}
}

// cardsChanged: other companions live here now. Names taken in this room are kept.
func (s *company) cardsChanged(cards []Card) {
	m := &s.m
	var list []Card
	for _, c := range cards {
		if c.ID == "" || Participant(c.ID).Human() || hasCard(list, c.ID) || len(list) >= maxPerDevice {
			s.ignore("", "CardsChanged", "a card without an id of its own, or too many")
			continue
		}
		list = append(list, c)
	}
	m.cfg.Cards = slices.Clone(list)
	for i, c := range list {
		for _, old := range m.cards {
			if old.Renamed == c.ID {
				list[i].ID, list[i].Name, list[i].Renamed, list[i].Aliases = old.ID, old.Name, old.Renamed, s.m.freeAliases(c)
			}
		}
	}
	m.cards, m.digest = list, digestOf(list)
	s.sortOut()
	s.do(MembersChanged{"the companions here have changed"})
	if m.joining == 0 {
		s.clashes()
	}
	s.beat(true, false)
}
