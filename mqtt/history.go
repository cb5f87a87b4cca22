package mqtt

import (
	"crypto/ed25519"
	"encoding/json"
	"slices"
	"unicode/utf8"

	"conch/companions/round"
)

// A history is told by a member and signed by those who spoke: it carries their envelopes, and what is not theirs is not taken.
const (
	maxProof   = 16 << 10 // bytes of an envelope that is kept to prove a message; most have one
	maxProofs  = 100      // envelopes of a history: fifty messages, each of them corrected
	maxTellers = 4        // histories that are looked at for one wish: two come, an older conch's, and one more
	proofSeq   = 0        // no receiver takes this number as something that is said now
)

// prove are the envelopes of a history, oldest first. What was said here is signed for it, as it was heard; of others what they signed
// is handed on, and what has none stays behind. own says which companions live here.
func prove(room string, id Identity, own func(round.CompanionID) bool, h round.History) (out []string) {
	for _, m := range h.Messages[max(0, len(h.Messages)-maxProofs/2):] {
		who, companion := m.From.Companion()
		switch {
		case m.Private():
		case len(m.Envelope) > 0:
			out = append(out, string(m.Envelope))
			if len(m.Release) > 0 {
				out = append(out, string(m.Release))
			}
		case m.From == round.Human(id.id), companion && own(who):
			if _, b, err := Encode(room, id, newSession(), proofSeq, m); err == nil && len(b) <= maxProof {
				out = append(out, string(b))
			}
		}
	}
	return out
}

// proof puts the envelope beside what it proves: a message, or a release that corrects one.
func (e *Envelope) proof() {
	if len(e.raw) > maxProof {
		return
	}
	switch p := e.Packet.(type) {
	case round.Message:
		if !p.Private() {
			p.Envelope = e.raw
			e.Packet = p
		}
	case round.Release:
		if p.For == "" && p.Heard != nil && p.Said != "" {
			p.Envelope = e.raw
			e.Packet = p
		}
	}
}

// livesHere says whether a companion is of this device; needs mu.
func (c *Client) livesHere(who round.CompanionID) bool {
	return c.lastBeat != nil && slices.ContainsFunc(c.lastBeat.Cards, func(card round.Card) bool { return card.ID == who })
}

// proved is a history as far as it is proved; false: it was not asked for, or nothing in it is.
func (c *Client) proved(teller round.DeviceID, h round.History, envelopes []string) (round.History, bool) {
	no := func(format string, args ...any) {
		r := refuse(ReasonProof, format, args...)
		r.From, r.Method = teller, methodHistory
		c.refused(r)
	}
	c.mu.Lock()
	wished := c.wishes > 0
	c.wishes = max(0, c.wishes-1)
	c.mu.Unlock()
	told := round.History{To: h.To}
	switch {
	case !wished:
		no("nobody asked")
		return told, false
	case len(envelopes) == 0 && len(h.Messages) > 0:
		no("%d messages without the envelopes that prove them: an older conch; upgrade it", len(h.Messages))
		return told, false
	}
	var releases []*Envelope
	signers := map[round.MessageID]round.DeviceID{}
	for _, text := range envelopes {
		e, r := c.handedOn([]byte(text))
		if r != nil {
			no("%s: %s", r.From, r.Detail)
			continue
		}
		if _, ok := e.Packet.(round.Release); ok {
			releases = append(releases, e)
			continue
		}
		m, _ := e.Packet.(round.Message)
		if _, twice := signers[m.ID]; twice {
			continue
		}
		signers[m.ID] = e.From
		told.Messages = append(told.Messages, m)
	}
	for _, e := range releases {
		p, _ := e.Packet.(round.Release)
		i := slices.IndexFunc(told.Messages, func(m round.Message) bool {
			return m.ID == p.Said && m.From == round.Participant(p.Companion) && signers[m.ID] == e.From
		})
		if i >= 0 && p.Heard != nil {
			told.Messages[i].Text, told.Messages[i].Release = *p.Heard, p.Envelope
		}
	}
	return told, len(told.Messages) > 0 || len(envelopes) == 0
}

// handedOn opens an envelope that somebody else has handed on: a message, or a release that corrects one. What this device's own person
// and companions said it knows itself. A member's person is believed, and its companions as its cards name them; while it is away,
// those that are nobody's who is here.
func (c *Client) handedOn(raw []byte) (*Envelope, *Refusal) {
	if len(raw) > maxProof {
		return nil, refuse(ReasonProof, "an envelope of %d bytes; at most %d", len(raw), maxProof)
	}
	l, from, r := lookAnywhere(c.cfg.Room, raw)
	if r != nil {
		return nil, r
	}
	no := func(format string, args ...any) (*Envelope, *Refusal) {
		r := refuse(ReasonProof, format, args...)
		r.From = from
		return nil, r
	}
	switch {
	case l.Method != methodMessage && l.Method != methodRelease:
		return no("%s is nothing that was said", l.Method)
	case from == c.cfg.Identity.id:
		return no("what was said here is known here")
	case c.cfg.Member != nil && !c.cfg.Member(from):
		return no("signed by a device that is no member")
	}
	e, r := l.open(c.cfg.Room)
	if r != nil {
		return nil, r
	}
	e.proof()
	who := round.Participant("")
	switch p := e.Packet.(type) {
	case round.Message:
		if who = p.From; p.Private() || p.Metadata.Silence {
			return no("nothing that others may know")
		}
		if who.Human() && p.Epoch.Device != from {
			return no("a person's words in a press of another device")
		}
	case round.Release:
		if who = round.Participant(p.Companion); p.For != "" || p.Heard == nil || p.Said == "" {
			return no("a release that corrects nothing")
		}
	}
	companion, ok := who.Companion()
	if !ok {
		if who != round.Human(from) {
			return no("%.60q is not the person there", string(who))
		}
		return &e, nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if there, known := c.known[from]; known && !there.ids[companion] {
		return no("%.40q does not live there", string(companion))
	} else if known {
		return &e, nil
	}
	for d, there := range c.known {
		if there.ids[companion] {
			return no("%.40q lives on %s", string(companion), d)
		}
	}
	if c.livesHere(companion) {
		return no("%.40q lives here", string(companion))
	}
	return &e, nil
}

// lookAnywhere reads the outside of an envelope that came without its topic: the signer's is the one it was under.
func lookAnywhere(room string, raw []byte) (*unproven, round.DeviceID, *Refusal) {
	var f frame
	if !f.sealed(raw) { // in another form, which may be good all the same
		f = frame{}
		if !utf8.Valid(raw) || depth(raw) > maxDepth || json.Unmarshal(raw, &f) != nil {
			return nil, "", refuse(ReasonMalformed, "not an envelope")
		}
	}
	key, err := b64.DecodeString(f.Key)
	if err != nil || len(key) != ed25519.PublicKeySize {
		return nil, "", refuse(ReasonForged, "key is not an Ed25519 key")
	}
	m := methodNamed(f.Method)
	if m == nil {
		return nil, "", refuse(ReasonMethod, "unknown method %.40q", f.Method)
	}
	from := Fingerprint(key)
	l, r := look(room, Topic(room, m.kind, from), raw)
	return l, from, r
}
