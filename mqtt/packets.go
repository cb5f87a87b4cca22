package mqtt

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"

	"conch/companions/round"
)

// Names of methods (doc.go has the table).
const (
	methodPresence = "presence.update"
	methodHello    = "presence.hello"
	methodMessage  = "message.send"
	methodHistory  = "message.history"
	methodControl  = "room.control"
	methodState    = "state.send"
	methodPress    = "floor.press"
	methodOpen     = "floor.open"
	methodClaim    = "floor.claim"
	methodWithdraw = "floor.withdraw"
	methodSpeaking = "floor.speaking"
	methodRelease  = "floor.release"
	methodEnded    = "floor.ended"
	methodEntry    = "ledger.entry"
)

// method is one row of the table of methods. Fixed.
type method struct {
	name   string
	kind   Kind
	qos    byte
	max    int // bytes of an envelope
	unpack func(e *Envelope, params []byte) *Refusal
	packet []round.Packet // what it is sent for
}

var methods = [...]method{
	{methodPresence, KindPresence, 0, MaxEnvelope, unpackPresence, []round.Packet{round.Beat{}, round.Gone{}, round.HistoryAsk{}}},
	{methodHello, KindPresence, 0, MaxEnvelope, unpackHello, nil},
	{methodMessage, KindMessages, 1, MaxEnvelope, unpackMessage, []round.Packet{round.Message{}}},
	{methodHistory, KindMessages, 1, maxHistory, unpackHistory, []round.Packet{round.History{}}},
	carries[round.Control](methodControl, KindMessages, 1, MaxEnvelope),
	{methodState, KindStates, 1, MaxEnvelope, unpackVotes, []round.Packet{round.Votes{}}},
	{methodPress, KindFloor, 1, MaxEnvelope, unpackPress, []round.Packet{round.Press{}}}, // and at once under 0
	carries[round.PressOver](methodOpen, KindFloor, 1, MaxEnvelope),
	{methodClaim, KindFloor, 1, MaxEnvelope, unpackClaim, []round.Packet{round.Claim{}}},
	carries[round.Withdraw](methodWithdraw, KindFloor, 1, MaxEnvelope),
	carries[round.Speaking](methodSpeaking, KindFloor, 1, MaxEnvelope),
	{methodRelease, KindFloor, 1, MaxEnvelope, unpackRelease, []round.Packet{round.Release{}}},
	carries[round.Ended](methodEnded, KindFloor, 1, MaxEnvelope),
	carries[round.Seen](methodEntry, KindLedger, 0, MaxEnvelope),
}

// carries is the row of a method whose parameters are the packet itself.
func carries[P round.Packet](name string, k Kind, qos byte, most int) method {
	unpack := func(e *Envelope, params []byte) *Refusal {
		var in P
		if r := decode(params, &in); r != nil {
			return r
		}
		e.Packet = in
		return check(e.Packet, e.From)
	}
	var none P
	return method{name, k, qos, most, unpack, []round.Packet{none}}
}

// The table by name, and by the type of what is sent.
var methodIndex, methodOf = func() (map[string]*method, map[reflect.Type]*method) {
	names, types := map[string]*method{}, map[reflect.Type]*method{}
	for i := range methods {
		names[methods[i].name] = &methods[i]
		for _, p := range methods[i].packet {
			types[reflect.TypeOf(p)] = &methods[i]
		}
	}
	return names, types
}()

// methodNamed is the row of a method; nil: not known. A note's is made for it: what notes there are is not decided here.
func methodNamed(name string) *method {
	if m := methodIndex[name]; m != nil {
		return m
	}
	return noteMethod(name)
}

// pack makes the parameters of a packet, within the bounds that the other side checks.
func pack(self round.DeviceID, p round.Packet, x extra) (*method, []byte, error) {
	m := methodOf[reflect.TypeOf(p)]
	if m == nil {
		return nil, nil, fmt.Errorf("mqtt: %T is not sent", p)
	}
	p = trim(p)
	if r := check(inTheClear(p), self); r != nil {
		return nil, nil, fmt.Errorf("mqtt: %s: %s", m.name, r.Detail)
	}
	most := m.max - envelopeOverhead
	limit := most
	if m.name != methodHistory {
		limit = min(limit, slimAbove)
	}
	for step := 0; ; step++ {
		params, err := marshal(p, x)
		if err != nil {
			return nil, nil, fmt.Errorf("mqtt: %s: %w", m.name, err)
		}
		if len(params) <= limit {
			return m, params, nil
		}
		if len(x.envelopes) > 0 { // the newest are kept
			over := len(params) - limit
			for len(x.envelopes) > 0 && over > 0 {
				over -= len(x.envelopes[0]) // and its escapes: another round may follow
				x.envelopes = x.envelopes[1:]
			}
			continue
		}
		var ok bool
		if p, ok = slimmer(p, step); !ok {
			if len(params) <= most {
				return m, params, nil
			}
			return nil, nil, fmt.Errorf("mqtt: %s: %d bytes; at most %d", m.name, len(params), most)
		}
		limit = most
	}
}

