package join

import (
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"conch/companions/round"
	"conch/device/condition"
)

// Two brokers that are no cluster: whoever stays at the first one is named, and no longer when it is heard again.
func TestWhoIsNotSeenAfterASwitchIsNamed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		conds := condition.NewBook(slog.New(slog.DiscardHandler))
		n := newNodes(conds, func(d round.DeviceID) string { return map[round.DeviceID]string{"k": "kitchen"}[d] })
		defer n.stop()
		n.reached("mqtt://a")
		n.packet("gone", round.Beat{})
		time.Sleep(nodesFresh)
		n.packet("k", round.Beat{})
		n.packet("h", round.Beat{})
		n.packet("left", round.Beat{})
		n.packet("left", round.Beat{Left: true})
		n.reached("mqtt://b")
		n.packet("h", round.Beat{})
		n.packet("k", round.Gone{}) // what its old node says of it
		time.Sleep(nodesWait - time.Second)
		if conds.Holds(condition.RoomApart) {
			t.Error("told before they had the time to come")
		}
		time.Sleep(2 * time.Second)
		list := conds.List()
		if len(list) != 1 || list[0].Code != condition.RoomApart || !strings.HasSuffix(list[0].Text, ": kitchen") {
			t.Fatalf("conditions %+v; want the kitchen alone", list)
		}
		n.packet("k", round.Beat{})
		if conds.Holds(condition.RoomApart) {
			t.Error("the kitchen is heard, and told to be missing")
		}
		n.reached("mqtt://b") // the same one: nothing to watch for
		time.Sleep(2 * nodesWait)
		if conds.Holds(condition.RoomApart) || n.address() != "mqtt://b" {
			t.Errorf("at %s: %+v", n.address(), conds.List())
		}
	})
}
