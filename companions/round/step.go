package round

import (
	"slices"
	"strings"
	"time"
)

// Step returns the machine after ev and what the driver must now do, in order. It changes nothing that it was given, and the
// same machine and fact give the same answer.
func Step(m Machine, ev Event) (Machine, []Effect) {
	s := step{m: m}
	s.take(ev)
	s.settle()
	return s.m, s.out
}

// step is one Step under way.
type step struct {
	m   Machine
	out []Effect
	id  MessageID // from a Tick: may become a message's
}

func (s *step) do(e Effect) { s.out = append(s.out, e) }

// send tells the others, if they can be reached.
func (s *step) send(p Packet) {
	if s.m.up {
		s.do(Send{p})
	}
}

func (s *step) record(e Entry) {
	e.AtMS, e.Device = float64(s.m.now+s.m.stood)/float64(time.Millisecond), s.m.cfg.Self
	s.do(Record{e})
}

// ignore reports what changes nothing. What names the thing, why is one of a few sentences: it is counted by them.
func (s *step) ignore(from DeviceID, what, why string) { s.do(Ignored{from, what, why}) }

// farAhead keeps sums of times from overflowing, whatever a fact says.
const farAhead = 1 << 60

// clock takes the time of a fact, without what this device stood still (doc.go). Otherwise it would miss beats and votes that were sent, and take
// the room for empty.
func (s *step) clock(at time.Duration) {
	m := &s.m
	at = min(at, farAhead) - m.stood
	if due, ok := m.due(); ok {
		if late := at - max(due, m.now); late > m.cfg.Margin {
			m.stood += late
			at -= late
			m.nextBeat = min(m.nextBeat, at)
		}
	}
	m.now = max(m.now, at)
}

// take is the whole machine, one fact a line.
func (s *step) take(ev Event) {
	switch e := ev.(type) {
	case Received:
		s.clock(e.At)
		s.received(e.From, e.Packet)
	case LinkChanged:
		s.clock(e.At)
		s.linkChanged(e.Up)
	case Pressed:
		s.clock(e.At)
		s.pressed(e.Turn)
	case PressEnded:
		s.clock(e.At)
		s.pressEnded(e)
	case Said:
		s.clock(e.At)
		s.said(e)
	case SpeechBegan:
		s.clock(e.At)
		s.speechBegan(e)
	case SpeechKnown:
		s.clock(e.At)
		s.speechKnown(e)
	case SpeechEnded:
		s.clock(e.At)
		s.speechEnded(e)
	case Refined:
		s.clock(e.At)
		s.refined(e)
	case CardsChanged:
		s.clock(e.At)
		s.cardsChanged(e.Cards)
	case Controlled:
		s.clock(e.At)
		s.controlled(e.Control)
	case Tick:
		s.clock(e.At)
		s.id = e.ID
		s.tick()
	}
}

// received: a packet of the device from. Who may say what is checked here; that it was signed was checked before.
func (s *step) received(from DeviceID, p Packet) {
	if from == s.m.cfg.Self || from == "" {
		s.ignore(from, "packet", "it says it comes from here")
		return
	}
	switch p := p.(type) {
	case Press:
		s.pressHeard(from, p)
	case PressOver:
		s.pressOver(from, p)
	case Message:
		s.messageHeard(from, p)
	case Votes:
		s.votesHeard(from, p)
	case Claim:
		s.claimHeard(from, p)
	case Withdraw:
		s.withdrawHeard(from, p)
	case Speaking:
		s.speakingHeard(from, p)
	case Release:
		s.releaseHeard(from, p)
	case Ended:
		s.endedHeard(from, p)
	case Beat:
		s.beatHeard(from, p)
	case Gone:
		s.gone(from, "the broker says that it is gone")
	case HistoryAsk:
		s.historyAsked(from)
	case History:
		s.historyHeard(from, p)
	case Control:
		s.controlHeard(from, p)
	case Seen: // for whoever watches
	default:
		s.ignore(from, "packet", "unknown packet")
	}
}

// sane tells that e can be an epoch: nobody has pressed four thousand million times since this device last heard of it.
func (s *step) sane(e Epoch) bool {
	return e.N > 0 && e.N <= min(s.m.epoch.N+maxAhead, maxEpoch) && e.Device != ""
}

