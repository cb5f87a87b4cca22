package rehearse

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"conch/companions/round"
	"conch/coordinator/turn"
	"conch/device/control"
	"conch/device/room"
	"conch/device/terminal"
)

// ledgers reads the ledgers of all devices of a rehearsal while they are written, and the turns beside them. It says what is to
// be told, who sounded when (for the WAVs), whether a round is open, and at the end whether every message of a person came to
// one of the three ends that ROOM.md 8, I2, allows: answered, deliberately silent, superseded.
//
// Every device records every round: it is told once, as the first device saw it. What a companion said is told by its own
// device, what became of a person's message by that person's. Times are the rehearsal's. Its owner has the lock.
type ledgers struct {
	room Room

	names  map[round.DeviceID]string      // a device's name by its key
	rounds map[round.MessageID]*openRound // that were decided
	order  []round.MessageID              // of rounds, as they were decided
	people map[round.MessageID]*outcome   // messages of persons
	heard  []round.MessageID              // of people, as they came
	asked  []control.Turn                 // what persons said, as their turns know it
	killed map[string]bool                // devices that were, at any time
	failed map[string]bool                // message and companion: that it lost the floor has been told
	live   map[speaker]time.Duration      // who has the floor, since when
	talks  []talk
	latest time.Duration // of the last entry
}

// openRound is a decided round.
type openRound struct {
	line roundLine
	told bool
	here bool // the figure is that of the device where the person is, as its page shows it; nobody else has one
	done bool // the floor came to its end, or was never taken
}

// outcome is what became of a person's message.
type outcome struct {
	device   string
	text     string
	turn     string
	outcomes []round.EntryKind // as the person's device recorded them
}

// speaker is a companion at a device.
type speaker struct {
	device    string
	companion round.CompanionID
}

// talk is when a companion had the floor.
type talk struct {
	speaker
	from, to time.Duration
}

func newLedgers(room Room) *ledgers {
	return &ledgers{
		room: room, names: map[round.DeviceID]string{}, rounds: map[round.MessageID]*openRound{},
		people: map[round.MessageID]*outcome{}, killed: map[string]bool{}, failed: map[string]bool{}, live: map[speaker]time.Duration{},
	}
}

// roundOver is how long after its decision a round without any further entry is not waited for: the claim's limit, the
// start's, and the failure's (round.Config).
const roundOver = 15 * time.Second

// entry takes one line of a device's ledger, with the words of an answer that has ended, and returns what is to be told.
func (b *ledgers) entry(device string, at time.Duration, e round.Entry, text string) (tell []any) {
	b.latest = at
	if e.Message != nil {
		b.person(*e.Message)
	}
	id := b.about(e)
	r := b.rounds[id]
	own := b.names[e.Device] == device && b.by(e) == device
	switch e.Kind {
	case round.EntryRound:
		if e.Decision == nil || e.Message == nil {
			break
		}
		if r == nil {
			r = &openRound{line: b.decided(device, at, *e.Message, *e.Decision), done: e.Decision.Winner == ""}
			b.rounds[id] = r
			b.order = append(b.order, id)
		}
		if from := r.line.Message.From; !r.here && (from == "human:"+device || !strings.HasPrefix(from, "human:")) {
			r.here, r.line.WaitedMS = true, e.Decision.Waited
		}
		if r.here && (r.done || r.line.Claim != nil) {
			tell = b.told(tell, r)
		}
	case round.EntryClaim, round.EntryInstead:
		if e.Kind == round.EntryInstead && own {
			tell = append(tell, insteadLine{"instead", milliseconds(at), device, id, e.Companion, false, e.Why})
		}
		if r != nil {
			if r.done = false; r.line.Claim == nil && e.Kind == round.EntryClaim {
				r.line.Claim = &claimOf{e.Companion, b.by(e), milliseconds(at) - r.line.AtMS}
			}
			if r.here {
				tell = b.told(tell, r)
			}
		}
		if own && e.Kind == round.EntryClaim {
			b.live[speaker{device, e.Companion}] = at
		}
	case round.EntryWithdraw, round.EntryFailed, round.EntrySpoke:
		if r != nil {
			r.done = e.Kind != round.EntryWithdraw
			if e.Kind != round.EntryWithdraw {
				tell = b.told(tell, r)
			}
		}
		if !own {
			break
		}
		b.silent(speaker{device, e.Companion}, at)
		switch e.Kind {
		case round.EntryFailed: // all devices see it
			if key := string(id) + " " + string(e.Companion); !b.failed[key] {
				b.failed[key] = true
				tell = append(tell, insteadLine{"instead", milliseconds(at), device, id, e.Companion, true, b.plain(e.Why)})
			}
		case round.EntrySpoke:
			tell = append(tell, b.said(device, at, id, e, text))
		}
	case round.EntryAnswered, round.EntrySilent, round.EntrySuperseded:
		if r != nil && e.Kind != round.EntryAnswered {
			r.done = true
			tell = b.told(tell, r)
		}
		if f := b.people[id]; f != nil && f.device == device {
			f.outcomes = append(f.outcomes, e.Kind)
			tell = append(tell, outcomeLine{"outcome", milliseconds(at), device, id, f.text, e.Kind, b.plain(e.Why)})
		}
	case round.EntryPress:
		for _, r := range b.rounds { // everything older is void
			r.done = true
		}
	case round.EntryControl:
		if b.by(e) == device { // every device notes it
			who := "everybody"
			if e.Companion != "" {
				who = b.room.called(e.Companion)
			}
			tell = append(tell, controlLine{"control", milliseconds(at), device, who, b.plain(e.Why)})
		}
	case round.EntryMember:
		tell = append(tell, memberLine{"member", milliseconds(at), device, b.name(e.By), b.plain(e.Why)})
	}
	return tell
}