// presence is what presence.update carries: one of the three.
type presence struct {
	Beat       *beat     `json:"beat,omitempty"`
	Gone       *struct{} `json:"gone,omitempty"`
	HistoryAsk *struct{} `json:"historyAsk,omitempty"`
}

// beat is round.Beat with cards that may be there and empty ("no companions here"), or not there ("as before").
type beat struct {
	round.Beat
	Cards *[]round.Card `json:"cards,omitempty"`
	Age   int64         `json:"ageMs,omitempty"`      // of the session
	Near  []string      `json:"near,omitempty"`       // host:port, with the cards: where it hears presses in the house
	Key   string        `json:"whisperKey,omitempty"` // X25519, with the cards: for whoever has something private for a companion there
}

// inTheClear is what of a packet everybody may read: of what is private not the words, whoever sends it.
func inTheClear(p round.Packet) round.Packet {
	switch p := p.(type) {
	case round.Message:
		return p.Public()
	case round.Release:
		if p.For != "" {
			p.Heard = nil
		}
		return p
	}
	return p
}

// The packets with something sealed, a press with its age, and a history with what proves it.
type (
	sealedMessage struct {
		round.Message
		Sealed string `json:"sealed,omitempty"`
	}
	sealedRelease struct {
		round.Release
		Sealed string `json:"sealed,omitempty"`
	}
	agedPress struct {
		round.Press
		Age int64 `json:"ageMs,omitempty"` // of the session
	}
	provedHistory struct {
		round.History
		Envelopes []string `json:"envelopes,omitempty"` // of messages and of releases that correct them, in any order
	}
)

func marshal(p round.Packet, x extra) ([]byte, error) {
	p = inTheClear(p)
	var v any = p
	switch p := p.(type) {
	case round.Message:
		v = sealedMessage{p, x.sealed}
	case round.Release:
		v = sealedRelease{p, x.sealed}
	case round.History:
		p.Messages = []round.Message{} // whoever believes a teller's word (version 1) learns nothing
		v = provedHistory{p, x.envelopes}
	case round.Press:
		v = agedPress{p, x.age}
	case round.Beat:
		b := &beat{Beat: p, Key: x.key, Age: x.age, Near: x.near}
		if p.Cards != nil {
			b.Cards = &p.Cards
		}
		v = presence{Beat: b}
	case round.Gone:
		v = presence{Gone: &struct{}{}}
	case round.HistoryAsk:
		v = presence{HistoryAsk: &struct{}{}}
	}
	return JSON(v)
}

