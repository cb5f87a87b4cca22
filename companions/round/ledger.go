package round

import (
	"slices"

	"conch/companions/round/because"
)

// Entry is one line of the ledger: what happened in the room as one device saw it, with everything a choice was made of,
// so that replaying it reproduces the choice. Fields that do not apply are left out.
type Entry struct {
	Kind      EntryKind      `json:"kind"`
	AtMS      float64        `json:"at_ms"` // of the device's own clock; comparable within one run of one device only
	Device    DeviceID       `json:"device"`
	Place     *Place         `json:"place,omitempty"`
	Message   *Message       `json:"message,omitempty"`
	Companion CompanionID    `json:"companion,omitempty"` // who claimed, spoke, failed, was renamed
	By        DeviceID       `json:"by,omitempty"`        // whose doing it was
	Why       string         `json:"why,omitempty"`
	Because   because.Reason `json:"because,omitempty"` // why, for readers of any language; empty where only text says it
	HeardMS   int            `json:"heard_ms,omitempty"`
	Redacted  bool           `json:"redacted,omitempty"`  // its words were left out: it cannot be decided again
	TextHash  string         `json:"text_hash,omitempty"` // of what was said, keyed for one run: tells only that two lines have the same text

	Decision *Decision `json:"decision,omitempty"` // EntryRound
}

// EntryKind says what an entry tells of.
type EntryKind string

// Kinds of entries. Every message of a person ends in exactly one of EntryAnswered, EntrySilent, EntrySuperseded (I2).
const (
	EntryPress      EntryKind = "press"      // a person took the floor
	EntryRound      EntryKind = "round"      // a round was decided
	EntryClaim      EntryKind = "claim"      // a companion took the floor
	EntryWithdraw   EntryKind = "withdraw"   // a claim was taken back
	EntryFailed     EntryKind = "failed"     // the floor was lost without a word: died, failed, too late
	EntryInstead    EntryKind = "instead"    // the next candidate took over
	EntryAnswered   EntryKind = "answered"   // a person's message was answered
	EntrySpoke      EntryKind = "spoke"      // a companion has finished (or was cut)
	EntrySilent     EntryKind = "silent"     // deliberately nobody
	EntrySuperseded EntryKind = "superseded" // a newer press
	EntryEnded      EntryKind = "ended"      // the conversation is over
	EntryMember     EntryKind = "member"     // somebody came, changed or went
	EntryControl    EntryKind = "control"    // manners were turned
)

// Decision is the outcome of one round: a pure function of the message, the roster and the votes.
type Decision struct {
	Roster  []CompanionID  `json:"roster"` // sorted
	Votes   []Vote         `json:"votes"`  // that counted, sorted by From
	Absent  []CompanionID  `json:"absent,omitempty"`
	Barred  []Silent       `json:"barred,omitempty"` // who would speak by its vote, and may not by a person's words
	Winner  CompanionID    `json:"winner,omitempty"` // empty: nobody
	Layer   Layer          `json:"layer,omitempty"`  // that the winner's vote comes from
	Order   []CompanionID  `json:"order,omitempty"`  // all who may speak, best first; the winner leads
	Extras  []CompanionID  `json:"extras,omitempty"` // who speaks after the winner, in order
	Reason  string         `json:"reason"`
	Because because.Reason `json:"because,omitempty"`
	Silent  []Silent       `json:"silent,omitempty"`   // one reason for everyone who does not speak
	Ended   bool           `json:"ended,omitempty"`    // all are done
	Waited  float64        `json:"waited_ms"`          // from the message to the decision; no part of the choice
	AtLimit bool           `json:"at_limit,omitempty"` // decided at the deadline, not by the last vote
}

// vote is that of a companion, if it counted.
func (d Decision) vote(c CompanionID) (Vote, bool) {
	if i := slices.IndexFunc(d.Votes, func(v Vote) bool { return v.From == c }); i >= 0 {
		return d.Votes[i], true
	}
	return Vote{}, false
}

// silenced is why a companion does not speak.
func silenced(c CompanionID, l Layer, b because.Reason, name func(string) string) Silent {
	return Silent{Companion: c, Layer: l, Reason: b.English(name), Because: b}
}

// Silent is why a companion does not speak.
type Silent struct {
	Companion CompanionID    `json:"companion"`
	Layer     Layer          `json:"layer,omitempty"` // empty: it did not vote, or older devices did not say
	Reason    string         `json:"reason"`
	Because   because.Reason `json:"because,omitempty"`
}