// about is the message that an entry is about.
func (b *ledgers) about(e round.Entry) round.MessageID {
	switch {
	case e.Place != nil:
		return e.Place.Message
	case e.Message != nil:
		return e.Message.ID
	}
	return ""
}

// by is the device whose doing it was; where the entry does not say, the one that recorded it.
func (b *ledgers) by(e round.Entry) string {
	if e.By != "" {
		return b.name(e.By)
	}
	return b.name(e.Device)
}

// name is a device's, or its key shortened where nobody here has it.
func (b *ledgers) name(id round.DeviceID) string {
	if name, ok := b.names[id]; ok {
		return name
	}
	if len(id) > 8 {
		return string(id[:8]) + "…"
	}
	return string(id)
}

// plain puts names where a sentence has keys.
func (b *ledgers) plain(text string) string {
	for id, name := range b.names {
		text = strings.ReplaceAll(text, string(id), name)
	}
	return text
}

// participant is human:kitchen or a companion's id.
func (b *ledgers) participant(p round.Participant) string {
	if rest, ok := strings.CutPrefix(string(p), "human:"); ok {
		return "human:" + b.name(round.DeviceID(rest))
	}
	return string(p)
}

// person notes a message of a person.
func (b *ledgers) person(m round.Message) {
	device, ok := strings.CutPrefix(string(m.From), "human:")
	if !ok || m.Text == "" || b.people[m.ID] != nil { // no text: silence asked whether somebody wants to step in
		return
	}
	b.people[m.ID] = &outcome{device: b.name(round.DeviceID(device)), text: m.Text, turn: m.Turn}
	b.heard = append(b.heard, m.ID)
}

// turn takes the end of a turn.
func (b *ledgers) turn(t control.Turn) {
	if t.Source == turn.SourceButton.String() && t.Asked != "" {
		b.asked = append(b.asked, t)
	}
}

func (b *ledgers) decided(device string, at time.Duration, m round.Message, d round.Decision) roundLine {
	line := roundLine{
		Event: "round", AtMS: milliseconds(at), Device: device, Selected: d.Winner, Reason: b.plain(d.Reason),
		Message: messageOf{ID: m.ID, From: b.participant(m.From), Text: m.Text, Number: m.Number, Turn: m.Turn},
		Votes:   slices.Clone(d.Votes), Absent: d.Absent, Extras: d.Extras, Silent: slices.Clone(d.Silent), WaitedMS: d.Waited, AtLimit: d.AtLimit,
		Ended: d.Ended,
	}
	for _, p := range m.To {
		line.Message.To = append(line.Message.To, b.participant(p))
	}
	for i := range line.Votes {
		line.Votes[i].Reason = b.plain(line.Votes[i].Reason)
	}
	for i := range line.Silent {
		line.Silent[i].Reason = b.plain(line.Silent[i].Reason)
	}
	if line.Votes == nil {
		line.Votes = []round.Vote{}
	}
	return line
}

