package device

import (
	"slices"
	"testing"
	"time"

	"conch/companions"
)

// Every loop of a device that has a room answers, and can be made to stand still; the rest goes on.
func TestLoopsAnswer(t *testing.T) {
	b := newBox(t, boxOptions{room: &RoomOptions{Cards: companions.DefaultCards()[:2], Volatile: true}})
	loops := (status{b.Device}).Loops(time.Second)
	var names []string
	for _, l := range loops {
		names = append(names, l.Name)
		back := make(chan struct{})
		if !l.Call(func() { close(back) }) {
			t.Errorf("%s takes no token", l.Name)
			continue
		}
		select {
		case <-back:
		case <-time.After(10 * time.Second):
			t.Errorf("%s does not bring its token back", l.Name)
		}
	}
	for _, want := range []string{"coordinator", "playback", "capture", "button control socket", "room"} {
		if !slices.Contains(names, want) {
			t.Errorf("%s is not watched; there are %v", want, names)
		}
	}
}
