package device

import (
	"fmt"
	"testing"

	"conch/companions/round"
	"conch/mqtt/mqtttest"
)

// Ten devices at the three nodes of a cluster make one room. A node dies in the middle of a round: the devices of it go to the others,
// and the room is whole again; so it is when the node is back, and another one dies.
func TestRoomOnACluster(t *testing.T) {
	nodes := mqtttest.StartCluster(t, 3)
	h := newRoomHouse(t, &roomBroker{nodes: nodes}, "home")
	ids := []round.CompanionID{"ada", "ben", "cleo", "dora", "emil", "fina", "gus", "hana", "ivo", "jule"}
	for i, id := range ids {
		h.raise(fmt.Sprint("room-", i), cardsOf(id))
	}
	h.meet()
	homes := h.alive()
	first := func(x *roomHome, who round.CompanionID, question string) {
		t.Helper()
		before := len(h.speakers())
		x.over(x.ask(string(who)+", "+question), round.EntryAnswered)
		if got := h.speakers()[before]; got != who {
			t.Errorf("%q was answered by %s first; want %s", question, got, who)
		}
		h.quiet()
	}
	first(homes[0], "cleo", "how long does an egg have to boil?")
	first(homes[4], "jule", "how long does rice have to boil?")
	for i, dies := range []int{0, 1} {
		asker, asked := homes[(dies+1)%3], ids[(dies+2)%3] // at nodes that live
		before := len(h.speakers())
		id := asker.ask(string(asked) + ", what is the height of the tower?")
		nodes[dies].Kill()
		h.until("the question has an end", func() bool { return len(asker.ends(id)) > 0 })
		t.Logf("node %d died: the question ended %v, spoke %v", dies, asker.ends(id), h.speakers()[before:])
		h.meet()
		first(homes[dies], ids[5], fmt.Sprintf("and how old is it (%d)?", i))
		if err := nodes[dies].Start(); err != nil {
			t.Fatal(err)
		}
		h.meet()
		first(homes[7], ids[8], fmt.Sprintf("who built it (%d)?", i))
	}
	h.inspect()
}
