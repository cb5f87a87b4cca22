package round

import (
	"cmp"
	"slices"
	"time"

	"conch/companions/words"
)

// member is the other device d, nil if it is not here. Not to be written through: see editMember.
func (m *Machine) member(d DeviceID) *member {
	if i, ok := m.memberAt(d); ok {
		return &m.members[i]
	}
	return nil
}

func (m *Machine) memberAt(d DeviceID) (int, bool) {
	return slices.BinarySearchFunc(m.members, d, func(x member, d DeviceID) int { return cmp.Compare(x.Device, d) })
}

func (m *Machine) editMember(d DeviceID, f func(*member)) {
	if i, ok := m.memberAt(d); ok {
		m.members = slices.Clone(m.members)
		f(&m.members[i])
	}
}

func (m *Machine) present(d DeviceID) bool { return d == m.cfg.Self || d != "" && m.member(d) != nil }

func (m *Machine) nameOf(d DeviceID) string {
	if x := m.member(d); x != nil && x.Name != "" {
		return x.Name
	}
	if d == m.cfg.Self {
		return m.cfg.Name
	}
	return m.listed.called(d, string(d)) // it may press before its first beat has come
}

// nameHere is what a companion of this device is called in the room since it was renamed.
func (m *Machine) nameHere(c CompanionID) CompanionID {
	for _, card := range m.cards {
		if card.Renamed == c && !hasCard(m.cards, c) {
			return card.ID
		}
	}
	return c
}

// livesOn tells that nothing says c lives elsewhere: it is on d's card, or d's cards have not come and nobody else has it.
func (m *Machine) livesOn(c CompanionID, d DeviceID) bool {
	if c == "" || Participant(c).Human() {
		return false
	}
	if m.livesThere(c, d) {
		return true
	}
	if x := m.member(d); x != nil && x.known || hasCard(m.cards, c) {
		return false
	}
	return !slices.ContainsFunc(m.members, func(x member) bool { return hasCard(x.Cards, c) })
}

func (m *Machine) livesThere(c CompanionID, d DeviceID) bool {
	x := m.member(d)
	return x != nil && hasCard(x.Cards, c)
}

func (m *Machine) allCards() []Card {
	all := slices.Clone(m.cards)
	for _, x := range m.members {
		all = append(all, x.Cards...)
	}
	return all
}

// expiry is when a member that sends no more beats is gone: the last of those it may miss is overdue by half a beat, so that
// one late and two lost beats are no death.
func (m *Machine) expiry(x member) time.Duration {
	return x.last + time.Duration(m.cfg.Missed)*m.cfg.Beat + m.cfg.Beat/2
}

func (c Config) cardsGap() time.Duration { return c.Beat / 4 }

// hold: nobody claims until it is over.
func (m *Machine) hold(h holder) {
	if old, ok := m.holding(h.device); ok {
		m.heldFor(old)
	}
	m.holders = with(without(m.holders, func(x holder) bool { return x.device == h.device }), h, maxHolders)
}

// letGo ends the hold of d, if it is not of a press newer than e.
func (m *Machine) letGo(d DeviceID, e Epoch) {
	if h, ok := m.holding(d); ok && !e.Before(h.epoch) {
		m.heldFor(h)
		m.holders = without(m.holders, func(x holder) bool { return x.device == d })
	}
}

// asHere is what a press of d is here. One before the newest, where d counts otherwise, is as much before it here.
func (m *Machine) asHere(d DeviceID, e Epoch) Epoch {
	x := m.member(d)
	switch {
	case x == nil:
	case x.theirs == e:
		return x.ours
	case e.Device == d && x.theirs.Device == d && e.Before(x.theirs) && x.theirs.N-e.N < min(x.ours.N, maxAhead):
		return Epoch{x.ours.N - (x.theirs.N - e.N), x.ours.Device}
	}
	return e
}

// asThere is what a press that counts here is at the device that it was made at.
func (m *Machine) asThere(e Epoch) Epoch {
	if x := m.member(e.Device); x != nil && x.ours == e {
		return x.theirs
	}
	return e
}

