package pairing

import (
	"slices"
	"testing"
	"testing/synctest"
)

// TestPairing: a joiner with the code is in, both know who the other is, and the window is closed.
func TestPairing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, g := open(t, nil), newGuest(t, "bedroom")
		p, err := g.join(h, testCode)
		if err != nil {
			t.Fatal(err)
		}
		if err := <-h.ran; err != nil {
			t.Fatal(err)
		}
		want := partyOf(h.id, "kitchen")
		if p.Device != want.Device || p.Name != want.Name || !p.Key.Equal(want.Key) {
			t.Errorf("joined %v", p)
		}
		if !slices.Equal(g.kept, []string{"welcome bedroom"}) || g.from[0].Device != h.id.ID() {
			t.Errorf("kept %q from %v", g.kept, g.from)
		}
		if len(h.admitted) != 1 || len(h.stored) != 1 || h.stored[0].Device != g.id.ID() || h.stored[0].Name != "bedroom" {
			t.Errorf("admitted %v, stored %v", h.admitted, h.stored)
		}
		if got := h.kinds(); !slices.Equal(got, []WindowEventKind{EventAdmitting, EventPaired}) {
			t.Errorf("events %v", got)
		}
	})
}
