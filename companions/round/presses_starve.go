package round

import "time"

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
	asked, ok := m.underWay()
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

// underWay is the device where a person has asked what is being answered here, or what was asked here and has no answer yet.
func (m *Machine) underWay() (asked DeviceID, ok bool) {
	for _, k := range m.stakes {
		if k.phase != stakeOver && k.phase != stakeReady && k.message.From.Human() {
			return k.device, true
		}
	}
	r := &m.rd
	if !r.open || r.over || !r.message.From.Human() || r.message.Metadata.Silence || r.decided && r.decision.Winner == "" {
		return "", false
	}
	c, some := m.candidate()
	return r.device, r.device == m.cfg.Self || some && m.seatOf(c) == m.cfg.Self
}
