package companions

import (
	"errors"
	"fmt"
	"slices"

	"conch/companions/round"
)

// ErrDiffers is wrapped by the errors of ReplayLedger about a choice that comes out differently.
var ErrDiffers = errors.New("the ledger's choice is not reproduced")

// ReplayLedger decides every round of a ledger again from its message, roster and votes, and compares the choices. It
// gives the number of rounds, how many more cannot be decided again because their words were not kept, and one error a difference.
func ReplayLedger(entries []round.Entry) (rounds, redacted int, differences []error) {
	for i, e := range entries {
		if e.Kind != round.EntryRound {
			continue
		}
		if e.Redacted {
			redacted++
			continue
		}
		rounds++
		if e.Message == nil || e.Decision == nil {
			differences = append(differences, fmt.Errorf("entry %d: %w: message or decision is missing", i+1, ErrDiffers))
			continue
		}
		was := *e.Decision
		is := round.Decide(*e.Message, was.Roster, was.Votes, was.Barred...)
		if len(was.Roster) == 0 { // nobody was asked, and why stands beside each of them (Silent)
			is.Reason = was.Reason
		}
		if was.Winner == "" && was.Because == "" { // an older device's list of reasons
			is.Reason = was.Reason
		}
		for _, c := range []struct {
			what    string
			was, is any
		}{
			{"winner", was.Winner, is.Winner}, {"order", was.Order, is.Order}, {"extras", was.Extras, is.Extras},
			{"ended", was.Ended, is.Ended}, {"reason", was.Reason, is.Reason}, {"silent", who(was.Silent, was.Roster), who(is.Silent, is.Roster)},
		} {
			if w, n := fmt.Sprint(c.was), fmt.Sprint(c.is); w != n {
				differences = append(differences, fmt.Errorf("entry %d: message %s: %w: %s was %s, is %s", i+1, e.Message.ID, ErrDiffers, c.what, w, n))
			}
		}
	}
	return rounds, redacted, differences
}

// who are the silent ones of the roster; a machine adds who was not asked at all.
func who(silent []round.Silent, roster []round.CompanionID) (ids []round.CompanionID) {
	for _, s := range silent {
		if slices.Contains(roster, s.Companion) {
			ids = append(ids, s.Companion)
		}
	}
	return ids
}
