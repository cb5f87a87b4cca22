package round

import (
	"slices"
	"time"
)

// The numbers that devices have in common (of epochs, of the room's setting, of companion turns) move by small steps. A device that counts
// elsewhere than the others goes where the room is, as soon as nothing is under way: by how many are there, not by who counts highest.

// busy tells that a person or a companion has the floor, or is about to, or that an answer is made unheard.
func (m *Machine) busy() bool {
	r := &m.rd
	unheard := slices.ContainsFunc(m.stakes, func(k stake) bool { return k.hushed })
	return len(m.holders) > 0 || m.floor.state != floorFree || r.open && !r.over || m.silence > 0 || m.joining > 0 || unheard
}

// numbersTold takes what a beat says of numbers.
func (s *company) numbersTold(from DeviceID, b Beat) {
	m := &s.m
	s.m.editMember(from, func(x *member) { x.epoch, x.turns, x.setting = b.Epoch, b.Turns, b.Room })
	if b.Turns > m.turns && apart(b.Turns, m.turns) <= maxAhead {
		m.turns = b.Turns
	}
	if m.setting.olderThan(b.Room) && apart(b.Room.N, m.setting.N) <= maxAhead && b.Room.good() && s.mayTurn(from, "Beat") {
		m.setting = b.Room
	}
	s.epochTold(from, b.Epoch)
	s.takePlace()
}

// begunAnew: a device that has come counts nothing. It has forgotten its presses, and will use their numbers again.
func (s *company) begunAnew(from DeviceID) {
	if s.m.presser(from) != nil { // copies of old ones may have come since it was gone
		s.m.editPresser(from, func(p *presser) { p.known, p.said = nil, Epoch{} })
	}
	s.m.minted = s.m.minted || s.m.epoch.Device == from
}

// epochTold: a beat tells of a press of its sender that was missed. Presses of others it tells of hush nobody.
func (s *company) epochTold(from DeviceID, e Epoch) {
	m := &s.m
	if s.m.near(e) {
		m.top = max(m.top, e.N)
	}
	switch x := s.m.member(from); {
	case !sane(e) || !m.epoch.Before(e):
	case !s.m.near(e):
		s.climb(x, e)
	case e.Device == from && s.m.meet(from, e) && s.heeds(from):
		s.starve(from)
		s.adopt(e, "a person pressed elsewhere (told by "+s.m.nameOf(from)+")", true) // no round need be under way: a book sounds without one
		s.m.silenced = e
	case !s.m.busy():
		s.adopt(e, "", false)
	}
}

// climb lets the finger here press again where x counts, which has version 1 and hears no press that is behind it.
func (s *company) climb(x *member, e Epoch) {
	m := &s.m
	h, held := s.m.holding(m.cfg.Self)
	if !held || h.epoch != m.epoch || x.Version > 1 || e.N > m.epoch.N+maxOld || x.climbed > 0 && m.now-x.climbed < time.Minute {
		return
	}
	s.m.editMember(x.Device, func(x *member) { x.climbed = m.now })
	s.adopt(e, "", false)
	s.nextEpoch("a press here, where "+s.m.nameOf(x.Device)+" counts", false)
	s.m.hold(holder{h.device, m.epoch, h.turn, h.since, h.until})
}

// takePlace goes where most of the room count, if that is elsewhere and nothing is under way.
func (s *company) takePlace() {
	m := &s.m
	if m.joining > 0 {
		return
	}
	if x, ok := s.m.astray(m.turns, func(x *member) uint64 { return x.turns }); ok {
		m.turns = x.turns
		m.spoke = each(m.spoke, func(k spoke) spoke { return spoke{k.id, min(k.turn, m.turns)} })
	}
	if x, ok := s.m.astray(m.setting.N, func(x *member) uint64 { return x.setting.N }); ok && x.setting.good() {
		m.setting = x.setting
	}
	x, ok := s.m.astray(m.epoch.N, func(x *member) uint64 { return x.epoch.N })
	if !ok || !sane(x.epoch) || s.m.busy() {
		return
	}
	m.recent = each(m.recent, func(msg Message) Message { // what is said from now on comes after it
		msg.Epoch.N = min(msg.Epoch.N, x.epoch.N)
		return msg
	})
	m.early, m.top = nil, 0
	s.adopt(x.epoch, "", false)
}

// astray tells that most of the room count elsewhere than this device with mine, and gives one of them: of the groups that agree within
// maxAhead the largest counts, of two equal ones that with the longest member. This device belongs to
// none while it counts nothing.
func (m *Machine) astray(mine uint64, told func(*member) uint64) (x *member, ok bool) {
	if !slices.ContainsFunc(m.members, func(x member) bool { return apart(told(&x), mine) > maxAhead }) {
		return nil, false
	}
	best, most := m.cfg.Self, 0
	consider := func(d DeviceID, n uint64, who *member) {
		if n > maxFollow && who != nil {
			return
		}
		size := 0
		if mine > 0 && apart(mine, n) <= maxAhead {
			size++
		}
		for i := range m.members {
			if apart(told(&m.members[i]), n) <= maxAhead {
				size++
			}
		}
		if size > most || size == most && m.listed.senior(d, best) {
			best, most, x = d, size, who
		}
	}
	if mine > 0 {
		consider(m.cfg.Self, mine, nil)
	}
	for i := range m.members {
		consider(m.members[i].Device, told(&m.members[i]), &m.members[i])
	}
	return x, x != nil && apart(told(x), mine) > maxAhead
}
