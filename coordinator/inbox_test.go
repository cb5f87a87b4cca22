package coordinator

import (
	"testing"
	"testing/synctest"
	"time"

	"conch/coordinator/turn"
)

func TestAProducerWaitsForRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newInbox(2)
		posted := 0
		go func() {
			for range 5 {
				b.put(entry{ev: turn.SessionReady{}})
				posted++
			}
		}()
		synctest.Wait()
		if posted != 2 {
			t.Errorf("%d of 5 facts posted into an inbox of 2; want 2, then wait", posted)
		}
		for _, e := range b.take() {
			b.done(e)
		}
		synctest.Wait()
		if posted != 4 {
			t.Errorf("%d facts posted after two were taken; want 4", posted)
		}
		b.close()
		synctest.Wait()
		if posted != 5 {
			t.Error("a producer still waits after the inbox was closed")
		}
		if b.put(entry{ev: turn.Pressed{}}) {
			t.Error("a closed inbox accepted a press")
		}
	})
}

func TestAGestureNeverWaitsAndKeepsItsPlaceInTheOrder(t *testing.T) {
	b := newInbox(1)
	b.put(entry{ev: turn.SessionReady{}})
	b.put(entry{ev: turn.Pressed{Turn: "t-1"}, gen: 1, dropped: true})
	b.put(entry{ev: turn.Released{Held: 1}})
	b.put(entry{ev: turn.Hushed{}, gen: 2, dropped: true})
	var got []string
	for _, e := range b.take() {
		got = append(got, nameOf(e.ev))
		b.done(e)
	}
	wantEqual(t, "order", got, []string{"SessionReady", "Pressed", "Released", "Hushed"})
	if n := b.drops.Load(); n != 0 {
		t.Errorf("%d gestures still count as waiting", n)
	}
}

func TestGesturesBeyondTheBoundReplaceTheLastOfTheirKind(t *testing.T) {
	b := newInbox(1)
	for i := range 5000 {
		b.put(entry{ev: turn.Pressed{At: time.Duration(i)}, gen: uint64(i), dropped: true})
		b.put(entry{ev: turn.Released{At: time.Duration(i)}})
	}
	all := b.take()
	if len(all) != inboxGestures {
		t.Fatalf("%d gestures wait; want %d", len(all), inboxGestures)
	}
	last := all[len(all)-2:]
	if last[0].gen != 4999 || last[1].ev.(turn.Released).At != 4999 {
		t.Errorf("the last press and release are %v; want number 4999 of both", last)
	}
	for _, e := range all {
		b.done(e)
	}
	if n := b.drops.Load(); n != 0 {
		t.Errorf("%d gestures still count as waiting", n)
	}
}

// Whoever the runner calls may post, however full the inbox is: he would wait for himself. What is too much is refused and counted.
func TestPostNeverWaits(t *testing.T) {
	b := newInbox(2)
	for i := range 2 + inboxMore + 3 {
		if ok := b.post(entry{ev: turn.SessionReady{}}); ok != (i < 2+inboxMore) {
			t.Fatalf("fact %d: taken %v", i, ok)
		}
	}
	all := b.take()
	if n := b.refused.Load(); n != 3 || len(all) != 2+inboxMore {
		t.Errorf("%d refused, %d wait", n, len(all))
	}
	for _, e := range all {
		b.done(e)
	}
	if !b.post(entry{ev: turn.SessionReady{}}) || !b.take()[0].slot {
		t.Error("the places were not given back")
	}
}

func BenchmarkInbox(b *testing.B) {
	box := newInbox(256)
	b.ReportAllocs()
	for b.Loop() {
		box.put(entry{ev: turn.SessionReady{}})
		for _, e := range box.take() {
			box.done(e)
		}
	}
}
