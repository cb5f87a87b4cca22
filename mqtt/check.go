package mqtt

import (
	"slices"
	"unicode/utf8"

	"conch/companions/round"
	"conch/device/printable"
)

// Bounds of fields. What we send ourselves is brought within them (trim, slimmer); what arrives outside is refused.
const (
	maxID        = 64      // bytes of a companion's, message's or turn's id
	maxName      = 128     // bytes of a name
	maxText      = 8 << 10 // bytes of what was said
	maxWhy       = 1 << 10 // bytes of a reason
	maxVotes     = 128
	maxTerms     = 32
	maxCards     = 64  // companions on one device
	maxWords     = 128 // entries of a card's list
	maxTo        = 128
	maxQueue     = 32
	maxMessages  = 256      // of a history
	slimAbove    = 16 << 10 // bytes; above it, what others can do without is left out first
	maxRosterLen = 512
)

// checker collects the first thing that is wrong.
type checker struct{ r *Refusal }

func (c *checker) is(ok bool, format string, args ...any) {
	if !ok && c.r == nil {
		c.r = refuse(ReasonFields, format, args...)
	}
}

func (c *checker) long(name string, n, most int) {
	c.is(n <= most, "%s: %d; at most %d", name, n, most)
}

// name may be empty: a later version may say it elsewhere.
func (c *checker) name(field, name string) {
	c.long(field, len(name), maxName)
	c.is(name == "" || printable.IsName(name), "%s is %.40q: it cannot be shown", field, name)
}

func (c *checker) companion(name string, id round.CompanionID) {
	c.is(id != "" && len(id) <= maxID && !round.Participant(id).Human(), "%s is %.40q: must be a companion's id", name, string(id))
}

func (c *checker) companions(name string, ids []round.CompanionID, most int) {
	c.long(name, len(ids), most)
	for _, id := range ids {
		c.companion(name, id)
	}
}

// place may have no message: a round that nobody's words opened is not on the wire, but an end is.
func (c *checker) place(p round.Place) {
	c.is(p.Message != "" && len(p.Message) <= maxID, "place.messageId is %.40q", string(p.Message))
	c.is(p.Number >= 1, "place.number is %d: must be 1 or more", p.Number)
	c.is(len(p.Epoch.Device) <= maxID, "place.epoch.device is too long")
}

func (c *checker) from(ok bool, format string, args ...any) {
	if !ok && c.r == nil {
		c.r = refuse(ReasonFrom, format, args...)
	}
}

// check looks at everything of a packet that a choice or a memory depends on.
func check(p round.Packet, from round.DeviceID) *Refusal {
	var c checker
	switch p := p.(type) {
	case round.Press:
		c.from(p.Epoch.Device == from, "a press of %.40q", string(p.Epoch.Device))
		c.is(p.Epoch.N > 0, "epoch.n is 0")
	case round.PressOver:
		c.from(p.Epoch.Device == from, "a press of %.40q", string(p.Epoch.Device))
	case round.Votes:
		c.place(p.Place)
	case round.Claim:
		c.place(p.Place)
		c.companion("companion", p.Companion)
		c.companions("extras", p.Extras, maxQueue)
		c.companions("instead", p.Instead, maxVotes)
	case round.Withdraw:
		c.place(p.Place)
		c.companion("companion", p.Companion)
		c.long("why", len(p.Why), maxWhy)
	case round.Speaking:
		c.place(p.Place)
		c.companion("companion", p.Companion)
		c.is(p.LeftMS >= 0 && p.LeftMS <= maxMS, "leftMs is %d", p.LeftMS)
	case round.Release:
		c.place(p.Place)
		c.companion("companion", p.Companion)
		c.is(p.HeardMS >= 0 && p.HeardMS <= maxMS, "heardMs is %d", p.HeardMS)
		c.long("said", len(p.Said), maxID)
		c.long("why", len(p.Why), maxWhy)
		if p.Heard != nil {
			c.long("heard", len(*p.Heard), maxText)
		}
		c.is(p.For == "" || IsDeviceID(p.For), "for is %.40q: must be a device's id", string(p.For))
		c.is(p.For == "" || p.Heard == nil, "heard is private, and in the clear")
	case round.Ended:
		c.place(p.Place)
	case round.Message:
		c.message(p)
	case round.History:
		c.is(IsDeviceID(p.To), "to is %.40q: must be a device's id", string(p.To))
		c.long("messages", len(p.Messages), maxMessages)
		for _, m := range p.Messages {
			c.message(m)
		}
	case round.Beat:
		c.beat(p)
	case round.Control:
		c.long("companion", len(p.Companion), maxID)
		if p.Involvement != nil {
			c.involvement(*p.Involvement)
		}
	case round.Seen:
		c.from(p.Entry.Device == from, "an entry of %.40q", string(p.Entry.Device))
		c.entry(p.Entry)
	}
	return c.r
}

