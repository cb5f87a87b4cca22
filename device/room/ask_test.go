package room

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"conch/companions"
	"conch/companions/roomtest"
	"conch/companions/round"
	"conch/device/control"
)

// The winner claims the floor as soon as its own device has all votes, and that may be before the asker's has: whoever asked
// is told by whom and where the answer was begun all the same.
func TestWhoClaimsBeforeTheDecisionIsKnownIsToldOf(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := roomtest.NewHouse(1)
		kitchen := h.Add("kitchen", roomtest.Plan{})
		bedroom := h.Add("bedroom", roomtest.Plan{Options: companions.RoomOptions{Cards: []companions.Card{{Card: round.Card{ID: "ben", Name: "Ben"}}}}})
		time.Sleep(5 * time.Second)
		d := &Driver{Room: kitchen.Room, o: Options{Self: kitchen.ID}}
		m := round.Message{Turn: "t-1", From: round.Human(kitchen.ID), ID: "m"}
		p := m.Place()
		for _, end := range []round.Entry{ // both tell of a cut
			{Kind: round.EntryPress, By: kitchen.ID},
			{Kind: round.EntrySpoke, Place: &p, Companion: "ben", By: bedroom.ID, Why: "interrupted"},
		} {
			entries := make(chan round.Entry, 4)
			entries <- round.Entry{Kind: round.EntryClaim, Place: &p, Companion: "ben", By: bedroom.ID}
			entries <- round.Entry{Kind: round.EntryRound, Place: &p, Message: &m, Decision: &round.Decision{Winner: "ben"}}
			entries <- round.Entry{Kind: round.EntryAnswered, Place: &p, Message: &m}
			entries <- end
			a := control.Answer{Turn: "t-1"}
			if err := follow(t.Context(), d, &a, entries); err != nil {
				t.Fatal(err)
			}
			if a.Who != "Ben" || a.Place != "bedroom" || a.Outcome != control.OutcomeAnswered || a.Why != "it was cut" {
				t.Errorf("%s: %+v", end.Kind, a)
			}
		}
		if err := h.Close(); err != nil {
			t.Error(err)
		}
	})
}

// A question is void once anything newer is known, also where the press itself never came: whoever asked is told, whatever was under way.
func TestAQuestionEndsWithWhateverIsNewer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := roomtest.NewHouse(1)
		kitchen := h.Add("kitchen", roomtest.Plan{})
		time.Sleep(5 * time.Second)
		d := &Driver{Room: kitchen.Room, o: Options{Self: kitchen.ID}}
		m := round.Message{Turn: "t-1", From: round.Human(kitchen.ID), ID: "m", Epoch: round.Epoch{N: 4, Device: kitchen.ID}}
		p := m.Place()
		newer := round.Place{Epoch: round.Epoch{N: 5, Device: "z"}, Message: "n"}
		asked := round.Entry{Kind: round.EntryRound, Place: &p, Message: &m}
		begun := round.Entry{Kind: round.EntryAnswered, Place: &p, Message: &m}
		for _, c := range []struct {
			name    string
			entries []round.Entry
			want    control.Outcome
			why     string
		}{
			{"asked", []round.Entry{asked}, control.OutcomeSuperseded, "a newer question or press came"},
			{"being answered", []round.Entry{asked, begun}, control.OutcomeAnswered, "it was cut"},
			{"told by the room", []round.Entry{asked, {Kind: round.EntrySuperseded, Place: &p, Message: &m, Why: "told"}}, control.OutcomeSuperseded, "told"},
		} {
			entries := make(chan round.Entry, 4)
			for _, e := range c.entries {
				entries <- e
			}
			entries <- round.Entry{Kind: round.EntryRound, Place: &newer, Message: &round.Message{Epoch: newer.Epoch, ID: "n"}}
			within, over := context.WithTimeout(t.Context(), time.Minute)
			a := control.Answer{Turn: "t-1"}
			if err := follow(within, d, &a, entries); err != nil || a.Outcome != c.want || a.Why != c.why {
				t.Errorf("%s: %v, %q, %q; want %q, %q", c.name, err, a.Outcome, a.Why, c.want, c.why)
			}
			over()
		}
		if err := h.Close(); err != nil {
			t.Error(err)
		}
	})
}
