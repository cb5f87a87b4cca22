package round

import (
	"slices"
	"time"
)

// remember: what was said is known here from now on; of what is private, that it was said. Its words are for those who may know them.
func (s *orders) remember(msg Message) {
	m := &s.m
	m.seen = with(m.seen, msg.ID, maxSeen)
	if msg.Metadata.Silence {
		return
	}
	public := msg.Public()
	recent := without(m.recent, msg.Stands)
	at, _ := slices.BinarySearchFunc(recent, public, byPlace)
	recent = slices.Insert(recent, at, public)
	m.recent = recent[max(0, len(recent)-maxRecent):]
	who, companion := msg.From.Companion()
	if companion {
		m.turns++
		m.spoke = spokeNow(m.spoke, who, m.turns)
	}
	to, whispered := msg.Whisper()
	switch {
	case whispered && !hasCard(m.cards, to):
	case msg.Private() && !whispered && msg.For != m.cfg.Self && !hasCard(m.cards, who):
	default:
		s.do(Remember{msg})
	}
}

// correct: of a message only text was heard. Of a private one nobody tells who may not know it.
func (s *orders) correct(id MessageID, who CompanionID, text string, release []byte) {
	m := &s.m
	i := slices.IndexFunc(m.recent, func(x Message) bool { return x.ID == id && x.From == Participant(who) })
	if i < 0 || m.recent[i].Text == text {
		return
	}
	if !m.recent[i].Private() {
		m.recent = slices.Clone(m.recent)
		m.recent[i].Text, m.recent[i].Release = text, release
	}
	s.do(Correct{id, text, release})
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
	m.histories = append(slices.Clip(m.histories), historyDue{to: from, at: m.now + time.Duration(rank)*m.cfg.Beat/2})
}

// tellHistory hands over what was said, but for what is private and what was said there: that it knows itself.
func (s *orders) tellHistory(to DeviceID) {
	told := without(s.m.recent, func(msg Message) bool {
		_, whispered := msg.Whisper()
		who, _ := msg.From.Companion()
		return whispered || msg.Private() || msg.From == Human(to) || s.m.livesThere(who, to)
	})
	s.send(History{To: to, Messages: told}) // an empty one, too: then it need not ask again
}

// historyHeard: a newcomer learns what was said, from two members, so that one that leaves something out hides nothing. It opens no round.
func (s *orders) historyHeard(from DeviceID, h History) {
	m := &s.m
	if h.To != m.cfg.Self {
		m.histories = slices.Clone(m.histories)
		for i := range m.histories {
			if x := &m.histories[i]; x.to == h.To && !slices.Contains(x.told, from) {
				x.told = append(slices.Clip(x.told), from)
			}
		}
		m.histories = without(m.histories, func(x historyDue) bool { return len(x.told) >= historyTellers })
		return
	}
	if len(m.told) >= historyTellers || slices.Contains(m.told, from) || m.asks <= 0 && m.askNext == 0 && m.joining == 0 && len(m.told) == 0 {
		s.ignore(from, "History", "nobody asked")
		return
	}
	m.asks, m.askNext = 0, 0
	m.told = append(slices.Clip(m.told), from)
	for _, msg := range h.Messages[:min(len(h.Messages), maxRecent)] {
		who, companion := msg.From.Companion()
		switch {
		case msg.ID == "" || msg.From == "" || msg.Private() || !sane(msg.Epoch) || msg.Metadata.Silence || slices.Contains(m.seen, msg.ID):
			continue
		case msg.From == Human(m.cfg.Self) || companion && hasCard(m.cards, who): // nobody else knows better what was said here
			s.ignore(from, "History", "it tells what was said here")
			continue
		}
		if m.epoch.Before(msg.Epoch) { // what is said from now on comes after it
			if msg.From.Human() {
				m.ahead = with(m.ahead, msg.ID, maxEarly)
			}
			msg.Epoch.N = min(msg.Epoch.N, m.epoch.N)
		}
		turns := m.turns
		s.remember(msg)
		m.turns = turns // beats have told of them
	}
}

// with is a list and one more, without those that are too old; the list itself is not written to.
func with[T any](list []T, x T, most int) []T {
	list = append(slices.Clip(list), x)
	return list[max(0, len(list)-most):]
}

// each is what f makes of every element.
func each[T, U any](list []T, f func(T) U) []U {
	out := make([]U, 0, len(list))
	for _, x := range list {
		out = append(out, f(x))
	}
	return out
}

// without is a list without some; the list itself is not written to.
func without[T any](list []T, is func(T) bool) []T { return slices.DeleteFunc(slices.Clone(list), is) }