// epochOf is where a packet of epoch e stands: false if it is older than what counts, or nonsense. A newer one means that a
// press was missed: it is heard now.
func (s *step) epochOf(from DeviceID, e Epoch, what string) bool {
	switch {
	case !s.sane(e):
		s.ignore(from, what, "no epoch that could be")
		return false
	case e.Before(s.m.epoch):
		s.ignore(from, what, "of an older epoch")
		return false
	case s.m.epoch.Before(e):
		s.adopt(e, "a person pressed elsewhere (seen by what came of it)", true)
	}
	return true
}

// adopt makes e the epoch: everything older is void (ROOM.md 4.1).
func (s *step) adopt(e Epoch, why string, hush bool) {
	m := &s.m
	m.epoch = e
	if hush {
		s.do(Hush{Epoch: e, Why: why})
	}
	for _, k := range m.stakes {
		if k.phase != stakeOver {
			s.abandon(k.place, k.companion, why)
		}
	}
	s.outcome(EntrySuperseded, why)
	m.own.turn = "" // the press or the hush ended it
	m.rd, m.floor = roundState{}, floor{}
	m.silence, m.asked, m.claims = 0, "", nil
	m.early = slices.DeleteFunc(slices.Clone(m.early), func(x early) bool { return x.votes.Place.Epoch.Before(e) })
}

// nextEpoch takes the floor for the person here.
func (s *step) nextEpoch(why string) {
	s.adopt(Epoch{min(s.m.epoch.N+1, maxEpoch), s.m.cfg.Self}, why, false)
	s.send(Press{s.m.epoch})
	e := s.m.epoch
	s.record(Entry{Kind: EntryPress, By: s.m.cfg.Self, Place: &Place{Epoch: e}, Why: why})
}

func (s *step) pressed(turn string) {
	s.nextEpoch("a press here")
	s.hold(holder{s.m.cfg.Self, s.m.epoch, turn, s.m.now, s.m.now + s.m.cfg.Hold})
}

// hold: nobody claims until it is over.
func (s *step) hold(h holder) {
	list := slices.DeleteFunc(slices.Clone(s.m.holders), func(x holder) bool { return x.device == h.device })
	if len(list) >= maxHolders {
		list = list[1:]
	}
	s.m.holders = append(list, h)
}

// letGo ends the hold of d, if it is not of a press newer than e.
func (s *step) letGo(d DeviceID, e Epoch) {
	s.m.holders = slices.DeleteFunc(slices.Clone(s.m.holders), func(x holder) bool { return x.device == d && !e.Before(x.epoch) })
}

func (s *step) holding(d DeviceID) (holder, bool) {
	for _, h := range s.m.holders {
		if h.device == d {
			return h, true
		}
	}
	return holder{}, false
}

func (s *step) pressEnded(e PressEnded) {
	h, ok := s.holding(s.m.cfg.Self)
	if !ok || h.turn != e.Turn {
		s.ignore("", "PressEnded", "no press of this turn has the floor")
		return
	}
	s.letGo(h.device, h.epoch)
	s.send(PressOver{h.epoch})
}

// pressHeard: higher epochs silence everything here. A lower one that is new lost to another press or comes from a device
// that does not know the room yet: its person records all the same, and nobody claims meanwhile.
func (s *step) pressHeard(from DeviceID, p Press) {
	if !s.sane(p.Epoch) || p.Epoch.Device != from {
		s.ignore(from, "Press", "no epoch that could be")
		return
	}
	if h, ok := s.holding(from); ok && !h.epoch.Before(p.Epoch) {
		return // every press is sent twice
	}
	if x := s.member(from); x != nil {
		if !x.press.Before(p.Epoch) || !x.over.Before(p.Epoch) {
			return // the second copy of a press that is known, or over already
		}
		s.editMember(from, func(x *member) { x.press = p.Epoch })
	}
	place := Place{Epoch: p.Epoch}
	switch {
	case s.m.epoch.Before(p.Epoch):
		s.adopt(p.Epoch, "a person pressed at "+s.nameOf(from), true)
		s.record(Entry{Kind: EntryPress, By: from, Place: &place, Why: "a press elsewhere"})
	case p.Epoch == s.m.epoch: // what came of it was seen before it
		if s.m.rd.place.Epoch == p.Epoch {
			return
		}
	default:
		s.record(Entry{Kind: EntryPress, By: from, Place: &place, Why: "a newer press has been heard; this one only holds the floor"})
		if p.Epoch.N < s.m.epoch.N {
			s.beat(false, false) // it does not know what counts here, and presses again when it does
		}
	}
	s.hold(holder{from, p.Epoch, "", s.m.now, s.m.now + s.m.cfg.Hold})
}

