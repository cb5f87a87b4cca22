package room

import (
	"strings"
	"testing"
	"time"

	"conch/companions/round"
	"conch/device/control"
)

// Who belongs to a paired room stands there, with those that are away, those that have not come yet, and those of room.members.
func TestPairedRoomText(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 21, 20, 0, 0, 0, time.Local)
	until := time.Date(2028, 11, 21, 0, 0, 0, 0, time.Local)
	const kitchen, bedroom, hall, attic, garden = "aaaaaaaaaaaaaaaaaaaa", "bbbbbbbbbbbbbbbbbbbb", "cccccccccccccccccccc", "dddddddddddddddddddd", "eeeeeeeeeeeeeeeeeeee"
	s := control.RoomStatus{
		Room: "home", Device: bedroom, Broker: "of kitchen", Connected: true,
		Members: []round.Member{
			{Device: bedroom, Name: "bedroom", Cards: []round.Card{{ID: "ben", Name: "Ben"}, {ID: "mia", Name: "Mia", Muted: true}}},
			{Device: kitchen, Name: "kitchen", Cards: []round.Card{{ID: "ada", Name: "Ada"}}},
			{Device: garden, Name: "garden", Cards: []round.Card{{ID: "cleo", Name: "Cleo"}}},
		},
		Paired: &control.PairedRoom{ID: "rabcdefghijklmno", Name: "home", Called: "bedroom", Host: kitchen, Expires: &until, Members: []control.PairedMember{
			{Device: bedroom, Name: "bedroom", Since: now.Add(-time.Hour), Here: true},
			{Device: kitchen, Name: "kitchen", Since: now.Add(-48 * time.Hour), Here: true, Host: true},
			{Device: hall, Name: "hall", Since: now.Add(-48 * time.Hour), Seen: now.Add(-24 * time.Hour), By: "kitchen"},
			{Device: attic, Name: "attic", Pending: true},
		}, Removed: []control.PairedGone{{Device: "ffffffffffffffffffff", Name: "pantry", By: "hall", At: now.Add(-time.Hour)}}},
	}
	got := pairedHeader(s) + pairedTable(s, now)
	want := `room home (rabcdefghijklmno), kept by kitchen
DEVICE   ID                    SINCE       LAST SEEN   COMPANION  JOINS IN
bedroom  bbbbbbbbbbbbbbbbbbbb  19:00       here        Ben        medium    this device
                                                       Mia        muted
kitchen  aaaaaaaaaaaaaaaaaaaa  2026-11-19  here        Ada        medium    keeps the room
hall     cccccccccccccccccccc  2026-11-19  2026-11-20  -                    let in by kitchen
attic    dddddddddddddddddddd  -           not yet     -                    was let in, and has not come yet
garden   eeeeeeeeeeeeeeeeeeee  -           here        Cleo       medium    by room.members
removed: pantry (ffffffffffffffffffff) by hall, 19:00; only the device that keeps the room lets it in again
this device's certificate is good until 2028-11-21; it is renewed by itself before
`
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	s.Connected, s.Trouble = false, "kitchen does not answer"
	if got := Text(s); !strings.HasPrefix(got, "room home (rabcdefghijklmno), kept by kitchen: not connected\n  kitchen does not answer\nDEVICE") {
		t.Errorf("cut off, it says\n%s", got)
	}
}