// JSON is v on one line, without the escapes that are for web pages: "<" is one byte in a text, not six.
func JSON(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

func unpackPresence(e *Envelope, params []byte) *Refusal {
	var in presence
	if r := decode(params, &in); r != nil {
		return r
	}
	switch {
	case in.Beat != nil:
		b := in.Beat.Beat
		b.Cards = nil
		if in.Beat.Cards != nil {
			b.Cards = *in.Beat.Cards
			if b.Cards == nil {
				b.Cards = []round.Card{}
			}
		}
		e.Packet, e.near, e.age = b, in.Beat.Near, in.Beat.Age
		if key, err := b64.DecodeString(in.Beat.Key); err == nil && len(key) == whisperKeyLen {
			e.key = key
		}
	case in.Gone != nil:
		e.Packet = round.Gone{}
	case in.HistoryAsk != nil:
		e.Packet = round.HistoryAsk{}
	default:
		return refuse(ReasonFields, "neither beat nor gone nor historyAsk")
	}
	return check(e.Packet, e.From)
}

func unpackPress(e *Envelope, params []byte) *Refusal {
	var in agedPress
	if r := decode(params, &in); r != nil {
		return r
	}
	e.Packet, e.age = in.Press, in.Age
	return check(e.Packet, e.From)
}

func unpackMessage(e *Envelope, params []byte) *Refusal {
	var in sealedMessage
	if r := decode(params, &in); r != nil {
		return r
	}
	if len(in.Sealed) > maxSealed {
		return refuse(ReasonFields, "sealed: %d; at most %d", len(in.Sealed), maxSealed)
	}
	e.Packet, e.sealed = in.Message, in.Sealed
	return check(e.Packet, e.From)
}

func unpackRelease(e *Envelope, params []byte) *Refusal {
	var in sealedRelease
	if r := decode(params, &in); r != nil {
		return r
	}
	if len(in.Sealed) > maxSealed {
		return refuse(ReasonFields, "sealed: %d; at most %d", len(in.Sealed), maxSealed)
	}
	e.Packet, e.sealed = in.Release, in.Sealed
	return check(e.Packet, e.From)
}

func unpackHistory(e *Envelope, params []byte) *Refusal {
	var in provedHistory
	if r := decode(params, &in); r != nil {
		return r
	}
	if len(in.Envelopes) > maxProofs {
		return refuse(ReasonFields, "%d envelopes; at most %d", len(in.Envelopes), maxProofs)
	}
	e.Packet, e.envelopes = in.History, in.Envelopes
	return check(e.Packet, e.From)
}

func unpackHello(e *Envelope, params []byte) *Refusal {
	e.hello = new(hello)
	if r := decode(params, e.hello); r != nil {
		return r
	}
	if h := e.hello; len(h.Prove) > maxPeers || len(h.Heard) > maxPeers {
		return refuse(ReasonFields, "a hello to %d and %d devices; at most %d", len(h.Prove), len(h.Heard), maxPeers)
	}
	return nil
}

// vote is round.Vote with fields that can be seen to be missing (ROOM.md 2: such a vote is rejected).
type vote struct {
	round.Vote
	From       *round.CompanionID `json:"from"`
	MessageID  *round.MessageID   `json:"messageId"`
	State      *round.State       `json:"state"`
	Importance *float64           `json:"importance"`
	Selected   *bool              `json:"selected"`
	Closing    *round.Closing     `json:"closing"`
}

func (v *vote) vote() (round.Vote, *Refusal) {
	if v == nil {
		return round.Vote{}, refuse(ReasonVote, "null")
	}
	for _, f := range [...]struct {
		name string
		ok   bool
	}{
		{"from", v.From != nil}, {"messageId", v.MessageID != nil}, {"state", v.State != nil},
		{"importance", v.Importance != nil}, {"selected", v.Selected != nil}, {"closing", v.Closing != nil},
	} {
		if !f.ok {
			return round.Vote{}, refuse(ReasonVote, "%s is missing", f.name)
		}
	}
	out := v.Vote
	out.From, out.MessageID, out.State = *v.From, *v.MessageID, *v.State
	out.Importance, out.Selected, out.Closing = *v.Importance, *v.Selected, *v.Closing
	return out, nil
}

// votes keeps the votes that can count; the others are reported one by one.
func votes(in []*vote, place round.Place) (good []round.Vote, bad []*Refusal, r *Refusal) {
	if len(in) > maxVotes {
		return nil, nil, refuse(ReasonFields, "%d states; at most %d", len(in), maxVotes)
	}
	seen := make(map[round.CompanionID]bool, len(in))
	for i, v := range in {
		out, r := v.vote()
		if r == nil {
			r = checkVote(out, place)
		}
		if r == nil && seen[out.From] {
			r = refuse(ReasonVote, "a second vote of %.40q", out.From)
		}
		if r != nil {
			r.Detail = fmt.Sprintf("states[%d]: %s", i, r.Detail)
			bad = append(bad, r)
			continue
		}
		seen[out.From] = true
		good = append(good, out)
	}
	return good, bad, nil
}

func unpackVotes(e *Envelope, params []byte) *Refusal {
	var in struct {
		Place  round.Place `json:"place"`
		States []*vote     `json:"states"`
	}
	if r := decode(params, &in); r != nil {
		return r
	}
	good, bad, r := votes(in.States, in.Place)
	if r != nil {
		return r
	}
	if len(good) == 0 && len(bad) > 0 {
		return refuse(ReasonVote, "none of %d votes can count: %s", len(bad), bad[0].Detail)
	}
	for _, b := range bad {
		b.From, b.Method = e.From, e.Method
	}
	e.votes = bad
	e.Packet = round.Votes{Place: in.Place, Votes: good}
	return check(e.Packet, e.From)
}

// unpackClaim refuses a claim whole when one of its votes is bad: it is by its votes that claims are compared.
func unpackClaim(e *Envelope, params []byte) *Refusal {
	in := struct {
		*round.Claim
		States []*vote `json:"states"`
	}{Claim: new(round.Claim)}
	if r := decode(params, &in); r != nil {
		return r
	}
	if in.Claim == nil {
		return refuse(ReasonFields, "no claim")
	}
	good, bad, r := votes(in.States, in.Claim.Place)
	if r != nil {
		return r
	}
	if len(bad) > 0 {
		return refuse(ReasonVote, "%s", bad[0].Detail)
	}
	in.Claim.Votes = good
	e.Packet = *in.Claim
	return check(e.Packet, e.From)
}

func decode(params []byte, into any) *Refusal {
	if len(params) == 0 || params[0] != '{' {
		return refuse(ReasonFields, "params: want an object")
	}
	if err := json.Unmarshal(params, into); err != nil {
		return refuse(ReasonFields, "params: %v", err)
	}
	return nil
}
