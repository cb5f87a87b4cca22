package round

import (
	"slices"
	"time"
)

// speechBegan: the first sample can be heard. From here on the floor is held by a lease that others see renewed.
func (s *step) speechBegan(e SpeechBegan) {
	i := s.m.stake(e.Place, e.Companion)
	if i < 0 || s.m.stakes[i].phase != stakeCued {
		s.ignore("", "SpeechBegan", "nobody was told to speak")
		return
	}
	m := &s.m
	s.m.editStake(i, func(k *stake) {
		k.phase, k.sounded = stakeSounding, true
		k.due, k.limit = m.now+m.cfg.Renew, m.now+m.cfg.SpeakLimit
		if k.left > 0 {
			k.ends = m.now + k.left
		}
	})
	k := m.stakes[i]
	m.floor = floor{state: floorSounding, device: m.cfg.Self, place: k.place, companion: k.companion, claim: k.claim, since: m.now, ends: k.ends}
	if m.own.open && m.own.message.Place() == k.place {
		m.own.sounded = true
	}
	s.send(s.m.speaking(k))
	if k.id != "" {
		s.give(i, k.text)
	}
}

// speechKnown: the answer is known in words. It becomes a message when it can be heard, not before: until then it may be
// abandoned without a trace (ROOM.md 3.6).
func (s *step) speechKnown(e SpeechKnown) {
	m := &s.m
	i := s.m.stake(e.Place, e.Companion)
	switch {
	case i < 0 || m.stakes[i].phase == stakeOver:
		s.ignore("", "SpeechKnown", "nobody was told to speak")
		return
	case e.ID == "" || e.Text == "" || slices.Contains(m.seen, e.ID) || m.stakes[i].id != "":
		s.ignore("", "SpeechKnown", "its message id is missing or has been used")
		return
	}
	left := min(max(e.Left, 1), m.cfg.SpeakLimit)
	s.m.editStake(i, func(k *stake) {
		k.id, k.text, k.left = e.ID, e.Text, left
		if k.phase == stakeSounding {
			k.ends, k.due = m.now+left, m.now+m.cfg.Renew
		}
	})
	if m.stakes[i].phase != stakeSounding {
		return
	}
	if f := &m.floor; f.of(m.cfg.Self, e.Place, e.Companion) {
		f.ends = m.stakes[i].ends
	}
	s.give(i, e.Text)
	s.send(s.m.speaking(m.stakes[i]))
}

// give publishes what stake i says as a message. It opens the next round, if nothing newer is there.
func (s *step) give(i int, text string) {
	k := s.m.stakes[i]
	if k.given {
		return
	}
	s.m.editStake(i, func(k *stake) { k.given = true })
	number := k.place.Number
	if k.phase == stakeSounding {
		number++
	} // what was cut off is remembered beside what it answers, and opens nothing
	msg := Message{
		ID: k.id, From: Participant(s.m.nameHere(k.companion)), Text: text, Turn: k.message.Turn, Epoch: k.place.Epoch, Number: number,
	}
	if k.message.Private() { // the answer to a whisper is for whoever whispered
		msg.To, msg.For = []Participant{k.message.From}, k.device
		text = "" // nothing that follows from it is told
	}
	msg.Metadata = AnswerMetadata(k.view, k.companion, k.decision, text)
	s.send(msg)
	s.accept(msg, s.m.cfg.Self)
}

// speechEnded comes exactly once for every Prepare.
func (s *step) speechEnded(e SpeechEnded) {
	m := &s.m
	i := s.m.stake(e.Place, e.Companion)
	if i < 0 {
		s.ignore("", "SpeechEnded", "nobody was told to speak")
		return
	}
	if k := m.stakes[i]; k.hushed && k.place.Epoch == m.epoch && (e.Cut || !e.OK) && e.Said != "" { // a person can still read it
		e.OK, e.Cut, e.Text = true, false, e.Said
		s.m.editStake(i, func(k *stake) { k.sounded, k.phase = true, stakeOver })
	}
	k := m.stakes[i]
	said := e.Text != "" || k.given && !e.Cut
	heard := k.sounded && (e.OK || e.Cut) && (said || e.Heard > 0)
	acted := e.Acted && !e.Cut && !heard // that is an answer, too, and nobody else is to be asked for one
	if heard && !k.given && e.Text != "" && e.ID != "" && !slices.Contains(m.seen, e.ID) {
		s.m.editStake(i, func(k *stake) { k.id = e.ID })
		s.give(i, e.Text)
		k = m.stakes[i]
	}
	m.stakes = slices.Delete(slices.Clone(m.stakes), i, i+1)
	if k.phase == stakeReady && k.place == m.rd.place {
		m.rd.unready = true // or a voice that fails at once would be asked again and again, in no time at all
	}
	rel := Release{Place: k.place, Companion: k.companion, OK: heard || acted, HeardMS: int(max(e.Heard, 0) / time.Millisecond), Why: e.Why}
	if k.message.Private() {
		rel.For = k.device
	}
	if k.given {
		rel.Said = k.id
		if e.Cut && e.Text != k.text {
			rel.Heard = &e.Text
			s.correct(k.id, s.m.nameHere(k.companion), e.Text, nil)
		}
	}
	if m.vacate(m.cfg.Self, k.place, k.companion) {
		m.quietFrom()
	}
	switch {
	case k.phase == stakeOver && !k.sounded, k.phase == stakeReady:
		return // withdrawn, void, or never claimed: nobody waits for its release
	case k.phase == stakeOver && !heard:
		rel.OK = true // something was heard, of which no word is known; it was cut, and did not fail
	case !heard && !acted && rel.Why == "":
		rel.Why = "an empty answer"
	}
	s.send(rel)
	if k.place.Epoch == m.epoch {
		s.released(m.cfg.Self, rel)
		return
	}
	s.record(k.place, Entry{Kind: EntrySpoke, Companion: k.companion, By: m.cfg.Self, HeardMS: rel.HeardMS, Why: e.Why})
}
