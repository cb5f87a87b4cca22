package round

import (
	"slices"
	"time"
)

// tick lets every deadline that has passed have its effect.
func (s *step) tick() {
	m := &s.m
	s.presenceDue()
	s.pressersDue()
	s.offencesDue()
	for _, h := range m.holders {
		if !m.passed(h.until) {
			continue
		}
		m.letGo(h.device, h.epoch)
		if h.device == m.cfg.Self {
			s.send(PressOver{h.epoch})
		}
	}
	s.stakesDue()
	if f := m.floor; s.m.passed(f.until) {
		m.floor = floor{}
		why := "its claim did not turn into speech"
		if f.state == floorSounding {
			why = "it fell silent without a word (its lease ran out)"
		}
		s.unanswered(f, why)
	}
	r := &m.rd
	if r.open && !r.decided {
		if s.m.passed(r.refine) {
			s.votesLate()
		}
		if s.m.passed(r.deadline) && !r.decided {
			s.decide(true)
		}
	}
	if s.m.passed(r.grace) {
		r.grace = 0
	}
	if s.m.passed(r.expect) {
		r.expect = 0
		s.failed(r.place, r.candidate, "it did not claim the floor")
	}
	if s.m.passed(m.silence) {
		s.stepIn()
	}
}

func (s *step) stakesDue() {
	m := &s.m
	for i := 0; i < len(m.stakes); i++ {
		k := m.stakes[i]
		if s.m.passed(k.due) {
			switch k.phase {
			case stakeClaimed:
				s.cue(i)
			case stakeSounding:
				s.m.editStake(i, func(k *stake) { k.due = m.now + m.cfg.Renew })
				s.send(s.m.speaking(k))
			default:
				s.m.editStake(i, func(k *stake) { k.due = 0 })
			}
		}
		if !s.m.passed(k.limit) {
			continue
		}
		switch k.phase {
		case stakeClaimed, stakeCued:
			const why = "no sound in time"
			s.abandon(k.place, k.companion, why)
			m.vacate(m.cfg.Self, k.place, k.companion)
			s.send(Release{Place: k.place, Companion: k.companion, Why: why})
			s.failed(k.place, k.companion, why)
		case stakeSounding:
			s.abandon(k.place, k.companion, "it has talked for too long")
		case stakeOver:
			m.stakes = slices.Delete(slices.Clone(m.stakes), i, i+1)
			m.vacate(m.cfg.Self, k.place, k.companion)
			i--
		default:
			s.m.editStake(i, func(k *stake) { k.limit = 0 })
		}
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
	if !s.m.present(who) {
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
