package round

import (
	"slices"
	"time"
)

// presser is what is known of the presses of another device. It outlasts the device's presence: who comes back is counted on.
type presser struct {
	device DeviceID
	known  []Epoch       // the newest, as it numbers them: every press comes twice
	said   Epoch         // its person's newest message is of it, as it numbers
	short  time.Duration // when what has come by now would be through at Config.Presses a minute, three times as fast
	long   time.Duration // ... at Config.Presses a minute
	told   time.Duration // ... of presses of others, at maxTold a minute
	cards  time.Duration // ... of changes of its companions, at maxChanges a minute
	lines  time.Duration // ... of lines in the ledger that are its doing, at maxLines a minute
	held   time.Duration // when its holds of the floor will have been followed by as much time again
	until  time.Duration // its presses do not count before; 0: they do
	lost   bool          // its newest press did not count

	taken   time.Duration // ... of what it has taken from companions here that were called
	robbed  MessageID     // the last one that they were called by
	refused bool          // ... and it is not to have the floor
	takes   time.Duration // it takes the floor without end, until this time; 0: it does not

	turned time.Duration // ... of what it has turned of others' manners, at maxTurned a minute
	turns  time.Duration // it turns them without end, until this time; 0: it does not

	ended   int           // of what was under way here, by its presses (starve)
	strikes int           // times in a row that its presses were put off for that
	struck  time.Duration // when, last
}

const (
	pressWindow  = 10 * time.Second // a third of Config.Presses count in it
	pressesApart = time.Minute      // how long those of a device do not count that presses without end
	maxTold      = 30               // presses of others that a device can tell of in a minute, where they have not been heard
	maxChanges   = 60               // of the companions of a device, in a minute
	maxLines     = 600              // in the ledger that are another device's doing, in a minute
	maxKnown     = 8
)

// through tells that one more may pass, of n in a window; at is where the window stands.
func through(at *time.Duration, now, window time.Duration, n int) bool {
	next := max(*at, now) + window/time.Duration(max(n, 1))
	if next-now > window {
		*at = now + window
		return false
	}
	*at = next
	return true
}

func (m *Machine) presser(d DeviceID) *presser {
	if i := slices.IndexFunc(m.pressers, func(p presser) bool { return p.device == d }); i >= 0 {
		return &m.pressers[i]
	}
	return nil
}

// editPresser changes what is known of a device's presses. At the bound the one is let go of that has counted for longest.
func (m *Machine) editPresser(d DeviceID, f func(*presser)) {
	m.pressers = slices.Clone(m.pressers)
	p := m.presser(d)
	if p == nil {
		if len(m.pressers) >= maxHolders {
			i := max(0, slices.IndexFunc(m.pressers, func(p presser) bool { return p.until == 0 && p.takes == 0 && p.turns == 0 }))
			m.pressers = slices.Delete(m.pressers, i, i+1)
		}
		m.pressers = append(m.pressers, presser{device: d})
		p = &m.pressers[len(m.pressers)-1]
	}
	f(p)
}

// meet notes a press of a device as it numbers it; false: it was known.
func (m *Machine) meet(d DeviceID, e Epoch) bool {
	if p := m.presser(d); p != nil && slices.Contains(p.known, e) {
		return false
	}
	m.editPresser(d, func(p *presser) { p.known = with(p.known, e, maxKnown) })
	return true
}

// overtaken tells that a press of d is known that d numbers a little higher than e: what comes of e now is late, and silences nobody.
func overtaken(m *Machine, d DeviceID, e Epoch) bool {
	p := m.presser(d)
	return p != nil && !slices.Contains(p.known, e) && slices.ContainsFunc(p.known, func(x Epoch) bool {
		return x.Device == e.Device && x.N > e.N && x.N-e.N <= maxAhead
	})
}

