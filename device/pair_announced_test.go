package device

import (
	"context"
	"strings"
	"testing"
	"time"

	"conch/audio"
	"conch/coordinator/turn"
	"conch/device/control"
	"conch/mqtt/membership"
)

// A window of a member is said aloud by all others, and a button anywhere shuts it; the next one lets a device in, and the list says whose it was.
func TestAWindowIsHeardEverywhereAndAnyButtonShutsIt(t *testing.T) {
	h := newHousehold(t)
	a, b, c, d := h.raise("kitchen", "Ada", nil), h.raise("hall", "Ben", nil), h.raise("attic", "Cleo", nil), h.raise("bedroom", "Dora", nil)
	pairs(a, b)
	meet(a, b)
	pairs(a, c)
	meet(a, b, c)
	fromA, fromC := a.now(), c.now()
	o := b.opens()
	a.until("the kitchen says it aloud", func() bool { return audio.Peak(a.card.Between(fromA, a.now())) > 0 })
	c.until("the attic says it aloud", func() bool { return audio.Peak(c.card.Between(fromC, c.now())) > 0 })
	c.hand.Press()
	c.until("a press is a press", func() bool { return c.coordinator.State() == turn.Listening })
	c.hand.Release()
	if l := b.awaits(control.PairingFailed); l.Why != control.WhyStopped || !strings.Contains(l.Text, "attic") {
		t.Errorf("the window that was shut: %+v", l)
	}
	if _, err := d.joins(o.Code, o.Addresses[0]); err == nil || len(a.link.Room().Members) != 3 {
		t.Errorf("it is let in by a window that was shut: %v", err)
	}
	for _, x := range []*tenant{a, b, c} {
		x.until("calm", x.Quiet)
	}
	pairs(b, d)
	meet(a, b, c, d)
	for _, x := range []*tenant{a, c, d} {
		x.until(x.name+" knows who let it in", func() bool {
			m, _ := x.link.Room().Member(d.self)
			return m.By == b.self
		})
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	look, err := c.pairing.Remove(ctx, control.RemoveRequest{Device: "hall", Look: true})
	if err != nil || len(look.Guests) != 1 || look.Guests[0] != "bedroom" || len(a.link.Room().Members) != 4 {
		t.Errorf("what would happen: %+v, %v", look, err)
	}
	if _, err := c.pairing.Remove(ctx, control.RemoveRequest{Device: "hall", Guests: true}); err != nil {
		t.Fatal(err)
	}
	b.awaits(control.PairingRemoved)
	d.awaits(control.PairingRemoved)
	a.until("two are left", func() bool {
		return len(a.link.Room().Members) == 2 && a.link.Room().Removed[0].By == c.self
	})
}

// Whoever opens a window may have the floor meanwhile, or see to it that a companion has something long to say: it is said aloud all the same,
// and in time for a finger. Two windows are two sentences.
func TestAWindowIsHeardWhoeverHasTheFloor(t *testing.T) {
	h := newHousehold(t)
	a, b, c := h.raise("kitchen", "Ada", nil), h.raise("hall", "Ben", nil), h.raise("attic", "Cleo", nil)
	pairs(a, b)
	meet(a, b)
	pairs(a, c)
	meet(a, b, c)
	heard := func(x *tenant) (n int) {
		for _, line := range x.log.aloud() {
			if strings.Contains(line, "inject.outcome") && strings.Contains(line, "key=pairing") && strings.Contains(line, "outcome=delivered") {
				n++
			}
		}
		return n
	}
	inTime := func(x *tenant, before, n int, opened time.Time) {
		t.Helper()
		limit := time.Duration(n) * membership.AnnounceFor
		x.until(x.name+" says it aloud", func() bool { return heard(x) >= before+n || time.Since(opened) > 2*limit })
		if took := time.Since(opened); heard(x) < before+n || took > limit {
			t.Errorf("%s has said %d of %d windows aloud after %s; somebody may be let in after %s", x.name, heard(x)-before, n, took, limit)
		}
	}

	// A finger on a button elsewhere: the floor is taken.
	before := heard(a)
	c.hand.Press()
	c.until("it listens", func() bool { return c.coordinator.State() == turn.Listening })
	a.until("the floor is taken", func() bool { return a.room.Room.Taken() })
	opened := time.Now()
	b.opens()
	inTime(a, before, 1, opened)
	if _, err := b.pairing.Cancel(t.Context()); err != nil {
		t.Fatal(err)
	}
	c.hand.Release()
	for _, x := range []*tenant{a, b, c} {
		x.until("calm", x.Quiet)
	}

	// A companion here has much to say; and two windows at once, one of which is meant.
	before = heard(a)
	a.types("Ada, " + strings.Repeat("say something that takes a long time ", 12))
	a.until("Ada is heard", a.Speaking)
	opened = time.Now()
	b.opens()
	c.opens()
	inTime(a, before, 2, opened)
}
