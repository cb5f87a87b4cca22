package device

import (
	"strings"
	"testing"
	"time"

	"conch/companions/round"
	"conch/device/control"
)

// The device that keeps the room dies for good: another one keeps it by a person's word, found as the first one was. Then that one's network is cut
// in two, and a person on the other side makes a keeper there as well: one room is left when the cut is mended.
func TestTheHostIsGoneForGoodOnANetwork(t *testing.T) {
	takesItsTime(t)
	h := newPairHouse(t)
	kitchen, hall, bedroom, study := h.box("kitchen", "Ada", 11), h.box("hall", "Ben", 12), h.box("bedroom", "Cleo", 13), h.box("study", "Dora", 14)
	for _, b := range h.boxes {
		b.start()
	}
	for n, b := range []*pairBox{hall, bedroom, study} {
		var open control.PairOpened
		kitchen.must("POST", "/room/pair", struct{}{}, &open)
		if out, err := h.in(b.name, time.Minute, h.binary, b.args("room", "join", open.Code)...); err != nil {
			t.Fatalf("%s: %v\n%s", b.name, err, out)
		}
		h.together(n+2, 60*time.Second, h.boxes[:n+2]...)
	}
	h.tell("four devices are a room, kept by the kitchen")

	kitchen.kill()
	out, err := h.in(hall.name, 10*time.Second, h.binary, hall.args("room", "keep", "--yes")...)
	if err == nil || !strings.Contains(out, "kitchen") {
		t.Errorf("kept at once: %s", out)
	}
	h.tell("the kitchen is dead; conch room keep in the hall: %s", strings.TrimSpace(out))
	h.keeps(hall)
	rest := []*pairBox{hall, bedroom, study}
	h.together(3, 90*time.Second, rest...)
	h.keptBy(hall, rest...)
	h.tell("three are the room, kept by the hall")
	h.asks(study, "Cleo, what is two plus two", "2 plus 2 is 4")
	kitchen.start()
	h.together(4, 90*time.Second)
	h.keptBy(hall, h.boxes...)
	h.tell("the kitchen is back, a member")

	h.ip("-n", h.ns("m"), "link", "add", "br1", "type", "bridge")
	h.ip("-n", h.ns("m"), "link", "set", "br1", "up")
	move := func(to string) {
		for _, b := range []*pairBox{kitchen, study} {
			h.ip("-n", h.ns("m"), "link", "set", "v"+b.name, "master", to)
		}
	}
	move("br1")
	h.tell("the network is in two: kitchen and study, hall and bedroom")
	h.keeps(kitchen)
	h.together(2, 120*time.Second)
	h.keptBy(kitchen, kitchen, study)
	h.keptBy(hall, hall, bedroom)
	h.tell("two rooms of two")
	move("br0")
	h.together(4, 4*time.Minute)
	host := hall.room().Paired.Host
	for _, b := range h.boxes {
		if p := b.room().Paired; p == nil || p.Host != host {
			t.Errorf("%s: %+v", b.name, p)
		}
	}
	h.tell("one room of four again, kept by %s", host)
	out, err = h.in(bedroom.name, 10*time.Second, h.binary, bedroom.args("room", "list")...)
	if err != nil || !strings.Contains(out, "in place of") {
		t.Errorf("%v: %s", err, out)
	}
	h.tell("conch room list: %s", out)
}

// keeps waits until it may be, and has the device keep the room.
func (h *pairHouse) keeps(b *pairBox) {
	h.t.Helper()
	<-time.After(3 * time.Minute) // as a person must
	b.until("keeper", 2*time.Minute, func() bool {
		<-time.After(5 * time.Second)
		out, err := h.in(b.name, 20*time.Second, h.binary, b.args("room", "keep", "--yes")...)
		if err == nil {
			h.tell("conch room keep in the %s: %s", b.name, strings.TrimSpace(out))
		}
		return err == nil
	})
}

// keptBy says whom these devices take for the keeper.
func (h *pairHouse) keptBy(host *pairBox, by ...*pairBox) {
	h.t.Helper()
	var id round.DeviceID
	host.until("id", 20*time.Second, func() bool { id = host.room().Device; return id != "" })
	for _, b := range by {
		b.until("keeper "+host.name, 60*time.Second, func() bool { p := b.room().Paired; return p != nil && p.Host == id })
	}
}
