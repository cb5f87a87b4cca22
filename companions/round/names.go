package round

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
)

// clashes: two companions with one id. The one that joins later renames itself; where both are there, as after a network in
// two halves has healed, the one of the higher device (ROOM.md: both are told, they are never merged silently).
func (s *company) clashes() {
	m := &s.m
	newcomer := m.cardsAt == 0
	for i := range m.cards {
		id := m.cards[i].ID
		for _, x := range m.members {
			if !hasCard(x.Cards, id) {
				continue
			}
			if !newcomer && m.cfg.Self < x.Device {
				s.meet(x.Device, id, fmt.Sprintf("two companions are called %s; the one at %s has to take another name", id, s.m.nameOf(x.Device)))
				break
			}
			s.rename(i, x.Device)
			break
		}
	}
}

// meet tells once of two companions with one id: both are told.
func (s *company) meet(other DeviceID, id CompanionID, why string) {
	if m := &s.m; !slices.Contains(m.met, id) && len(m.met) < maxCompanions {
		m.met = append(slices.Clip(m.met), id)
		s.record(Place{}, Entry{Kind: EntryMember, By: other, Companion: id, Why: why})
	}
}

func (s *company) rename(i int, other DeviceID) {
	m := &s.m
	old := m.cards[i]
	file := cmp.Or(old.Renamed, old.ID)
	name := old.Name
	if i := slices.IndexFunc(m.cfg.Cards, func(c Card) bool { return c.ID == file }); i >= 0 {
		name = m.cfg.Cards[i].Name
	}
	all := s.m.allCards()
	n, to := 1, file
	for n == 1 || hasCard(all, to) {
		n++
		to = CompanionID(string(file) + "-" + strconv.Itoa(n))
	}
	m.cards = slices.Clone(m.cards)
	m.cards[i].ID, m.cards[i].Name, m.cards[i].Renamed = to, name+" "+strconv.Itoa(n), file
	m.digest = digestOf(m.cards)
	why := fmt.Sprintf("%s already has a companion called %s", s.m.nameOf(other), old.ID)
	s.record(Place{}, Entry{Kind: EntryMember, By: m.cfg.Self, Companion: to, Why: fmt.Sprintf("%s is %s in this room: %s", file, to, why)})
	s.do(Rename{Card: file, To: to, Name: m.cards[i].Name, Why: why})
	s.do(MembersChanged{why})
	if m.cardsAt > 0 {
		s.beat(true, false)
	}
}
