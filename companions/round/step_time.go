package round

import (
	"slices"
	"time"
)

// due tells that a time has come, and 0 is none.
func (s *step) due(at time.Duration) bool { return at > 0 && s.m.now >= at }

// tick lets every deadline that has passed have its effect.
func (s *step) tick() {
	m := &s.m
	s.presenceDue()
	for i := 0; i < len(m.holders); i++ {
		if h := m.holders[i]; s.due(h.until) {
			s.letGo(h.device, h.epoch)
			if h.device == m.cfg.Self {
				s.send(PressOver{h.epoch})
			}
			i = -1
		}
	}
	s.stakesDue()
	if f := m.floor; s.due(f.until) {
		m.floor = floor{}
		why := "its claim did not turn into speech"
		if f.state == floorSounding {
			why = "it fell silent without a word (its lease ran out)"
		}
		s.unanswered(f, why)
	}
	r := &m.rd
	if r.open && !r.decided {
		if s.due(r.refine) {
			s.late()
		}
		if s.due(r.deadline) && !r.decided {
			s.decide(true)
		}
	}
	if s.due(r.grace) {
		r.grace = 0
	}
	if s.due(r.expect) {
		r.expect = 0
		s.failed(r.place, r.candidate, "it did not claim the floor")
	}
	if s.due(m.silence) {
		s.stepIn()
	}
}

// unanswered: whoever had the floor is gone. If what it says is known already, the next round waits for no more.
func (s *step) unanswered(f floor, why string) {
	s.quietFrom()
	if r := &s.m.rd; r.open && r.place == f.place && !r.over {
		s.failed(f.place, f.companion, why)
	}
}

// late: the model's time is over.
func (s *step) late() {
	r := &s.m.rd
	votes := slices.Clone(r.pending)
	for i := range votes {
		votes[i].Reason += " (by rules: the model was too slow)"
	}
	s.publish(votes)
}

func (s *step) stakesDue() {
	m := &s.m
	for i := 0; i < len(m.stakes); i++ {
		k := m.stakes[i]
		if s.due(k.due) {
			switch k.phase {
			case stakeClaimed:
				s.cue(i)
			case stakeSounding:
				s.edit(i, func(k *stake) { k.due = m.now + m.cfg.Renew })
				s.send(s.speaking(k))
			default:
				s.edit(i, func(k *stake) { k.due = 0 })
			}
		}
		if !s.due(k.limit) {
			continue
		}
		switch k.phase {
		case stakeClaimed, stakeCued:
			const why = "no sound in time"
			s.abandon(k.place, k.companion, why)
			if f := &m.floor; f.device == m.cfg.Self && f.place == k.place && f.companion == k.companion {
				*f = floor{}
			}
			s.send(Release{Place: k.place, Companion: k.companion, Why: why})
			s.failed(k.place, k.companion, why)
		case stakeSounding:
			s.abandon(k.place, k.companion, "it has talked for too long")
		case stakeOver:
			m.stakes = slices.Delete(slices.Clone(m.stakes), i, i+1)
			if f := &m.floor; f.device == m.cfg.Self && f.place == k.place && f.companion == k.companion {
				*f = floor{}
			}
			i--
		default:
			s.edit(i, func(k *stake) { k.limit = 0 })
		}
	}
}

// hangs: nobody speaks after msg. If it asked for something, somebody may step in when it has been silent for a while
// (ROOM.md 6).
func (s *step) hangs(msg Message) {
	m := &s.m
	switch msg.Metadata.Intent {
	case Question, Request, Clarification:
	default:
		return
	}
	if m.ended || m.setting.Muted || msg.Metadata.Silence || msg.Metadata.Chain >= m.cfg.Manners.ChainLimit {
		return
	}
	m.silence, m.asked = m.now+m.cfg.Silence, msg.ID
}

// quietFrom: silence is counted from the last sound.
func (s *step) quietFrom() {
	if m := &s.m; m.silence > 0 {
		m.silence = m.now + m.cfg.Silence
	}
}

