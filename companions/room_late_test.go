package companions_test

import (
	"slices"
	"testing"
	"time"

	"conch/companions"
	"conch/companions/roomtest"
	"conch/companions/round"
)

// What a person said is told to the room without its words, which come later: they decide who answers where nobody has begun, and
// otherwise stand in every memory as what was said.
func TestWordsThatComeLate(t *testing.T) {
	inHouse(t, func(t *testing.T, h *roomtest.House) {
		kitchen, bedroom, hall := three(h)
		late := func(wait time.Duration, words string) {
			turn := kitchen.Press()
			after(time.Second)
			kitchen.Room.SaidTo(turn, round.Unwritten, []round.Participant{"ada"})
			after(wait)
			kitchen.Room.SaidLate(turn, words, nil, true, false)
			after(20 * time.Second)
		}
		late(100*time.Millisecond, "Ben, which book should I read?")
		wantSpeakers(t, h, "ben")
		late(3*time.Second, "Ben, are you there?")
		wantSpeakers(t, h, "ben ada")
		for _, d := range []*roomtest.Device{kitchen, bedroom, hall} {
			var said []string
			for _, m := range d.Room.Recent() {
				if m.From.Human() {
					said = append(said, m.Text)
				}
			}
			if want := []string{"Ben, which book should I read?", "Ben, are you there?"}; !slices.Equal(said, want) {
				t.Errorf("%s remembers %q; want %q", d.Name, said, want)
			}
			if n, _, differ := companions.ReplayLedger(d.Entries()); n < 4 || len(differ) > 0 {
				t.Errorf("%s: a replay of %d rounds: %v", d.Name, n, differ)
			}
		}
		for id, kinds := range ends(kitchen) {
			if len(kinds) != 1 {
				t.Errorf("message %s ended %q", id, kinds)
			}
		}
		sameChoices(t, kitchen, bedroom, hall)
	})
}
