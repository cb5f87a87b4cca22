package companions

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"conch/companions/round"
)

// TestReplayOfALedger: every choice is reproduced, and a changed one is told.
func TestReplayOfALedger(t *testing.T) {
	v := func(id round.CompanionID, importance float64) round.Vote {
		return round.Vote{From: id, MessageID: "m1", State: round.StateSpeak, Importance: importance, Closing: round.ClosingNone, Reason: "it knows"}
	}
	m := round.Message{ID: "m1", From: "human:k1", Text: "How are you all?"}
	d := round.Decide(m, []round.CompanionID{"ada", "bob", "cleo"}, []round.Vote{v("bob", 7), v("ada", 6), v("cleo", 10)},
		round.Silent{Companion: "cleo", Layer: round.LayerForbidden, Reason: "the speaker asked for somebody else"})
	d.Waited = 12
	entries := []round.Entry{{Kind: round.EntryPress}, {Kind: round.EntryRound, Message: &m, Decision: &d}}
	if n, _, diff := ReplayLedger(entries); n != 1 || len(diff) > 0 {
		t.Errorf("%d rounds, %v", n, diff)
	}
	lie := d
	lie.Winner = "ada"
	entries = append(entries, round.Entry{Kind: round.EntryRound, Message: &m, Decision: &lie}, round.Entry{Kind: round.EntryRound})
	entries = append(entries, redacted(entries[1]))
	if line, err := json.Marshal(entries[len(entries)-1]); err != nil || strings.Contains(string(line), "somebody else") {
		t.Errorf("%s, %v: it says why", line, err)
	}
	n, left, diff := ReplayLedger(entries)
	if n != 3 || left != 1 || len(diff) != 2 || !errors.Is(diff[0], ErrDiffers) || !strings.Contains(diff[0].Error(), "winner was ada, is bob") {
		t.Errorf("%d rounds, %v", n, diff)
	}
}