// stepIn asks who wants to step in. One device asks: that of the message, or the first that is here. The others look again
// later, in case it is dead and nobody had noticed yet.
func (s *step) stepIn() {
	m, r := &s.m, &s.m.rd
	m.silence = 0
	if !r.open || !r.over || r.message.ID != m.asked || m.floor.state != floorFree || len(m.holders) > 0 {
		return
	}
	who := r.device
	if !s.present(who) {
		who = m.Members()[0].Device
	}
	if who != m.cfg.Self {
		if !r.lookedAgain {
			r.lookedAgain = true
			m.silence = m.now + time.Duration(m.cfg.Missed+1)*m.cfg.Beat
		}
		return
	}
	if s.id == "" || slices.Contains(m.seen, s.id) {
		s.ignore("", "Tick", "its message id is missing or has been used")
		return
	}
	msg := Message{ID: s.id, From: Human(m.cfg.Self), Epoch: r.place.Epoch, Number: r.place.Number + 1}
	msg.Metadata = Metadata{Intent: r.message.Metadata.Intent, Tone: r.message.Metadata.Tone, Chain: r.message.Metadata.Chain, Silence: true}
	s.send(msg)
	s.accept(msg, m.cfg.Self)
}

// Setting turns the manners of the whole room. The newest one wins everywhere: beats carry it.
type Setting struct {
	Involvement Involvement `json:"involvement,omitempty"`
	Muted       bool        `json:"muted,omitempty"`
	N           uint64      `json:"n,omitempty"` // counts changes; By settles who was first when two changed it at once
	By          DeviceID    `json:"by,omitempty"`
}

func (a Setting) before(b Setting) bool { return a.N < b.N || a.N == b.N && a.By < b.By }

func (s *step) controlled(c Control) {
	if why := s.control(c, s.m.cfg.Self, "at this device"); why != "" {
		s.ignore("", "Controlled", why)
		return
	}
	s.send(c)
}

func (s *step) controlHeard(from DeviceID, c Control) {
	if why := s.control(c, from, "at "+s.nameOf(from)); why != "" {
		s.ignore(from, "Control", why)
	}
}

// control turns the manners of a companion, or of the room. Every device notes it for companions elsewhere, too, so that the
// next round is the same everywhere even before the other device's cards have come.
func (s *step) control(c Control, by DeviceID, why string) string {
	m := &s.m
	if c.Involvement == nil && c.Mute == nil {
		return "it turns nothing"
	}
	if c.Involvement != nil {
		switch *c.Involvement {
		case "", InvolvementOff, InvolvementLow, InvolvementMedium, InvolvementHigh:
		default:
			return "no such involvement"
		}
	}
	switch {
	case c.Companion == "":
		if c.Involvement != nil {
			m.setting.Involvement = *c.Involvement
		}
		if c.Mute != nil {
			m.setting.Muted = *c.Mute
		}
		m.setting.N, m.setting.By = min(m.setting.N+1, maxEpoch), by
	case hasCard(m.cards, c.Companion):
		m.cards = turned(m.cards, c)
		m.digest = digestOf(m.cards)
		s.beat(true, false)
	default:
		i := slices.IndexFunc(m.members, func(x member) bool { return hasCard(x.Cards, c.Companion) })
		if i < 0 {
			return "no such companion"
		}
		// What its device makes of it counts: its next beat is asked for the cards.
		s.editMember(m.members[i].Device, func(x *member) { x.Cards, x.digest = turned(x.Cards, c), "" })
	}
	s.record(Entry{Kind: EntryControl, Companion: c.Companion, By: by, Why: how(c) + ", " + why})
	s.do(MembersChanged{"manners were turned " + why})
	return ""
}

// how is what a control asks for, in words.
func how(c Control) string {
	text := ""
	if c.Involvement != nil {
		text = "involvement " + string(*c.Involvement)
		if *c.Involvement == "" {
			text = "involvement as before"
		}
	}
	if c.Mute != nil {
		if text != "" {
			text += " and "
		}
		if *c.Mute {
			text += "muted"
		} else {
			text += "not muted"
		}
	}
	return text
}

func turned(cards []Card, c Control) []Card {
	cards = slices.Clone(cards)
	for i := range cards {
		if cards[i].ID != c.Companion {
			continue
		}
		if c.Involvement != nil {
			cards[i].Involvement = *c.Involvement
		}
		if c.Mute != nil {
			cards[i].Muted = *c.Mute
		}
	}
	return cards
}