const maxMS = 24 * 3600 * 1000

func (c *checker) involvement(i round.Involvement) {
	switch i {
	case "", round.InvolvementOff, round.InvolvementLow, round.InvolvementMedium, round.InvolvementHigh:
	default:
		c.is(false, "involvement is %.20q", string(i))
	}
}

func (c *checker) message(m round.Message) {
	c.is(m.ID != "" && len(m.ID) <= maxID, "id is %.40q", string(m.ID))
	c.is(m.From != "" && len(m.From) <= maxID, "from is %.40q", string(m.From))
	c.long("text", len(m.Text), maxText)
	c.long("to", len(m.To), maxTo)
	for _, to := range m.To {
		c.is(to != "" && len(to) <= maxID, "to has %.40q", string(to))
	}
	if m.Private() {
		_, whispered := m.Whisper()
		answers := len(m.To) == 1 && m.To[0] == round.Human(m.For)
		c.is(IsDeviceID(m.For), "for is %.40q: must be a device's id", string(m.For))
		c.is(m.Text == "", "text is private, and in the clear")
		c.is(whispered == m.From.Human() && (whispered || answers), "private, and to %q", m.To)
	}
	c.long("turn", len(m.Turn), maxID)
	c.is(m.Number >= 0, "number is %d", m.Number)
	c.companions("queue", m.Metadata.Queue, maxQueue)
	c.long("joins", len(m.Metadata.Joins), maxQueue)
	c.is(m.Metadata.Chain >= 0, "chain is %d", m.Metadata.Chain)
	switch m.Metadata.Closing {
	case "", round.ClosingNone, round.PreClosing, round.ClosingNow, round.Terminal:
	default:
		c.is(false, "closing is %.20q", string(m.Metadata.Closing))
	}
	// Intent and tone of a later version are no reason to lose what was said: the machine treats unknown ones as none.
	c.long("intent", len(m.Metadata.Intent), maxID)
	c.long("tone", len(m.Metadata.Tone), maxID)
}

func (c *checker) beat(b round.Beat) {
	c.name("name", b.Name)
	c.long("digest", len(b.Digest), maxName)
	c.long("page", len(b.Page), maxWhy) // what it is worth the machine says
	c.is(b.Budget >= 0 && b.Budget <= maxMS, "budgetMs is %d", b.Budget)
	c.long("cards", len(b.Cards), maxCards)
	seen := make(map[round.CompanionID]bool, len(b.Cards))
	for _, card := range b.Cards {
		c.companion("card id", card.ID)
		c.is(printable.IsName(string(card.ID)), "card id is %.40q: it cannot be shown", string(card.ID))
		c.is(!seen[card.ID], "two cards %q", card.ID)
		seen[card.ID] = true
		c.name("card name", card.Name)
		c.long("card role", len(card.Role), maxWhy)
		c.is(printable.IsText(card.Role), "card role is %.40q: it cannot be shown", card.Role)
		for _, alias := range card.Aliases {
			c.name("card alias", alias)
		}
		for _, words := range [][]string{card.Aliases, card.Expertise, card.Skills, card.Traits} {
			c.long("words of a card", len(words), maxWords)
			for _, w := range words {
				c.long("a word of a card", len(w), maxName)
			}
		}
		c.long("card language", len(card.Language), 2)
		c.long("synonyms of a card", len(card.Synonyms), maxWords)
		for of, words := range card.Synonyms {
			c.long("a word of a card", len(of), maxName)
			c.long("synonyms", len(words), maxWords)
			for _, w := range words {
				c.long("a word of a card", len(w), maxName)
			}
		}
		c.is(card.Talkativeness >= -2 && card.Talkativeness <= 2, "talkativeness is %d: must be -2 to +2", card.Talkativeness)
		c.involvement(card.Involvement)
	}
}

