package device

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"conch/companions/round"
	"conch/device/config"
	"conch/device/control"
	"conch/mqtt/mqtttest"
)

// At somebody else's broker: the keys are exchanged over it, nothing listens at the devices, and who was not paired is not heard.
func TestPairedOverAForeignBroker(t *testing.T) {
	h := newHousehold(t)
	m := mqtttest.Start(t, mqtttest.Options{})
	at := func(o *boxOptions) {
		change := o.config
		o.config = func(c *config.Config) { change(c); c.Room.Broker = "mqtt://" + m.Addr() }
	}
	a, b, c := h.raise("kitchen", "Ada", at), h.raise("hall", "Ben", at), h.raise("bedroom", "Cleo", at)
	for _, x := range []*tenant{a, b, c} {
		x.until("at the broker", func() bool { return x.bus.Stats().Up })
	}
	o := a.opens()
	if len(o.Addresses) > 0 {
		t.Errorf("a port is open: %v", o.Addresses)
	}
	if _, err := b.joins(o.Code, "kitchen.local"); !errors.Is(err, control.ErrRefused) {
		t.Errorf("a host, at a broker: %v", err)
	}
	if l, err := b.joins(o.Code, ""); err != nil || l.Peer != "kitchen" {
		t.Fatalf("%+v, %v", l, err)
	}
	b.restarts()
	a.restarts()
	meet(a, b)
	if a.link.Port() != 0 || b.link.Port() != 0 || !a.link.Room().Foreign {
		t.Error("a broker of one's own, at somebody else's")
	}
	b.types("Ada, here I am")
	b.wait("Ada has spoken", kind(round.EntrySpoke, "ada"))
	known := func(x *tenant) bool {
		return slices.ContainsFunc(x.room.Room.Members(), func(m round.Member) bool { return m.Device == c.self })
	}
	if known(a) || known(b) {
		t.Error("one that was not paired is in the room")
	}
	if s := (socket{a.Device}).Status().Paired; s.Members[1].Pending {
		t.Errorf("the newcomer is here, and still expected: %+v", s.Members)
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if _, err := b.pairing.Remove(ctx, control.RemoveRequest{Device: "kitchen"}); err == nil {
		t.Error("the one that keeps the list can be removed")
	}
	if _, err := a.pairing.Remove(ctx, control.RemoveRequest{Device: "hall"}); err != nil {
		t.Fatal(err)
	}
	b.awaits(control.PairingRemoved)
	b.restarts()
	a.until("alone", func() bool { return len(a.room.Room.Members()) == 1 })
}

// Two that are held at the same moment at a broker, and are in no room: neither passes for a room, to which both would give way.
func TestHeldAtTheSameMomentAtABroker(t *testing.T) {
	h := newHousehold(t)
	m := mqtttest.Start(t, mqtttest.Options{})
	at := func(o *boxOptions) {
		change := o.config
		o.config = func(c *config.Config) { change(c); c.Room.Broker = "mqtt://" + m.Addr() }
	}
	a, b := h.raise("kitchen", "Ada", at), h.raise("hall", "Ben", at)
	for _, x := range []*tenant{a, b} {
		x.until("at the broker", func() bool { return x.bus.Stats().Up })
	}
	a.pairing.Held(a.now(), false)
	b.pairing.Held(b.now(), false)
	a.until("one opens, the other listens, for good", func() bool {
		x, y := a.pairing.Now().State, b.pairing.Now().State
		return x == control.PairingOpen && y == control.PairingListening || x == control.PairingListening && y == control.PairingOpen
	})
	a.pause(4 * time.Second) // two looks
	open, listens := a, b
	if b.pairing.Now().State == control.PairingOpen {
		open, listens = b, a
	}
	if open.pairing.Now().State != control.PairingOpen || listens.pairing.Now().State != control.PairingListening {
		t.Errorf("%s and %s", a.pairing.Now().State, b.pairing.Now().State)
	}
}