// counted tells that the newest press of d that is known here counted.
func (m *Machine) counted(d DeviceID) bool {
	p := m.presser(d)
	return d == m.cfg.Self || p != nil && len(p.known) > 0 && !p.lost
}

// mayTell tells that a device may tell of one more press of others. Where its own do not count, neither do they.
func (m *Machine) mayTell(d DeviceID) (ok bool) {
	m.editPresser(d, func(p *presser) { ok = p.until == 0 && through(&p.told, m.now, time.Minute, maxTold) })
	return ok
}

// mayChange tells that the companions of a device may be others once more.
func (m *Machine) mayChange(d DeviceID) (ok bool) {
	m.editPresser(d, func(p *presser) { ok = through(&p.cards, m.now, time.Minute, maxChanges) })
	return ok
}

// mayWrite tells that the ledger may have one more line of a device's doing.
func (m *Machine) mayWrite(d DeviceID) (ok bool) {
	m.editPresser(d, func(p *presser) { ok = through(&p.lines, m.now, time.Minute, maxLines) })
	return ok
}

// heldFor notes a hold that has ended: who keeps the floor all the time presses without end, too.
func (m *Machine) heldFor(h holder) {
	if h.device == m.cfg.Self {
		return
	}
	m.editPresser(h.device, func(p *presser) { p.held = max(p.held, m.now) + 2*(m.now-h.since) })
}

// counts tells that one more press of a device counts. Beyond what a hammering child makes none does for a minute, and the device's name
// is said.
func (s *orders) counts(d DeviceID) bool {
	m := &s.m
	off, over := false, false
	s.m.editPresser(d, func(p *presser) {
		short := through(&p.short, m.now, pressWindow, m.cfg.Presses/3)
		long := through(&p.long, m.now, time.Minute, m.cfg.Presses)
		off, over = p.until > 0, !short || !long || p.held-m.now > 4*m.cfg.Hold
		if over && !off {
			p.until = m.now + pressesApart
		}
		p.lost = off || over
	})
	if over && !off {
		s.m.letGo(d, Epoch{maxEpoch, d})
		s.pressesCount(d, false, "presses without end")
	}
	return !off && !over
}

// heeds tells that one more press of a device counts. One that does not silences all the same: who hammers loses the floor, and never
// the silence (ROOM.md 4.1).
func (s *answers) heeds(d DeviceID) bool {
	if s.counts(d) {
		return true
	}
	s.silence(d)
	return false
}

// silence ends what can be heard here, and what would go on from it. What a person has asked and nobody has begun to answer is still
// answered, or a member could keep a room from answering for ever.
func (s *answers) silence(d DeviceID) {
	m, r := &s.m, &s.m.rd
	why := "a person pressed at " + s.m.nameOf(d) + ", which has lost the floor"
	s.do(Hush{Epoch: m.epoch, Why: why, Sounding: true})
	m.quieted = m.now
	if m.floor.state == floorSounding {
		m.hushed = m.floor.place
	}
	asked := func(msg Message) bool { return msg.From.Human() && !msg.Metadata.Silence }
	over := r.open && !asked(r.message)
	for i, k := range m.stakes {
		switch heard := k.phase == stakeSounding; {
		case k.phase == stakeOver:
		case heard || !asked(k.message):
			if over = over || k.place == r.place; !heard {
				s.yield(k, why)
				continue
			}
			s.m.editStake(i, func(k *stake) { k.hushed, k.phase, k.due, k.limit = true, stakeOver, 0, m.now+forget }) // it is made to its end, unheard
			s.m.vacate(m.cfg.Self, k.place, k.companion)
		case k.phase == stakeCued: // the device knows whether it can be heard already
			s.m.editStake(i, func(k *stake) { k.hushed = true })
		}
	}
	if over {
		r.over, r.expect, r.grace, r.silentAt = true, 0, 0, 0
	}
}

