package companions_test

import (
	"strings"
	"testing"
	"time"

	"conch/companions"
	"conch/companions/roomtest"
	"conch/companions/round"
)

func TestWhyTellsWhatHappened(t *testing.T) {
	inHouse(t, func(t *testing.T, h *roomtest.House) {
		kitchen, bedroom, hall := three(h)
		devices := []*roomtest.Device{kitchen, bedroom, hall}
		wantWhy := func(parts ...string) {
			t.Helper()
			for _, d := range devices { // everybody saw it, so everybody can tell
				why := d.Room.Why("")
				for _, part := range parts {
					if !strings.Contains(why, part) {
						t.Errorf("%s says %q; want %q in it", d.Name, why, part)
					}
				}
				for _, jargon := range []string{"epoch", "vote", "roster", "ada ", "ben ", "cleo ", "importance"} {
					if strings.Contains(why, jargon) {
						t.Errorf("%s says %q: people do not say %q", d.Name, why, jargon)
					}
				}
			}
		}
		if why := kitchen.Room.Why(""); why != "Nobody has said anything here yet." {
			t.Errorf("before anything was said: %q", why)
		}
		bedroom.Ask("Ada, how long does an egg have to boil?")
		after(8 * time.Second)
		wantWhy("Ada spoke after a person in bedroom said “Ada, how long does an egg have to boil?”: ", "Ben stayed silent: ", "Cleo stayed silent: ")
		if got := bedroom.Room.WhyOf("", "ben"); !strings.HasPrefix(got, "Ben has not spoken lately; the last time it stayed silent after a person in bedroom said “Ada, how") {
			t.Errorf("why Ben: %q", got)
		}
		kitchen.Ask("Cleo, where is my coat?")
		after(time.Second)
		// The question "why did you speak?" is a round of its own; what is meant is the last time it spoke.
		if got := hall.Room.WhyOf("", "ada"); !strings.HasPrefix(got, "Ada spoke after a person in bedroom said “Ada, how long") {
			t.Errorf("why Ada: %q", got)
		}
		wantWhy("Cleo is to speak after a person in kitchen said")
		after(8 * time.Second)
		hall.Ask("Thank you.")
		after(8 * time.Second)
		wantWhy("Nobody spoke after a person in hall said “Thank you.”: ")
		if got := hall.Room.WhyOf("", "nobody"); got != "nobody has not spoken lately." {
			t.Errorf("why somebody unknown: %q", got)
		}
	})
}

// An answer that a press in a third room cut at once was spoken, for all that the device of the question knows.
func TestWhyTellsOfAnAnswerThatWasCutElsewhere(t *testing.T) {
	inHouse(t, func(t *testing.T, h *roomtest.House) {
		kitchen, bedroom, hall := three(h)
		kitchen.Ask("Ben, tell me a story.")
		after(2 * time.Second)
		hall.Press()
		after(10 * time.Second)
		for _, d := range []*roomtest.Device{kitchen, bedroom, hall} {
			want := "Ben spoke after a person in kitchen said"
			if d == hall { // it knows of the press alone
				want = "Ben was to speak after a person in kitchen said"
			}
			if why := d.Room.Why(""); !strings.HasPrefix(why, want) {
				t.Errorf("%s says %q", d.Name, why)
			}
		}
	})
}

func TestMembersTextSaysWhoIsHere(t *testing.T) {
	inHouse(t, func(t *testing.T, h *roomtest.House) {
		kitchen := h.Add("kitchen", living("ada", "ben"))
		after(time.Second)
		if got, want := kitchen.Room.MembersText(), "Nobody else is here: only kitchen (this device) with Ada and Ben."; got != want {
			t.Errorf("%q, want %q", got, want)
		}
		quiet := card("cleo")
		quiet.Involvement = round.InvolvementOff
		h.Add("hall", roomtest.Plan{Options: companions.RoomOptions{Cards: []companions.Card{quiet}}})
		meet()
		for _, want := range []string{"2 devices are in the room: ", "kitchen (this device) with Ada and Ben", "hall with Cleo, who speaks only when asked"} {
			if got := kitchen.Room.MembersText(); !strings.Contains(got, want) {
				t.Errorf("%q, want %q in it", got, want)
			}
		}
		muted := true
		kitchen.Room.Control(round.Control{Companion: "ben", Mute: &muted})
		after(time.Second)
		if got := kitchen.Room.MembersText(); !strings.Contains(got, "Ben, who is muted") {
			t.Errorf("%q, want that Ben is muted", got)
		}
	})
}
