package round

import (
	"slices"
	"time"
)

// remember: what was said is known here from now on. Whispers are, too, for who voted on them must judge what follows; whom
// they are kept from is not told (Remember).
func (s *orders) remember(msg Message) {
	m := &s.m
	m.seen = with(m.seen, msg.ID, maxSeen)
	if msg.Metadata.Silence {
		return
	}
	at, _ := slices.BinarySearchFunc(m.recent, msg, byPlace)
	m.recent = slices.Insert(slices.Clone(m.recent), at, msg)
	m.recent = m.recent[max(0, len(m.recent)-maxRecent):]
	if who, ok := msg.From.Companion(); ok {
		m.turns++
		m.spoke = spokeNow(m.spoke, who, m.turns)
	}
	if to, ok := msg.Whisper(); !ok || hasCard(m.cards, to) {
		s.do(Remember{msg})
	}
}

// correct: of a message only text was heard.
func (s *orders) correct(id MessageID, who CompanionID, text string) {
	m := &s.m
	i := slices.IndexFunc(m.recent, func(x Message) bool { return x.ID == id && x.From == Participant(who) })
	if i < 0 || m.recent[i].Text == text {
		return
	}
	m.recent = slices.Clone(m.recent)
	m.recent[i].Text = text
	s.do(Correct{id, text})
}

// historyAsked: the first member present answers; the others wait for their turn, in case it does not.
func (s *orders) historyAsked(from DeviceID) {
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
func (s *orders) tellHistory(to DeviceID) {
	var told []Message
	for _, msg := range s.m.recent {
		if who, ok := msg.Whisper(); !ok || s.m.livesThere(who, to) {
			told = append(told, msg)
		}
	}
	s.send(History{To: to, Messages: told}) // an empty one, too: then it need not ask again
}

// historyHeard: a newcomer learns what was said. It opens no round.
func (s *orders) historyHeard(from DeviceID, h History) {
	m := &s.m
	if h.To != m.cfg.Self {
		m.histories = without(m.histories, func(x historyDue) bool { return x.to == h.To })
		return
	}
	if m.asks <= 0 && m.askNext == 0 && m.joining == 0 && m.historyDone {
		s.ignore(from, "History", "nobody asked")
		return
	}
	m.asks, m.askNext, m.historyDone = 0, 0, true
	for _, msg := range h.Messages[:min(len(h.Messages), maxRecent)] {
		if msg.ID == "" || msg.From == "" || !s.m.sane(msg.Epoch) || msg.Metadata.Silence || slices.Contains(m.seen, msg.ID) {
			continue
		}
		turns := m.turns
		s.remember(msg)
		m.turns = turns // beats have told of them
	}
}
