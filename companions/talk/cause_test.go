package talk

import (
	"testing"

	"conch/companions/round"
	"conch/coordinator/turn"
)

// TestAnAnswerFollowsSomebodysWords: whose they are decides what the answer may do.
func TestAnAnswerFollowsSomebodysWords(t *testing.T) {
	person := round.Human("kitchen")
	for name, c := range map[string]struct {
		from    round.Participant
		turn    string
		silence bool
		here    bool
		want    turn.Cause
	}{
		"typed here":                      {person, "t-1", false, true, turn.CauseLine},
		"said elsewhere":                  {person, "t-7", false, false, turn.CauseRoom},
		"said elsewhere under a name":     {person, "t-1", false, false, turn.CauseRoom},
		"said here, and not known longer": {person, "t-0", false, true, turn.CauseRoom},
		"said by a companion":             {"ben", "t-1", false, true, turn.CauseCompanion},
		"said by nobody":                  {person, "t-1", true, true, turn.CauseCompanion},
	} {
		m := round.Message{ID: "m-1", From: c.from, Turn: c.turn, Metadata: round.Metadata{Silence: c.silence}}
		_, out := play(Asked{Turn: "t-1", Cause: turn.CauseLine},
			Granted{Grant: round.Prepare{Place: here, Companion: "cleo", Message: m}, Who: "cleo", First: "ada", Up: true, Here: c.here, Turn: "t-9"})
		if got := only[Post](t, out).Event.(turn.FloorGranted).Cause; got != c.want {
			t.Errorf("%s: %v; want %v", name, got, c.want)
		}
	}
}
