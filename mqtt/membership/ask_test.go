package membership

import (
	"sync/atomic"
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
		time.Sleep(2 * host.clock.Every) // the first look says once more what the pairing has changed
		synctest.Wait()
		for len(lists) > 0 {
			<-lists
		}
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

// What the host says on a change may get lost while every connection stays: what has waited too long to be sent is given up, and a broker
// gives up what a slow device does not take. Who was removed must not stay a member of some.
func TestAChangeThatGotLostIsSaidAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		host, member, other := fresh(t, at(today).Clock()), fresh(t, at(today).Clock()), fresh(t, at(today).Clock())
		pair(t, host, member, "kitchen")
		pair(t, host, other, "cellar")
		var lost atomic.Bool
		var said atomic.Int64
		host.SendWith(func(n mqtt.Note) {
			said.Add(1)
			if !lost.Load() {
				member.HandleNote(host.id.ID(), n)
			}
		})
		host.LinkUp()
		time.Sleep(3 * host.clock.Every)
		synctest.Wait()
		if !member.Member(other.id.ID()) {
			t.Fatal("the member does not know the room")
		}
		lost.Store(true)
		if err := host.Remove(t.Context(), other.id.ID()); err != nil {
			t.Fatal(err)
		}
		lost.Store(false)
		time.Sleep(2 * host.clock.Every)
		synctest.Wait()
		if member.Member(other.id.ID()) {
			t.Errorf("%s was removed, and one who did not hear it at once believes it still", other.id.ID())
		}
		before := said.Load()
		time.Sleep(time.Minute)
		synctest.Wait()
		if n := said.Load() - before; n != 0 {
			t.Errorf("nothing changes, and it was said %d times more", n)
		}
	})
}
