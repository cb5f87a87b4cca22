package device

import (
	"encoding/json"
	"testing"
	"time"

	"conch/coordinator/turn"
	"conch/device/control"
)

// Who looks on and needs no looks of his own, as Home Assistant between two of them, hears at once what state the device has, and who has
// the floor.
func TestAnotherStateIsToldAtOnce(t *testing.T) {
	t.Parallel()
	b := newBox(t, boxOptions{})
	_, events := b.feed.WatchEvery(t.Context(), time.Hour)
	told := func(what string, is func(control.Doing) bool) {
		t.Helper()
		for late := time.After(patience); ; {
			select {
			case e := <-events:
				var d control.Doing
				if e.Kind == control.EventDoing && json.Unmarshal(e.Data, &d) == nil && is(d) {
					return
				}
			case <-late:
				t.Fatalf("nobody is told of %s", what)
			}
		}
	}
	told("what it does at first", func(d control.Doing) bool { return d.State == turn.Idle.String() })
	b.hand.Press()
	told("the press", func(d control.Doing) bool { return d.State == turn.Listening.String() })
	b.hand.Release()
	told("the end", func(d control.Doing) bool { return d.State == turn.Idle.String() })
	roomHost{b.coordinator, b.Device}.Floor("ada")
	told("the floor", func(d control.Doing) bool { return d.Floor == "ada" })
}
