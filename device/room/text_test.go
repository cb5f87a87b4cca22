package room

import (
	"strings"
	"testing"

	"conch/companions/round"
	"conch/device/control"
	"conch/mqtt"
)

func TestRoomText(t *testing.T) {
	t.Parallel()
	members := []round.Member{
		{Device: "aaaaaaaaaaaaaaaaaaaa", Name: "kitchen", Cards: []round.Card{{ID: "ada", Name: "Ada"}}},
		{Device: "bbbbbbbbbbbbbbbbbbbb", Name: "hall", Cards: []round.Card{{ID: "cleo-2", Name: "Cléo 2", Renamed: "cleo", Muted: true}}},
	}
	got := Text(control.RoomStatus{
		Room: "home", Device: members[0].Device, Broker: "mqtt://broker", Trouble: "nothing listens there", Members: members,
		Missing: []round.DeviceID{"cccccccccccccccccccc"}, Setting: round.Setting{Involvement: round.InvolvementLow},
		Wire: &mqtt.Stats{Refused: map[mqtt.Reason]uint64{mqtt.ReasonForged: 2}, Last: map[mqtt.Reason]string{mqtt.ReasonForged: "the signature does not fit"}},
	})
	want := `room home, broker mqtt://broker: not connected
  nothing listens there
DEVICE   ID                    COMPANION                    JOINS IN
kitchen  aaaaaaaaaaaaaaaaaaaa  Ada                          medium    this device
hall     bbbbbbbbbbbbbbbbbbbb  Cléo 2 (in its card: cleo)  muted
?        cccccccccccccccccccc  -                                      not here (room.members)
the whole room is set to involvement low; to undo: conch room control medium
ignored  2 x forged; the last: the signature does not fit
`
	if strings.Join(strings.Fields(got), " ") != strings.Join(strings.Fields(want), " ") {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	for line := range strings.Lines(got) {
		if strings.HasSuffix(line, " \n") {
			t.Errorf("ends with a space: %q", line)
		}
	}

	// A reason calls companions by their names; what was said, in quotation marks, stays as it was.
	n := namer(members)
	for reason, want := range map[string]string{
		"it was said to ada alone":      "it was said to Ada alone",
		`it knows about "ada"`:          `it knows about "ada"`,
		"hall has changed: cleo-2, ada": "hall has changed: Cléo 2, Ada",
		"nobody else":                   "nobody else",
	} {
		if got := n.words(reason); got != want {
			t.Errorf("words(%q) = %q; want %q", reason, got, want)
		}
	}
}