// told tells of a round, once: when it is known who took the floor, or that nobody did.
func (b *ledgers) told(tell []any, r *openRound) []any {
	if r.told {
		return tell
	}
	r.told = true
	return append(tell, r.line)
}

func (b *ledgers) said(device string, at time.Duration, id round.MessageID, e round.Entry, text string) saidLine {
	return saidLine{
		Event: "said", AtMS: milliseconds(at), Device: device, Message: id, Who: b.room.called(e.Companion), Text: text,
		HeardMS: float64(e.HeardMS), Complete: e.Why == "" || e.Why == turn.Done.String(),
	}
}

// silent ends a talk.
func (b *ledgers) silent(s speaker, at time.Duration) {
	if from, ok := b.live[s]; ok {
		delete(b.live, s)
		b.talks = append(b.talks, talk{s, from, at})
	}
}

// gone notes that a device was killed: what it was about to record is not.
func (b *ledgers) gone(device string, at time.Duration) {
	b.killed[device] = true
	for s := range b.live {
		if s.device == device {
			b.silent(s, at)
		}
	}
}

// open says that somebody was selected who has not spoken yet, or that the room has just written something.
func (b *ledgers) open(now time.Duration) bool {
	for _, r := range b.rounds {
		if !r.done && now-time.Duration(r.line.AtMS*float64(time.Millisecond)) < roundOver {
			return true
		}
	}
	return now-b.latest < settle
}

// settle is how long a room must have nothing to record to count as idle: more than the pause between two turns.
const settle = 500 * time.Millisecond

// rest is what is still to be told at the end.
func (b *ledgers) rest(now time.Duration) (tell []any) {
	for s := range b.live {
		b.silent(s, now)
	}
	for _, id := range b.order {
		tell = b.told(tell, b.rounds[id])
	}
	return tell
}

// unsettled are the messages of persons that came to no end, or to more than one. What a killed device would have
// recorded, nobody can know.
func (b *ledgers) unsettled() (list []string) {
	turns := map[string]bool{}
	for _, id := range b.heard {
		f := b.people[id]
		turns[f.turn] = true
		if n := len(f.outcomes); n != 1 && !(n == 0 && b.killed[f.device]) {
			list = append(list, fmt.Sprintf("%q, said in %s, has %d outcomes %v", f.text, f.device, n, f.outcomes))
		}
	}
	for _, t := range b.asked {
		if !turns[string(t.Turn)] && !b.killed[t.Device] {
			list = append(list, fmt.Sprintf("%q, said in %s, never became a message (turn %s %s)", t.Asked, t.Device, t.Turn, t.Reason))
		}
	}
	return list
}

// roundText is a round for people: who speaks and why, and one reason for everybody who does not. Where somebody reads along
// (screen), what was said last and is left at that needs no words.
func (b *ledgers) roundText(l roundLine, screen *terminal.Screen) string {
	var s strings.Builder
	device, person := strings.CutPrefix(l.Message.From, "human:")
	after := ""
	switch {
	case l.Message.Text == "":
		after, person = "after a silence: ", false
	case person && (screen == nil || !screen.Known(l.Message.Text)):
		fmt.Fprintf(&s, indent+"person in %s: %s\n", device, l.Message.Text)
	case !person:
		after = "after " + b.room.called(round.CompanionID(l.Message.From)) + ": "
	}
	switch {
	case l.Selected != "":
		fmt.Fprintf(&s, indent+"  %s%s speaks: %s (%.0f ms)\n", after, b.room.called(l.Selected), l.Reason, l.WaitedMS)
	case !person && screen != nil:
		return ""
	default:
		fmt.Fprintf(&s, indent+"  %snobody speaks: %s (%.0f ms)\n", after, room.PlainReason(l.Reason), l.WaitedMS)
	}
	if screen != nil && l.Selected == "" && !slices.ContainsFunc(l.Silent, func(x round.Silent) bool { return x.Reason != room.PlainReason(l.Reason) }) {
		return s.String() // one reason for all of them
	}
	for _, x := range l.Silent {
		fmt.Fprintf(&s, indent+"  %s is silent: %s\n", b.room.called(x.Companion), x.Reason)
	}
	return s.String()
}