func (c *checker) entry(e round.Entry) {
	c.is(e.Kind != "" && len(e.Kind) <= maxID, "kind is %.40q", string(e.Kind))
	c.long("why", len(e.Why), maxWhy)
	if e.Message != nil {
		c.message(*e.Message)
	}
	if d := e.Decision; d != nil {
		c.long("roster", len(d.Roster), maxRosterLen)
		c.long("votes", len(d.Votes), maxRosterLen)
		c.long("silent", len(d.Silent), maxRosterLen)
		c.long("barred", len(d.Barred), maxRosterLen)
	}
}

func checkVote(v round.Vote, place round.Place) *Refusal {
	no := func(format string, args ...any) *Refusal { return refuse(ReasonVote, format, args...) }
	switch {
	case v.From == "" || len(v.From) > maxID || round.Participant(v.From).Human():
		return no("from is %.40q: must be a companion's id", string(v.From))
	case v.MessageID != place.Message:
		return no("messageId is %.40q; the round's is %.40q", string(v.MessageID), string(place.Message))
	case v.State != round.StateSpeak && v.State != round.StateListen:
		return no("state is %.20q: must be speak or listen", string(v.State))
	case !(v.Importance >= 0 && v.Importance <= 10):
		return no("importance is %v: must be 0 to 10", v.Importance)
	case v.Layer != "" && v.Layer != round.LayerOwed && v.Layer != round.LayerWorth && v.Layer != round.LayerForbidden:
		return no("layer is %.20q: must be owed, worth or forbidden", string(v.Layer))
	case !(v.Certain >= 0 && v.Certain <= 1):
		return no("certain is %v: must be 0 to 1", v.Certain)
	case len(v.Reason) > maxWhy:
		return no("reason: %d bytes; at most %d", len(v.Reason), maxWhy)
	case len(v.Terms) > maxTerms:
		return no("%d terms; at most %d", len(v.Terms), maxTerms)
	}
	switch v.Closing {
	case round.ClosingNone, round.PreClosing, round.ClosingNow, round.Terminal:
		return nil
	}
	return no("closing is %.20q: must be none, pre-closing, closing or terminal", string(v.Closing))
}

// trim brings what we send within the bounds of text: a message of more than 8 KiB is cut at a letter.
func trim(p round.Packet) round.Packet {
	switch p := p.(type) {
	case round.Message:
		p.Text = cut(p.Text, maxText)
		return p
	case round.Release:
		if p.Heard != nil && len(*p.Heard) > maxText {
			heard := cut(*p.Heard, maxText)
			p.Heard = &heard
		}
		p.Why = cut(p.Why, maxWhy)
		return p
	case round.Withdraw:
		p.Why = cut(p.Why, maxWhy)
		return p
	case round.History: // its envelopes carry it
		p.Messages = nil
		return p
	case round.Votes:
		p.Votes = trimVotes(p.Votes)
		return p
	case round.Claim:
		p.Votes = trimVotes(p.Votes)
		return p
	case round.Seen:
		p.Entry.Why = cut(p.Entry.Why, maxWhy)
		if p.Entry.Message != nil && len(p.Entry.Message.Text) > maxText {
			m := *p.Entry.Message
			m.Text = cut(m.Text, maxText)
			p.Entry.Message = &m
		}
		return p
	}
	return p
}

