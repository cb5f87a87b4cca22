package round

import (
	"fmt"
	"slices"
	"time"
)

func hasCard(cards []Card, id CompanionID) bool {
	return slices.ContainsFunc(cards, func(c Card) bool { return c.ID == id })
}

// member is the other device d, nil if it is not here. Not to be written through: see editMember.
func (s *step) member(d DeviceID) *member {
	if i, ok := s.memberAt(d); ok {
		return &s.m.members[i]
	}
	return nil
}

func (s *step) memberAt(d DeviceID) (int, bool) {
	return slices.BinarySearchFunc(s.m.members, d, func(x member, d DeviceID) int { return compareDevices(x.Device, d) })
}

func (s *step) editMember(d DeviceID, f func(*member)) {
	if i, ok := s.memberAt(d); ok {
		s.m.members = slices.Clone(s.m.members)
		f(&s.m.members[i])
	}
}

func (s *step) present(d DeviceID) bool { return d == s.m.cfg.Self || d != "" && s.member(d) != nil }

func (s *step) nameOf(d DeviceID) string {
	if x := s.member(d); x != nil && x.Name != "" {
		return x.Name
	}
	if d == s.m.cfg.Self {
		return s.m.cfg.Name
	}
	return string(d)
}

// livesOn tells that nothing says c lives elsewhere: it is on d's card, or d's cards have not come and nobody else has it.
func (s *step) livesOn(c CompanionID, d DeviceID) bool {
	if c == "" || Participant(c).Human() {
		return false
	}
	x := s.member(d)
	if x != nil && hasCard(x.Cards, c) {
		return true
	}
	if x != nil && x.known || hasCard(s.m.cards, c) {
		return false
	}
	return !slices.ContainsFunc(s.m.members, func(x member) bool { return hasCard(x.Cards, c) })
}

func (s *step) allCards() []Card {
	all := slices.Clone(s.m.cards)
	for _, x := range s.m.members {
		all = append(all, x.Cards...)
	}
	return all
}

// expiry is when a member that sends no more beats is gone: the last of those it may miss is overdue by half a beat, so that
// one late and two lost beats are no death.
func (m *Machine) expiry(x member) time.Duration {
	return x.last + time.Duration(m.cfg.Missed)*m.cfg.Beat + m.cfg.Beat/2
}

// linkChanged: without the broker only who lives here is in the room. With it a device listens first and asks, so that it
// knows who is there before it says who it brings (ROOM.md 2: a newcomer asks, members answer).
func (s *step) linkChanged(up bool) {
	m := &s.m
	if up == m.up {
		return
	}
	m.up = up
	if up {
		m.joining, m.askNext, m.asks = m.now+m.cfg.Join, m.now+m.cfg.Join, maxAsks
		m.nextBeat, m.cardsDue = m.now+m.cfg.Beat, false
		s.beat(false, true)
		return
	}
	m.joining, m.askNext, m.asks, m.nextBeat, m.cardsDue, m.histories, m.met = 0, 0, 0, 0, false, nil, nil
	for len(m.members) > 0 {
		s.gone(m.members[0].Device, "the broker cannot be reached")
	}
	for _, h := range m.holders {
		if h.device != m.cfg.Self {
			s.letGo(h.device, h.epoch)
		}
	}
	if f := m.floor; f.state != floorFree && f.device != m.cfg.Self {
		m.floor = floor{}
		s.unanswered(f, "the broker cannot be reached")
	}
}

// beat says that this device is here.
func (s *step) beat(cards, ask bool) {
	m := &s.m
	if !m.up {
		return
	}
	b := Beat{
		Name: m.cfg.Name, Digest: m.digest, Budget: int(m.cfg.VoteBudget / time.Millisecond),
		Epoch: m.epoch, Turns: m.turns, Room: m.setting, Ask: ask,
	}
	if m.joining > 0 {
		b.Digest, cards = "", false
	}
	if cards {
		b.Cards = append([]Card{}, m.cards...)
		m.cardsAt, m.cardsDue = m.now, false
	}
	if ask {
		m.askedAt = m.now
	}
	s.send(b)
}

// presenceDue: beats, answers, and who has missed three beats.
func (s *step) presenceDue() {
	m := &s.m
	if !m.up {
		return
	}
	for i := 0; i < len(m.members); i++ {
		if x := m.members[i]; s.due(m.expiry(x)) {
			s.gone(x.Device, fmt.Sprintf("%d beats missed", m.cfg.Missed))
			i--
		}
	}
	if s.due(m.joining) {
		m.joining = 0
		s.clashes()
		s.beat(true, false)
		m.nextBeat = m.now + m.cfg.Beat
	}
	if s.due(m.nextBeat) {
		s.beat(false, false)
		m.nextBeat = m.now + m.cfg.Beat
	}
	if m.cardsDue && s.due(m.cardsAt+m.cfg.cardsGap()) {
		s.beat(true, false)
	}
	if s.due(m.askNext) {
		m.asks--
		m.askNext = 0
		if m.asks > 0 {
			m.askNext = m.now + 2*m.cfg.Beat
		}
		if !m.Alone() {
			s.send(HistoryAsk{})
		}
	}
	for i := 0; i < len(m.histories); i++ {
		if h := m.histories[i]; s.due(h.at) {
			m.histories = slices.Delete(slices.Clone(m.histories), i, i+1)
			s.tellHistory(h.to)
			i--
		}
	}
}

