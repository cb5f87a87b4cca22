package round

import (
	"slices"
	"time"
)

// historyAsked: the first member present answers; the others wait for their turn, in case it does not.
func (s *step) historyAsked(from DeviceID) {
	m := &s.m
	if slices.ContainsFunc(m.histories, func(h historyDue) bool { return h.to == from }) || len(m.histories) >= maxHistories {
		s.ignore(from, "HistoryAsk", "it has asked")
		return
	}
	rank := 0
	for _, x := range m.members {
		if x.Device != from && x.Device < m.cfg.Self {
			rank++
		}
	}
	if rank == 0 {
		s.tellHistory(from)
		return
	}
	m.histories = append(slices.Clip(m.histories), historyDue{from, m.now + time.Duration(rank)*m.cfg.Beat/2})
}

// tellHistory hands over what was said, but for what was whispered to others.
func (s *step) tellHistory(to DeviceID) {
	var told []Message
	for _, msg := range s.m.recent {
		if who, ok := msg.whisper(); ok && !s.livesThere(who, to) {
			continue
		}
		told = append(told, msg)
	}
	s.send(History{To: to, Messages: told}) // an empty one, too: then it need not ask again
}

func (s *step) livesThere(c CompanionID, d DeviceID) bool {
	x := s.member(d)
	return x != nil && hasCard(x.Cards, c)
}

// historyHeard: a newcomer learns what was said. It opens no round.
func (s *step) historyHeard(from DeviceID, h History) {
	m := &s.m
	if h.To != m.cfg.Self {
		m.histories = slices.DeleteFunc(slices.Clone(m.histories), func(x historyDue) bool { return x.to == h.To })
		return
	}
	if m.asks <= 0 && m.askNext == 0 && m.joining == 0 && m.historyDone {
		s.ignore(from, "History", "nobody asked")
		return
	}
	m.asks, m.askNext, m.historyDone = 0, 0, true
	for _, msg := range h.Messages[:min(len(h.Messages), maxRecent)] {
		if msg.ID == "" || msg.From == "" || !s.sane(msg.Epoch) || msg.Metadata.Silence || slices.Contains(m.seen, msg.ID) {
			continue
		}
		turns := m.turns
		s.remember(msg)
		m.turns = turns // beats have told of them
	}
}
