package membership

import (
	"errors"
	"io/fs"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"conch/mqtt/mqtttest"
)

// A member says that it has heard of a version that no list will ever have. Nothing becomes of that: who is removed after it is out at all
// the others, and the host finds its room again.
func TestNobodyUsesUpTheVersions(t *testing.T) {
	host, m := room(t, "kitchen", "cellar")
	kitchen, cellar := m[0], m[1]
	for _, have := range []uint64{maxVersion - 1, maxVersion, maxVersion + 1, 1<<64 - 1} {
		done := make(chan error, 1)
		host.post(func() { done <- host.handle(kitchen.id.ID(), note(noteAsk, askBody{Have: have})) })
		if err := mqtttest.Await(t, done, "the answer"); err != nil {
			t.Error(err)
		}
	}
	if err := host.Remove(t.Context(), kitchen.id.ID()); err != nil {
		t.Fatal(err)
	}
	cellar.change(Removed, kitchen.id.ID())
	if host = open(t, host.dir, host.id, at(today).Clock()); host.Member(kitchen.id.ID()) {
		t.Error("it is back")
	}
}

// Removed, and the card with room.json can only be read by now: whoever runs this is told what is wrong, once, and that it is out only
// when it is out on disk, too. It would come back and be refused again and again otherwise.
func TestARemovalThatCannotBeWrittenIsToldOnce(t *testing.T) {
	host, m := room(t, "kitchen")
	kitchen := m[0]
	var readOnly atomic.Bool
	readOnly.Store(true)
	kitchen.mu.Lock()
	kitchen.store.before = func(string, string) error {
		if readOnly.Load() {
			return &fs.PathError{Op: "remove", Path: roomFile, Err: syscall.EROFS}
		}
		return nil
	}
	kitchen.mu.Unlock()
	if err := host.Remove(t.Context(), kitchen.id.ID()); err != nil {
		t.Fatal(err)
	}
	c := kitchen.change(Stuck, kitchen.id.ID())
	if !errors.Is(c.Why, syscall.EROFS) || !strings.Contains(c.Why.Error(), "writable") {
		t.Errorf("%v", c.Why)
	}
	if kitchen.Room() != nil {
		t.Error("it still thinks that it is in the room")
	}
	before := kitchen.looked()
	until(t, "it has tried again", func() bool { return kitchen.looked() > before+2 })
	select {
	case c := <-kitchen.changes:
		t.Errorf("told besides: %+v", c)
	default:
	}
	readOnly.Store(false)
	if c := kitchen.change(Out, kitchen.id.ID()); !errors.Is(c.Why, ErrRemoved) {
		t.Errorf("%v", c.Why)
	}
	if open(t, kitchen.dir, kitchen.id, Clock{}).Room() != nil {
		t.Error("the next start is in the room again")
	}
}