// pressersDue: the minute is over, and begins anew for whoever has gone on all the time.
func (s *orders) pressersDue() {
	m := &s.m
	for _, p := range m.pressers {
		if !m.passed(p.until) {
			continue
		}
		p.until = 0
		if p.short-m.now > pressWindow*9/10 || p.long-m.now > time.Minute*9/10 {
			p.until = m.now + pressesApart
		}
		s.m.editPresser(p.device, func(x *presser) { x.until = p.until })
		if p.until == 0 {
			s.pressesCount(p.device, true, "has stopped pressing without end")
		}
	}
}

func (s *orders) pressesCount(d DeviceID, again bool, what string) {
	then := map[bool]string{false: "silence the room as ever, and take the floor at that device alone", true: "take the floor again"}[again]
	why := s.m.nameOf(d) + " " + what + ": its presses " + then
	s.write(Place{}, Entry{Kind: EntryMember, By: d, Why: why})
	s.do(PressesCount{Device: d, Name: s.m.nameOf(d), Count: again, Why: why})
}

// Who presses just seldom enough, or several in turn, could keep the room silent for ever. What counts besides is therefore what comes
// of presses: questions asked here, and answers of companions here, that others' presses have ended one after the other.
const (
	maxStarved    = 6               // of them in a row
	starvedLong   = 5 * time.Minute // ... for so long
	starvedApart  = takenWindow     // without one more it is another row
	starvedMemory = 30 * time.Minute
	maxStrikes    = 4 // presses are put off for a minute, then 2, 4, 8 and 16
)

// starvation is how long nothing has come of what was asked or answered here.
type starvation struct {
	n           int
	since, last time.Duration
}

// starve notes that a press of d ends what is under way here. Not d's doing is what another one kept waiting by a hold of its own.
func (s *orders) starve(d DeviceID) {
	m := &s.m
	asked, ok := underWay(m)
	if !ok {
		return
	}
	if d == m.cfg.Self || d == asked {
		d = ""
	}
	first := m.now
	for _, h := range m.holders {
		if h.device != m.cfg.Self && h.device != asked && h.since < first {
			d, first = h.device, h.since
		}
	}
	if d == "" {
		return
	}
	if m.starved.n == 0 || m.now-m.starved.last > starvedApart {
		s.thrives()
		m.starved.since = m.now
	}
	m.starved.n, m.starved.last = m.starved.n+1, m.now
	s.m.editPresser(d, func(p *presser) { p.ended++ })
	most := presser{ended: 1}
	for _, p := range m.pressers {
		n, long := maxStarved, starvedLong
		if m.struck(p) { // it is known for it
			n, long = maxStarved/2, starvedLong/5
		}
		if 2*p.ended < m.starved.n { // nobody alone: many people who press a lot end each other's for minutes, too
			long *= 3
		}
		if p.until == 0 && p.ended > most.ended && m.starved.n >= n && m.now-m.starved.since >= long {
			most = p
		}
	}
	if most.device != "" {
		s.putOff(most.device)
	}
}

// putOff: the presses of a device do not count for a while, each time twice as long.
func (s *orders) putOff(d DeviceID) {
	m := &s.m
	m.editPresser(d, func(p *presser) {
		if !m.struck(*p) {
			p.strikes = 0
		}
		p.until = m.now + pressesApart<<p.strikes
		p.ended, p.struck, p.strikes = 0, p.until, min(p.strikes+1, maxStrikes)
	})
	m.letGo(d, Epoch{maxEpoch, d})
	s.pressesCount(d, false, "keeps silencing what others ask")
}

// struck tells that the presses of a device were put off lately.
func (m *Machine) struck(p presser) bool { return p.strikes > 0 && m.now-p.struck <= starvedMemory }

// thrives: something was asked or answered here to its end.
func (s *orders) thrives() {
	if s.m.starved.n == 0 {
		return
	}
	s.m.starved = starvation{}
	s.m.pressers = each(s.m.pressers, func(p presser) presser { p.ended = 0; return p })
}
