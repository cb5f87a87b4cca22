package mqtt

import (
	"fmt"

	"conch/companions/round"
)

// Reason is why something that arrived was not delivered. Every reason has a counter (Stats.Refused).
type Reason string

// Reasons.
const (
	ReasonTopic     Reason = "topic"         // not a topic of this room, or not the signer's
	ReasonOversized Reason = "oversized"     // larger than the wire allows
	ReasonMalformed Reason = "malformed"     // not UTF-8, not JSON, nested too deep, not a JSON-RPC 2.0 notification
	ReasonMethod    Reason = "method"        // a method that this version does not know
	ReasonForged    Reason = "forged"        // the signature does not fit
	ReasonFields    Reason = "fields"        // a field is missing, out of range or unknown where a choice depends on it
	ReasonVote      Reason = "vote"          // one vote of an envelope had such a field; the others counted
	ReasonFrom      Reason = "from"          // speaks for somebody who does not live on the signing device
	ReasonCards     Reason = "cards-unknown" // speaks for a companion whose card has not been seen yet
	ReasonStranger  Reason = "stranger"      // not a member of the room
	ReasonRepeated  Reason = "repeated"      // had been received already
	ReasonOld       Reason = "old"           // from a session that is over, or too far back
	ReasonUnproven  Reason = "unproven"      // from a session that has not shown that it lives
	ReasonSealed    Reason = "sealed"        // private, for this device, and cannot be opened
	ReasonProof     Reason = "unproved"      // of a history: not signed by the device of whoever is to have said it, or by no member
	ReasonCrowded   Reason = "crowded"       // more devices than a room may have
	ReasonOverrun   Reason = "overrun"       // came faster than it could be handled
	ReasonFlood     Reason = "flood"         // beyond what one member may say (Bounds)
)

// Refusal is something that was not delivered.
type Refusal struct {
	Reason Reason
	From   round.DeviceID // as the topic says; the signature may not have been looked at
	Method string
	Detail string
}

// String says it in words.
func (r Refusal) String() string {
	what := r.Method
	if what == "" {
		what = "something"
	}
	return fmt.Sprintf("%s from %s refused (%s): %s", what, r.From, r.Reason, r.Detail)
}

func refuse(r Reason, format string, args ...any) *Refusal {
	return &Refusal{Reason: r, Detail: fmt.Sprintf(format, args...)}
}