// beatHeard: somebody is here.
func (s *step) beatHeard(from DeviceID, b Beat) {
	m := &s.m
	if !m.up {
		s.ignore(from, "Beat", "the broker cannot be reached")
		return
	}
	if b.Left {
		s.gone(from, "it has left")
		return
	}
	if s.member(from) == nil {
		if len(m.members)+1 >= maxDevices {
			s.ignore(from, "Beat", "the room is full")
			return
		}
		at, _ := s.memberAt(from)
		m.members = slices.Insert(slices.Clone(m.members), at, member{Member: Member{Device: from, Name: b.Name}})
		s.do(MembersChanged{s.nameOf(from) + " is here"})
	}
	s.editMember(from, func(x *member) {
		x.last, x.Name, x.Budget = m.now, b.Name, min(max(b.Budget, 0), int(longestWait/time.Millisecond))
	})
	m.turns = max(m.turns, min(b.Turns, maxEpoch))
	if m.setting.before(b.Room) && b.Room.N <= maxEpoch {
		m.setting = b.Room
	}
	s.learnEpoch(from, b.Epoch)
	if b.Cards != nil {
		s.learnCards(from, b)
	}
	x := s.member(from)
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

// learnEpoch: a beat tells of presses that were missed, and a newcomer from when to count.
func (s *step) learnEpoch(from DeviceID, e Epoch) {
	m := &s.m
	if !s.sane(e) || !m.epoch.Before(e) {
		return
	}
	h, held := s.holding(m.cfg.Self)
	held = held && h.epoch == m.epoch
	busy := m.rd.open && !m.rd.over || m.floor.state != floorFree
	s.adopt(e, "a person pressed elsewhere (told by "+s.nameOf(from)+")", busy)
	if held { // the finger here is newer than what everybody knows: it counts again
		s.nextEpoch("a press here, in a room that counted further")
		s.hold(holder{h.device, m.epoch, h.turn, h.since, h.until})
	}
}

// learnCards takes in who lives on another device.
func (s *step) learnCards(from DeviceID, b Beat) {
	m := &s.m
	total := len(m.cards)
	for _, x := range m.members {
		if x.Device != from {
			total += len(x.Cards)
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
	x := s.member(from)
	if x.known && x.digest == b.Digest && slices.EqualFunc(x.Cards, cards, sameCard) {
		return
	}
	was := x.known
	s.editMember(from, func(x *member) { x.Cards, x.digest, x.known = cards, b.Digest, true })
	why := s.nameOf(from) + " brings " + list(cards)
	if was {
		why = s.nameOf(from) + " has changed: " + list(cards)
	}
	s.record(Entry{Kind: EntryMember, By: from, Why: why})
	s.do(MembersChanged{why})
	for _, c := range cards { // both are told
		if c.Renamed != "" && c.Renamed != c.ID && hasCard(m.cards, c.Renamed) && !slices.Contains(m.met, c.ID) && len(m.met) < maxCompanions {
			m.met = append(slices.Clip(m.met), c.ID)
			s.record(Entry{Kind: EntryMember, By: from, Companion: c.ID, Why: fmt.Sprintf("two companions are called %s: the one at %s is %s in this room", c.Renamed, s.nameOf(from), c.ID)})
		}
	}
	if m.joining == 0 {
		s.clashes()
	}
}

func list(cards []Card) string {
	if len(cards) == 0 {
		return "nobody"
	}
	text := ""
	for i, c := range cards {
		if i > 0 {
			text += ", "
		}
		text += string(c.ID)
	}
	return text
}

// gone: a device left, died, or froze. Its votes are not waited for, its claim and its hold are void.
func (s *step) gone(d DeviceID, why string) {
	m := &s.m
	i, ok := s.memberAt(d)
	if !ok {
		s.letGo(d, Epoch{N: maxEpoch, Device: d})
		return
	}
	name := s.nameOf(d)
	r := &m.rd
	next, lost := s.candidate()
	lost = lost && r.open && r.decided && !r.over && s.seatOf(next) == d
	m.members = slices.Delete(slices.Clone(m.members), i, i+1)
	s.letGo(d, Epoch{N: maxEpoch, Device: d})
	s.record(Entry{Kind: EntryMember, By: d, Why: name + " is gone: " + why})
	s.do(MembersChanged{name + " is gone: " + why})
	if f := m.floor; f.state != floorFree && f.device == d {
		m.floor = floor{}
		s.unanswered(f, "its device is gone: "+why)
	}
	if lost && !slices.Contains(r.tried, next) { // it dies before it has claimed: the substitution has a reason too (ROOM.md 3.5)
		s.failed(r.place, next, "its device is gone: "+why)
	}
	if s.seatOf(r.candidate) == d {
		r.expect = 0
	}
}

// cardsChanged: other companions live here now. Names taken in this room are kept.
func (s *step) cardsChanged(cards []Card) {
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
				list[i].ID, list[i].Name, list[i].Renamed = old.ID, old.Name, old.Renamed
			}
		}
	}
	m.cards, m.digest = list, digestOf(list)
	s.do(MembersChanged{"the companions here have changed"})
	if m.joining == 0 {
		s.clashes()
	}
	s.beat(true, false)
}
