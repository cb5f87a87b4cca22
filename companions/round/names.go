package round

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"conch/companions/words"
)

// membersListed: the list says how devices are called, whatever they say themselves.
func (s *company) membersListed(list []Listed) {
	m := &s.m
	list = slices.Clone(list[:min(len(list), maxDevices)])
	if slices.Equal(list, m.listed) {
		return
	}
	m.listed = list
	m.cfg.Name = m.listed.called(m.cfg.Self, m.cfg.Name)
	m.members = slices.Clone(m.members)
	for i := range m.members {
		m.members[i].Name = m.listed.called(m.members[i].Device, m.members[i].Name)
	}
	s.do(MembersChanged{"the list of members has changed"})
	s.sortOut()
	if m.joining == 0 {
		s.clashes()
	}
}

// freeAliases are those of a card of this device that nobody elsewhere is called by.
func (m *Machine) freeAliases(c Card) []string {
	return without(c.Aliases, func(a string) bool {
		return slices.ContainsFunc(m.members, func(x member) bool { return slices.ContainsFunc(x.Cards, func(o Card) bool { return o.answers(a) }) })
	})
}

// sortOut decides whose a name is that two companions bear, in the order in which their devices became members: of a later one that does
// not call itself otherwise nothing is taken in under it, and an alias it loses. (Its own device gives it another name: clashes.)
func (s *company) sortOut() {
	m := &s.m
	order := []DeviceID{m.cfg.Self}
	for _, x := range m.members {
		order = append(order, x.Device)
	}
	slices.SortFunc(order, func(a, b DeviceID) int { return map[bool]int{true: -1, false: 1}[m.listed.senior(a, b)] })
	m.members = slices.Clone(m.members)
	var taken []Card
	for _, d := range order {
		x := s.m.member(d)
		if x == nil {
			taken = append(taken, m.cards...)
			continue
		}
		had := x.Cards
		x.Cards = []Card{}
		for _, c := range x.told {
			if !slices.ContainsFunc(taken, c.clashes) {
				c.Aliases = without(c.Aliases, func(a string) bool { return slices.ContainsFunc(taken, func(o Card) bool { return o.answers(a) }) })
				x.Cards = append(x.Cards, c)
			}
		}
		taken = append(taken, x.Cards...)
		for _, c := range had {
			if !hasCard(x.Cards, c.ID) {
				x.former = with(x.former, former{c.ID, m.now + forget}, maxPerDevice)
			}
		}
	}
}

// answers tells that people call c so, as far as one hears or sees.
func (c Card) answers(name string) bool {
	same := func(s string) bool { return words.Heard(s) == words.Heard(name) }
	return same(c.Name) || same(string(c.ID)) || slices.ContainsFunc(c.Aliases, same)
}

// clashes tells that o bears c's id or its name.
func (c Card) clashes(o Card) bool {
	return c.ID == o.ID || o.answers(c.Name) || o.answers(string(c.ID))
}

// clashes: two companions with one id or one name. Where a list says who has been a member for longer the other one renames itself; else
// the one that joins later or, as after a network in two halves has healed, that of the higher device (ROOM.md: both are told, they are
// never merged silently).
func (s *company) clashes() {
	m := &s.m
	newcomer := m.cardsAt == 0 && len(m.listed) == 0
	for i := range m.cards {
		for _, x := range m.members {
			told := x.told
			if !newcomer && s.m.listed.senior(x.Device, m.cfg.Self) {
				told = x.Cards
			}
			at := slices.IndexFunc(told, m.cards[i].clashes)
			if at < 0 {
				continue
			}
			id := told[at].ID
			if !newcomer && s.m.listed.senior(m.cfg.Self, x.Device) {
				s.meet(x.Device, id, fmt.Sprintf("two companions are called %s; the one at %s has to take another name", id, s.m.nameOf(x.Device)))
				continue
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
	for n == 1 || slices.ContainsFunc(all, func(o Card) bool { return o.ID == to || o.answers(name+" "+strconv.Itoa(n)) }) {
		n++
		to = CompanionID(string(file) + "-" + strconv.Itoa(n))
	}
	m.cards = slices.Clone(m.cards)
	m.cards[i].ID, m.cards[i].Name, m.cards[i].Renamed = to, name+" "+strconv.Itoa(n), file
	m.cards[i].Aliases = s.m.freeAliases(m.cards[i])
	m.digest = digestOf(m.cards)
	s.sortOut()
	why := fmt.Sprintf("%s already has a companion called %s", s.m.nameOf(other), old.ID)
	s.record(Place{}, Entry{Kind: EntryMember, By: m.cfg.Self, Companion: to, Why: fmt.Sprintf("%s is %s in this room: %s", file, to, why)})
	s.do(Rename{Card: file, To: to, Name: m.cards[i].Name, Why: why})
	s.do(MembersChanged{why})
	if m.cardsAt > 0 {
		s.beat(true, false)
	}
}

// roll is the list of members, the oldest member first; empty: there is no list.
type roll []Listed

// rank is how many members are older than d; a device that is not listed comes behind all of them.
func (l roll) rank(d DeviceID) int {
	i := slices.IndexFunc(l, func(x Listed) bool { return x.Device == d })
	if i < 0 {
		return len(l)
	}
	return i
}

// senior tells that a has been a member for longer than b; where no list says that, by id.
func (l roll) senior(a, b DeviceID) bool {
	return cmp.Or(cmp.Compare(l.rank(a), l.rank(b)), cmp.Compare(a, b)) < 0
}

// called is the name of a device: that of the list, else the one it gives, unless the list gives that to another device.
func (l roll) called(d DeviceID, name string) string {
	if i := l.rank(d); i < len(l) {
		return l[i].Name
	}
	if slices.ContainsFunc(l, func(x Listed) bool { return strings.EqualFold(x.Name, name) }) {
		return string(d)
	}
	return name
}
