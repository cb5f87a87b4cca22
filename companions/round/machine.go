package round

import (
	"cmp"
	"slices"
	"time"

	"conch/device/printable"
)

// Wake is the time of the next deadline of any kind. The driver keeps one timer, set to it, and then gives a Tick.
func (m Machine) Wake() (at time.Duration, ok bool) {
	at, ok = m.due()
	return at + m.stood, ok
}

func (m *Machine) due() (at time.Duration, ok bool) {
	see := func(times ...time.Duration) {
		for _, t := range times {
			if t > 0 && (!ok || t < at) {
				at, ok = t, true
			}
		}
	}
	if m.up {
		see(m.joining, m.nextBeat, m.askNext)
		if m.cardsDue {
			see(m.cardsAt + m.cfg.cardsGap())
		}
		for _, x := range m.members {
			see(m.expiry(x))
		}
		for _, h := range m.histories {
			see(h.at)
		}
	}
	for _, h := range m.holders {
		see(h.until)
	}
	for _, p := range m.pressers {
		see(p.until)
		see(p.takes)
		see(p.turns)
	}
	if r := &m.rd; r.open {
		see(r.grace, r.expect)
		if !r.decided {
			see(r.deadline, r.refine)
		}
		if m.floor.state == floorFree {
			see(r.silentAt)
		}
	}
	for _, k := range m.stakes {
		see(k.due, k.limit)
	}
	see(m.floor.until, m.prepareAt(), m.silence)
	return at, ok
}

// passed tells that a time has come, and 0 is none.
func (m *Machine) passed(at time.Duration) bool { return at > 0 && m.now >= at }

// prepareAt is when the winner here may get ready for the floor that another answer still has; 0: not yet known, or nobody.
func (m *Machine) prepareAt() time.Duration {
	r, f := &m.rd, &m.floor
	if !r.open || !r.decided || r.over || r.unready || f.state != floorSounding || f.ends == 0 || f.place == r.place || len(m.holders) > 0 || m.now < r.grace {
		return 0
	}
	c, ok := m.candidate()
	if !ok || m.seatOf(c) != m.cfg.Self || m.stake(r.place, c) >= 0 {
		return 0
	}
	return max(f.ends-m.cfg.Prepare, 1)
}

// Members are the devices present, this one included, sorted.
func (m Machine) Members() []Member {
	all := each(m.members, func(x member) Member { return x.Member })
	self := Member{
		Device: m.cfg.Self, Name: m.cfg.Name, Version: Version, Budget: int(m.cfg.VoteBudget / time.Millisecond), Cards: m.cards,
		Page: printable.PageOf(m.cfg.Page),
	}
	at, _ := slices.BinarySearchFunc(all, self, func(a, b Member) int { return cmp.Compare(a.Device, b.Device) })
	return slices.Insert(all, at, self)
}

// Alone tells that no other device is here.
func (m Machine) Alone() bool { return len(m.members) == 0 }

// Epoch is the one that counts here.
func (m Machine) Epoch() Epoch { return m.epoch }

// Floor is who has the floor: a companion or a person; empty: nobody. Sounding tells a speaker from somebody about to speak.
func (m Machine) Floor() (who Participant, sounding bool) {
	if len(m.holders) > 0 {
		return Human(m.holders[0].device), true
	}
	return Participant(m.floor.companion), m.floor.state == floorSounding // a free one is nobody's
}

// Taken tells that somebody speaks, is about to, or is being chosen: whoever is not part of the conversation waits.
func (m Machine) Taken() bool {
	r := &m.rd
	return len(m.holders) > 0 || m.floor.state != floorFree || r.open && !r.over && (!r.decided || r.decision.Winner != "")
}

// Setting is that of the whole room.
func (m Machine) Setting() Setting { return m.setting }
