package device

import (
	"slices"
	"testing"
	"time"

	"conch/companions"
	"conch/companions/round"
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

// The room's own goroutine orders the device about: whatever of that stands still, it votes, claims the floor and falls silent.
func TestFlatRoomGoesOnWhileTheRestStandsStill(t *testing.T) {
	f := newFlat(t)
	kitchen := f.raise("kitchen", "Ada", boxOptions{})
	hall := f.raise("hall", "Ben,Cleo", boxOptions{})
	f.meet()
	release := make(chan struct{})
	for _, l := range (status{hall.Device}).Loops(time.Second) {
		if l.Name == "room" || l.Name == "mqtt" {
			continue
		}
		held := make(chan struct{})
		if !l.Call(func() { close(held); <-release }) {
			t.Fatalf("%s takes no call", l.Name)
		}
		<-held
	}
	generation := hall.speaker.Generation()
	kitchen.types("Ben, short")
	hall.wait("ben has the floor", kind(round.EntryClaim, "ben"))
	if hall.speaker.Generation() == generation {
		t.Error("somebody asked in the kitchen, and the hall was not silenced")
	}
	hall.until("the room goes round", hall.room.Room.Settled)
	generation = hall.speaker.Generation()
	kitchen.types("Cleo, short")
	hall.until("silenced once more", func() bool { return hall.speaker.Generation() > generation })
	close(release)
	hall.wait("cleo has spoken", kind(round.EntrySpoke, "cleo"))
	f.calm()
}