func (s *step) pressOver(from DeviceID, p PressOver) {
	if !s.sane(p.Epoch) || p.Epoch.Device != from {
		s.ignore(from, "PressOver", "no epoch that could be")
		return
	}
	s.pressDone(from, p.Epoch)
}

func (s *step) pressDone(from DeviceID, e Epoch) {
	s.letGo(from, e)
	s.editMember(from, func(x *member) {
		if x.over.Before(e) {
			x.over = e
		}
	})
}

// said: the person's words. The press that brought them may have lost its epoch to another, or there was none (typed words):
// then they take a new one, so that no utterance is lost and the newest counts.
func (s *step) said(e Said) {
	m := &s.m
	switch {
	case strings.TrimSpace(e.Text) == "":
		s.pressEnded(PressEnded{Turn: e.Turn, Why: "nothing was said"})
		return
	case e.ID == "" || slices.Contains(m.seen, e.ID):
		s.ignore("", "Said", "its message id is missing or has been used")
		return
	}
	began := m.now
	var epoch Epoch
	h, held := s.holding(m.cfg.Self)
	switch {
	case held && h.turn != e.Turn && e.Turn != "":
		// Words of a turn that a newer press here has replaced: everybody gets to know them, nobody answers.
		epoch = Epoch{max(h.epoch.N-1, 1), m.cfg.Self}
	case held && h.epoch == m.epoch:
		began, epoch = h.since, h.epoch
		s.letGo(h.device, h.epoch)
	default:
		if held {
			began = h.since
			s.letGo(h.device, m.epoch)
			s.m.holders = slices.DeleteFunc(slices.Clone(m.holders), func(x holder) bool { return x.device == m.cfg.Self })
		}
		joins := m.own.sounded
		s.nextEpoch("words came")
		m.own.sounded = joins
		epoch = m.epoch
	}
	msg := Message{ID: e.ID, From: Human(m.cfg.Self), To: slices.Clone(e.To), Text: e.Text, Turn: e.Turn, Epoch: epoch, Number: 1}
	msg.Metadata = PersonMetadata(e.Text, s.joins(began))
	m.before = append(slices.Clip(m.before), said{e.ID, m.now})
	m.before = m.before[max(0, len(m.before)-maxJoins):]
	s.send(msg)
	if epoch.Before(m.epoch) {
		s.remember(msg)
		place := msg.Place()
		s.record(Entry{Kind: EntrySuperseded, Place: &place, Message: &msg, Why: "a newer press here"})
		return
	}
	s.outcome(EntrySuperseded, "a newer message")
	m.own = own{message: msg, turn: e.Turn, open: true}
	s.accept(msg, m.cfg.Self)
}

// joins are this person's messages that went unanswered and ended at most Together before began (ROOM.md 4.1).
func (s *step) joins(began time.Duration) []MessageID {
	m := &s.m
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

// outcome records what became of the person's message: once (I2).
func (s *step) outcome(kind EntryKind, why string) {
	o := &s.m.own
	if !o.open {
		return
	}
	if o.sounded {
		kind = EntryAnswered
	}
	o.open = false
	msg := o.message
	place := msg.Place()
	s.record(Entry{Kind: kind, Place: &place, Message: &msg, Why: why})
}

// lose tells the button's live turn that no answer comes from here.
func (s *step) lose(why string) {
	if o := &s.m.own; o.turn != "" {
		s.do(Lost{o.turn, why})
		o.turn = ""
	}
}
