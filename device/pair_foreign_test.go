package device

import (
	"context"
	"errors"
	"slices"
	"testing"

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
	if _, err := b.pairing.Remove(ctx, "kitchen"); err == nil {
		t.Error("the one that keeps the list can be removed")
	}
	if _, err := a.pairing.Remove(ctx, "hall"); err != nil {
		t.Fatal(err)
	}
	b.awaits(control.PairingRemoved)
	b.restarts()
	a.until("alone", func() bool { return len(a.room.Room.Members()) == 1 })
}
