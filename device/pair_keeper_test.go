package device

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"conch/companions/round"
	"conch/device/condition"
	"conch/device/control"
	"conch/mqtt"
	"conch/mqtt/membership"
	"conch/mqtt/pairing"
)

// impatient devices wait for a keeper as long as a test does.
func impatient(o *boxOptions) { o.room.Missing = 2 * time.Second }

// keeps has the device keep its room, as soon as it may.
func (x *tenant) keeps() {
	x.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	for {
		_, err := x.pairing.Keep(ctx, "")
		if err == nil {
			break
		}
		if !errors.Is(err, control.ErrRefused) {
			x.t.Fatalf("%s: keep: %v", x.name, err)
		}
		x.pause(100 * time.Millisecond)
	}
	x.restarts()
}

// The host is gone for good. Another device keeps the room, the third comes over without beginning anew, and they talk; a newcomer pairs. What was
// the host is a member when it is back.
func TestTheRoomGoesOnWithoutItsHost(t *testing.T) {
	h := newHousehold(t)
	a, b, c := h.raise("kitchen", "Ada", impatient), h.raise("hall", "Ben", impatient), h.raise("bedroom", "Cleo", impatient)
	pairs(a, b)
	meet(a, b)
	pairs(a, c)
	meet(a, b, c)
	if _, err := b.pairing.Keep(context.Background(), ""); !errors.Is(err, control.ErrRefused) {
		t.Errorf("kept while the host is there: %v", err)
	}
	if _, err := a.pairing.Keep(context.Background(), ""); !errors.Is(err, control.ErrRefused) {
		t.Errorf("kept by the host: %v", err)
	}
	a.dies()
	b.keeps()
	c.awaits(control.PairingMoved)
	c.until("said aloud", c.audible)
	meet(b, c)
	b.types("Cleo, are you there, here I am")
	b.wait("Cleo has spoken", kind(round.EntrySpoke, "cleo"))
	s := (socket{c.Device}).Status()
	if p := s.Paired; p == nil || p.Host != b.self || p.Succeeded != a.self || len(p.Members) != 3 {
		t.Errorf("the bedroom's room: %+v", p)
	}
	d := h.raise("attic", "Dora", impatient)
	pairs(c, d)
	meet(b, c, d)

	a.live()
	a.awaits(control.PairingMoved)
	a.restarts()
	meet(a, b, c, d)
	if room, host := a.link.Way(); host || room.Host != b.self || a.link.Port() != 0 {
		t.Errorf("the old host keeps on: %+v", room)
	}
	for _, x := range []*tenant{b, c, d} {
		if x.box.gone.Load() {
			t.Errorf("%s has begun anew", x.name)
		}
		if x.conds.Holds(condition.RoomKeepers) || x.conds.Holds(condition.RoomCut) {
			t.Errorf("%s still complains", x.name)
		}
	}
}

// By hand: the first hold says that the keeper is gone, and what another one means; the second keeps the room. Two devices are enough.
func TestHeldTwiceWhereTheHostIsGone(t *testing.T) {
	h := newHousehold(t)
	a, b := h.raise("kitchen", "Ada", impatient), h.raise("hall", "Ben", impatient)
	pairs(a, b)
	meet(a, b)
	a.dies()
	b.until("it has been gone for long enough", func() bool { return missing(b) })
	b.pairing.Held(b.now(), false)
	if l := b.awaits(control.PairingFailed); l.Why != control.WhyMissing {
		t.Fatalf("%+v", l)
	}
	b.until("said aloud", b.audible)
	b.pairing.Held(b.now(), false)
	b.awaits(control.PairingKeeper)
	b.restarts()
	a.live() // alone, it waits as long as it would be waited for
	a.awaits(control.PairingMoved)
	a.restarts()
	meet(a, b)
	if !b.link.Room().Members[0].Seen.IsZero() && b.link.Room().Host != b.self {
		t.Errorf("%+v", b.link.Room())
	}
}

func missing(x *tenant) bool {
	_, err := x.pairing.Keep(canceled(), "")
	return errors.Is(err, context.Canceled)
}

func canceled() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}

// A member claims the room while its keeper is there: nobody follows, and the keeper says so. It goes back by itself.
func TestAKeeperThatLivesIsNotReplaced(t *testing.T) {
	h := newHousehold(t)
	a, b, c := h.raise("kitchen", "Ada", impatient), h.raise("hall", "Ben", impatient), h.raise("bedroom", "Cleo", impatient)
	pairs(a, b)
	meet(a, b)
	pairs(a, c)
	meet(a, b, c)
	c.dies()
	id, err := mqtt.OpenIdentity(c.dir)
	if err != nil {
		t.Fatal(err)
	}
	m, err := membership.Open(c.dir, id, membership.Clock{Missing: 1}) // it says that it hears nobody
	if err == nil {
		err = m.Keep()
	}
	if err != nil {
		t.Fatal(err)
	}
	c.live()
	if l := c.awaits(control.PairingMoved); l.Device != a.self {
		t.Errorf("%+v", l)
	}
	c.restarts()
	meet(a, b, c)
	a.until("people are told", func() bool { return a.conds.Holds(condition.RoomKeepers) })
	for _, x := range []*tenant{a, b} {
		if x.box.gone.Load() || x.link.Room().Host != a.self {
			t.Errorf("%s: %+v", x.name, x.link.Room())
		}
	}
}

