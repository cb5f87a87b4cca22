package membership

import (
	"testing"
	"testing/synctest"
	"time"

	"conch/mqtt"
)

// A member that has not heard the list asks at every look, others ask beside it, and somebody may do nothing else: several get one answer, and
// they do get it.
func TestWhoeverKeepsAskingForTheListHearsIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		host, member := fresh(t, at(today).Clock()), fresh(t, at(today).Clock())
		pair(t, host, member, "kitchen")
		lists := make(chan time.Time, 100)
		host.SendWith(func(n mqtt.Note) {
			if n.Method == noteList {
				lists <- time.Now()
			}
		})
		const asks, every = 100, listDelay / 5
		began := time.Now()
		for range asks {
			host.HandleNote(member.id.ID(), note(noteAsk, askBody{Have: 2}))
			time.Sleep(every)
		}
		time.Sleep(listDelay)
		synctest.Wait()
		if most := int(asks * every / listDelay); len(lists) == 0 || len(lists) > most {
			t.Fatalf("%d asks within %v had %d answers; want 1 to %d", asks, asks*every, len(lists), most)
		}
		if first := (<-lists).Sub(began); first != listDelay {
			t.Errorf("the first answer came after %v; want %v", first, listDelay)
		}
	})
}