func trimVotes(in []round.Vote) []round.Vote {
	out := slices.Clone(in)
	for i := range out {
		out[i].Reason = cut(out[i].Reason, maxWhy)
		out[i].Terms = out[i].Terms[:min(len(out[i].Terms), maxTerms)]
	}
	return out
}

func cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}

// slimmer leaves something out of a packet that is too large: first the terms of votes (the ledger of the voter's device has
// them), then the reasons. No choice depends on what goes. False when there is nothing more.
func slimmer(p round.Packet, step int) (round.Packet, bool) {
	switch p := p.(type) {
	case round.Votes:
		var ok bool
		p.Votes, ok = slimVotes(p.Votes, step)
		return p, ok
	case round.Claim:
		var ok bool
		p.Votes, ok = slimVotes(p.Votes, step)
		return p, ok
	case round.Seen:
		if p.Entry.Decision == nil {
			return p, false
		}
		d := *p.Entry.Decision
		var ok bool
		d.Votes, ok = slimVotes(d.Votes, step)
		p.Entry.Decision = &d
		return p, ok
	}
	return p, false
}

func slimVotes(in []round.Vote, step int) ([]round.Vote, bool) {
	if step > 1 {
		return in, false
	}
	out := slices.Clone(in)
	for i := range out {
		if out[i].Terms = nil; step == 1 {
			out[i].Reason, out[i].Because = "", ""
		}
	}
	return out, true
}

// directory knows which companions live on which device, from the latest cards of each (ROOM.md 2: from must live on the
// signing device).
type directory map[round.DeviceID]abode

// abode is a device as its latest cards show it.
type abode struct {
	ids    map[round.CompanionID]bool
	former []round.CompanionID // which it had before, newest last
	key    []byte              // for what is private; nil: an older conch
}

const maxFormer = 64 // names that a device's companions had

func (d directory) learn(from round.DeviceID, p round.Packet, key []byte) {
	b, ok := p.(round.Beat)
	if !ok || b.Cards == nil {
		return
	}
	old, known := d[from]
	if !known && len(d) >= maxPeers {
		return
	}
	ids := make(map[round.CompanionID]bool, len(b.Cards))
	for _, c := range b.Cards {
		ids[c.ID] = true
	}
	former := slices.DeleteFunc(slices.Clone(old.former), func(c round.CompanionID) bool { return ids[c] || old.ids[c] })
	for c := range old.ids {
		if !ids[c] {
			former = append(former, c)
		}
	}
	d[from] = abode{ids, former[max(0, len(former)-maxFormer):], key}
}

// speaker is who a packet speaks for, when that is somebody who must live on the sender.
func speakers(p round.Packet) []round.Participant {
	one := func(c round.CompanionID) []round.Participant { return []round.Participant{round.Participant(c)} }
	switch p := p.(type) {
	case round.Message:
		return []round.Participant{p.From}
	case round.Votes:
		all := make([]round.Participant, len(p.Votes))
		for i, v := range p.Votes {
			all[i] = round.Participant(v.From)
		}
		return all
	case round.Claim:
		return one(p.Companion)
	case round.Withdraw:
		return one(p.Companion)
	case round.Speaking:
		return one(p.Companion)
	case round.Release:
		return one(p.Companion)
	}
	return nil
}

// lives checks that everybody a packet speaks for lives on the sender. Words are its present companions'; an answer that has begun is heard
// to its end under the name that its companion had (the machine knows for how long).
func (d directory) lives(from round.DeviceID, p round.Packet) *Refusal {
	_, words := p.(round.Message)
	for _, who := range speakers(p) {
		c, companion := who.Companion()
		if !companion {
			if who != round.Human(from) {
				return refuse(ReasonFrom, "%.60q is not the person at %s", string(who), from)
			}
			continue
		}
		cards, known := d[from]
		if !known {
			return refuse(ReasonCards, "no card of %s has been seen, so %.40q cannot be known to live there", from, string(c))
		}
		if !cards.ids[c] && (words || !slices.Contains(cards.former, c)) {
			return refuse(ReasonFrom, "%.40q does not live on %s", string(c), from)
		}
	}
	return nil
}
