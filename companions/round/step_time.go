package round

import (
	"slices"
	"time"

	"conch/companions/words"
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
	case words.Question, words.Request, words.Clarification:
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
