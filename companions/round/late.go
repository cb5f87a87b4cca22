package round

import (
	"slices"
	"strings"
	"time"
)

// Unwritten is the text of what a person said and nobody has written down. The room answers no empty message, and an utterance has been heard.
const Unwritten = "(said aloud, and not written down)"

// lateLimit is how long after a message without words these may still decide who answers. Our choice: whoever waits longer has given up.
const lateLimit = 10 * time.Second

// Stands tells that words take the place of x: they are the same person's, of the turn of which x said that nobody had written it down.
// Nobody else's message can be changed so, and none that has words.
func (m Message) Stands(x Message) bool {
	return x.Text == Unwritten && m.Text != Unwritten && m.Turn != "" && m.Turn == x.Turn && m.From == x.From && m.From.Human()
}

// saidLate: the words of a message that went out without them. Where nobody has been heard yet they are what is answered, as if the person
// had said them now; else they are what was said there, which nobody answers again. On the wire they are a message like any other.
func (s *step) saidLate(e SaidLate) {
	m := &s.m
	msg := Message{ID: e.ID, From: Human(m.cfg.Self), To: slices.Clone(e.To), Text: e.Text, Turn: e.Turn, Number: 1}
	i := slices.IndexFunc(m.recent, msg.Stands)
	private, why := privately(m, e.Said)
	switch {
	case strings.TrimSpace(e.Text) == "" || i < 0:
		why = "no message waits for these words"
	case e.ID == "" || slices.Contains(m.seen, e.ID):
		why = "its message id is missing or has been used"
	}
	if why != "" {
		s.ignore("", "SaidLate", why)
		return
	}
	was := m.recent[i]
	if msg.Epoch, msg.For = was.Epoch, private; private == "" {
		msg.Metadata = metadata(languages(m.cfg.Words), e.Text, was.Metadata.Joins)
	}
	if r := &m.rd; !e.Answered && !m.own.sounded && r.open && r.place.Message == was.ID && m.now-r.began <= lateLimit {
		turn := m.own.turn
		s.nextEpoch("words came late", false)
		msg.Epoch, msg.After = m.epoch, m.after
		m.before = without(m.before, func(x said) bool { return x.id == was.ID })
		m.before = with(m.before, said{e.ID, m.now}, maxJoins)
		m.own = own{message: msg.Public(), turn: turn, open: true}
		s.send(msg)
		s.accept(msg, m.cfg.Self)
		return
	}
	kind, why := EntrySilent, "its words came too late"
	switch {
	case msg.Epoch != m.epoch:
		kind, why = EntrySuperseded, "a newer press came before its words"
	case m.own.sounded || m.own.open:
		kind, why = EntryAnswered, "as it was heard, before its words were known"
	}
	s.send(msg)
	s.accept(msg, m.cfg.Self)
	public := msg.Public()
	s.record(msg.Place(), Entry{Kind: kind, Message: &public, Why: why})
}
