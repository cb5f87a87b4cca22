package device

import (
	"testing"
	"time"

	"conch/companions/voice/rehearsal"
	"conch/coordinator/turn"
)

// Every fault of the voice ends in an answer or in words, and in IDLE; the next question is answered; nothing is left.
func TestFaultsOfTheVoice(t *testing.T) {
	for _, c := range []struct {
		name   string
		faults rehearsal.Faults
		config func(*Config)
		ask    string
		spoken bool
		reason turn.Reason // when words is set
		words  turn.Words  // "": it is answered all the same
		heal   string      // "" or what it needs to heal
	}{
		{name: "slow", faults: rehearsal.Faults{FirstByte: 1200 * time.Millisecond}},
		{name: "slower than the deadline", faults: rehearsal.Faults{FirstByte: time.Minute},
			config: func(c *Config) { c.Turn.Commit = 1500 * time.Millisecond }, reason: turn.Expired, words: turn.WordsNoAnswer},
		{name: "silent", faults: rehearsal.Faults{ForgetTheAnswer: true},
			config: func(c *Config) { c.Turn.Commit = 1500 * time.Millisecond }, reason: turn.Expired, words: turn.WordsNoAnswer},
		{name: "bursty", faults: rehearsal.Faults{Burst: 400 * time.Millisecond}},
		{name: "duplicating", faults: rehearsal.Faults{Duplicate: 1}},
		{name: "dropping mid-answer", faults: rehearsal.Faults{DropAfter: 500 * time.Millisecond}, ask: "long",
			reason: turn.Failed, words: turn.WordsLostMidway},
		{name: "garbage now and then", faults: rehearsal.Faults{Garbage: 0.5}},
		{name: "unknown events", faults: rehearsal.Faults{Unknown: 1}},
		{name: "refused commit", faults: rehearsal.Faults{RefuseCommit: true}, spoken: true, reason: turn.Failed, words: turn.WordsNotHeard},
		{name: "refused response", faults: rehearsal.Faults{RefuseResponse: true}, reason: turn.Failed, words: turn.WordsQuota},
		{name: "failed response", faults: rehearsal.Faults{FailResponse: true}, spoken: true, reason: turn.Failed, words: turn.WordsServerError},
		{name: "incomplete response", faults: rehearsal.Faults{Incomplete: true}, ask: "One sentence. Another long one.", reason: turn.Failed, words: turn.WordsServerError},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			b := newBox(t, boxOptions{config: c.config})
			b.server.SetFaults(c.faults)
			var r TurnRecord
			switch {
			case c.spoken:
				r = b.say(300 * time.Millisecond)
			case c.ask != "":
				r = b.ask(c.ask)
			default:
				r = b.ask("short")
			}
			if c.words == "" {
				b.answered(r)
			} else {
				b.failed(r, c.reason, c.words)
			}
			b.server.SetFaults(rehearsal.Faults{})
			b.fine()
		})
	}
}