// A device is called otherwise, by any member: in everybody's list, by itself, and after a restart, whatever its configuration says.
func TestADeviceIsRenamed(t *testing.T) {
	h := newHousehold(t)
	a, b, c := h.raise("kitchen", "Ada", nil), h.raise("hall", "Ben", nil), h.raise("bedroom", "Cleo", nil)
	pairs(a, b)
	meet(a, b)
	pairs(a, c)
	meet(a, b, c)
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	for _, row := range []struct{ who, name string }{{"hall", "KITCHEN"}, {"hall", ""}, {"hall", "ha\x1bll"}, {"hall", strings.Repeat("a", 65)}, {"attic", "bath"}} {
		for _, x := range []*tenant{a, c} {
			if _, err := x.pairing.Rename(ctx, row.who, row.name); !errors.Is(err, control.ErrRefused) {
				t.Errorf("%s: %s is called %q: %v", x.name, row.who, row.name, err)
			}
		}
	}
	if _, err := c.pairing.Rename(ctx, "hall", " Salle d'été "); err != nil {
		t.Fatal(err)
	}
	if l := b.awaits(control.PairingRenamed); l.Called != "Salle d'été" {
		t.Errorf("%+v", l)
	}
	for _, x := range []*tenant{a, b, c} {
		x.until("it is known", func() bool { m, _ := x.link.Room().Member(b.self); return m.Name == "Salle d'été" })
		if m, ok := x.link.Room().Member(b.self); !ok || m.Name != "Salle d'été" {
			t.Errorf("%s calls it %+v", x.name, m)
		}
	}
	if b.link.Name() != "Salle d'été" {
		t.Errorf("it calls itself %q", b.link.Name())
	}
	if _, err := b.pairing.Rename(ctx, "Kitchen", "cellar"); err != nil { // the one that keeps the room
		t.Fatal(err)
	}
	a.awaits(control.PairingRenamed)
	c.until("it is known", func() bool { m, _ := c.link.Room().Member(a.self); return m.Name == "cellar" })
	for _, x := range []*tenant{a, b, c} {
		if x.box.gone.Load() {
			t.Errorf("%s has begun anew", x.name)
		}
	}
	b.dies()
	b.live()
	meet(a, b, c)
	if b.cfg.Device.Name != "Salle d'été" || b.link.Name() != "Salle d'été" {
		t.Errorf("after a restart it is called %q, and configured %q", b.link.Name(), b.cfg.Device.Name)
	}
}

// alone leaves a device alone in a room of its own.
func (h *household) alone(name, who string) *tenant {
	h.t.Helper()
	x, other := h.raise(name, who, nil), h.raise("guest of "+name, "Guest", nil)
	pairs(x, other)
	meet(x, other)
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if _, err := other.pairing.Leave(ctx); err != nil {
		h.t.Fatal(err)
	}
	other.restarts()
	other.dies()
	x.until("alone", func() bool { return len(x.link.Room().Members) == 1 && len(x.room.Room.Members()) == 1 })
	return x
}

// Two devices, each alone in a room of its own, become one room: the one that joins gives its room up, and nothing of it is left.
func TestTwoRoomsOfOneBecomeOne(t *testing.T) {
	t.Parallel()
	for _, how := range []string{"typed", "held at the same moment"} {
		t.Run(how, func(t *testing.T) {
			h := newHousehold(t)
			a, b := h.alone("kitchen", "Ada"), h.alone("hall", "Ben")
			opened, joined := a, b
			room := a.link.Room().ID
			if how == "typed" {
				o := a.opens()
				if l, err := b.joins(o.Code, o.Addresses[0]); err != nil {
					t.Fatalf("%+v, %v", l, err)
				}
			} else {
				a.pairing.Held(a.now(), false)
				b.pairing.Held(b.now(), false)
				a.until("one opens, the other listens", func() bool {
					x, y := a.pairing.Now().State, b.pairing.Now().State
					return x == control.PairingOpen && y == control.PairingListening || x == control.PairingListening && y == control.PairingOpen
				})
				if b.pairing.Now().State == control.PairingOpen {
					opened, joined = b, a
				}
				room = opened.link.Room().ID
				joined.hearing()
				joined.card.Feed(codeTones(opened.pairing.Now().Code))
			}
			joined.restarts()
			meet(opened, joined)
			if opened.box.gone.Load() {
				t.Error("the one whose room it is has begun anew")
			}
			joined.until("of its own room nothing is left", func() bool {
				files, err := filepath.Glob(filepath.Join(joined.dir, "room", "*"))
				return err == nil && len(files) == 1
			})
			if r := joined.link.Room(); r.ID != room || r.Host != opened.self {
				t.Errorf("%+v", r)
			}
			ctx, cancel := context.WithTimeout(context.Background(), patience)
			defer cancel()
			if _, err := joined.pairing.Join(ctx, control.JoinRequest{Code: "123456", Host: "127.0.0.1:1"}); !errors.Is(err, control.ErrRefused) {
				t.Errorf("one with others in its room joins another: %v", err)
			}
		})
	}
}

// Where members settle who keeps the room a stranger is shown nothing: the certificate would name the device.
func TestAStrangerIsShownNoKeeper(t *testing.T) {
	h := newHousehold(t)
	a, b := h.raise("kitchen", "Ada", nil), h.raise("hall", "Ben", nil)
	pairs(a, b)
	meet(a, b)
	id, err := mqtt.NewIdentity()
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"", "kitchen", "aaaaaaaaaaaaaaaaaaaaaaaaaa.aaaaaaaaaaaaaaaaaaaaaaaaaa.conch"} {
		shown := false
		conf := pairing.KeepTLS(id)
		conf.ServerName, conf.VerifyPeerCertificate = name, func([][]byte, [][]*x509.Certificate) error { shown = true; return nil }
		c, err := tls.Dial("tcp", a.link.Reachable(a.link.Port())[0], conf)
		if err == nil {
			_ = c.Close()
		}
		if err == nil || shown {
			t.Errorf("server name %q: shown %v, %v", name, shown, err)
		}
	}
}