func (m *Machine) holding(d DeviceID) (holder, bool) {
	if i := slices.IndexFunc(m.holders, func(h holder) bool { return h.device == d }); i >= 0 {
		return m.holders[i], true
	}
	return holder{}, false
}

// joins are this person's messages that went unanswered and ended at most Together before began (ROOM.md 4.1).
func joins(m *Machine, began time.Duration) []MessageID {
	if m.own.sounded {
		m.before = nil
	}
	var ids []MessageID
	for i := len(m.before) - 1; i >= 0 && began-m.before[i].at <= m.cfg.Together; i-- {
		ids = append(ids, m.before[i].id)
		began = m.before[i].at
	}
	slices.Reverse(ids)
	if len(ids) == 0 {
		m.before = nil
	}
	return ids
}

// heardBefore is what was said before msg.
func heardBefore(m *Machine, msg Message) []Message {
	at, _ := slices.BinarySearchFunc(m.recent, msg, byPlace)
	return m.recent[:at:at]
}

// complete tells that everybody in the roster has voted, or is gone.
func complete(m *Machine) bool {
	for i, x := range m.rd.roster {
		if !m.rd.voted.has(i) && m.present(x.device) {
			return false
		}
	}
	return true
}

// candidate is whose turn it is: the best of those who may speak, are here, and have not had the floor (once each).
func (m *Machine) candidate() (CompanionID, bool) {
	for _, c := range m.rd.decision.Order {
		if !slices.Contains(m.rd.tried, c) && m.present(m.seatOf(c)) {
			return c, true
		}
	}
	return "", false
}

func (m *Machine) seatOf(c CompanionID) DeviceID {
	if at, ok := m.rd.seat(c); ok {
		return m.rd.roster[at].device
	}
	return ""
}

// hangs: nobody speaks after msg. If it asked for something, somebody may step in when it has been silent for a while
// (ROOM.md 6).
func (m *Machine) hangs(msg Message) {
	switch msg.Metadata.Intent {
	case words.Question, words.Request, words.Clarification:
	default:
		return
	}
	if m.ended || m.setting.Muted || msg.Private() || msg.Metadata.Silence || msg.Metadata.Chain >= m.cfg.Manners.ChainLimit {
		return
	}
	m.silence, m.asked = m.now+m.cfg.Silence, msg.ID
}

// vacate frees the floor where it is theirs.
func (m *Machine) vacate(d DeviceID, p Place, c CompanionID) bool {
	was := m.floor.of(d, p, c)
	if was {
		m.floor = floor{}
	}
	return was
}

// quietFrom: silence is counted from the last sound.
func (m *Machine) quietFrom() {
	if m.silence > 0 {
		m.silence = m.now + m.cfg.Silence
	}
}

func (m *Machine) stake(p Place, c CompanionID) int {
	return slices.IndexFunc(m.stakes, func(k stake) bool { return k.place == p && k.companion == c })
}

func (m *Machine) editStake(i int, f func(*stake)) {
	m.stakes = slices.Clone(m.stakes)
	f(&m.stakes[i])
}

func (r *roundState) claimOf(c CompanionID) Claim {
	extras := without(r.decision.Extras, func(x CompanionID) bool { return x == c || slices.Contains(r.tried, x) })
	return Claim{Place: r.place, Companion: c, Votes: r.decision.Votes, Extras: extras, Instead: r.tried}
}

func knownClaim(m *Machine, from DeviceID, c Claim) bool {
	return slices.ContainsFunc(m.claims, func(x heardClaim) bool {
		return x.of(from, c.Place, c.Companion) && len(x.claim.Instead) == len(c.Instead)
	})
}

func (m *Machine) speaking(k stake) Speaking {
	left := 0
	if k.ends > m.now {
		left = int((k.ends - m.now) / time.Millisecond)
	}
	return Speaking{Place: k.place, Companion: k.companion, LeftMS: left}
}

// underWay is the device where a person has asked what is being answered here, or what was asked here and has no answer yet.
func underWay(m *Machine) (asked DeviceID, ok bool) {
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
