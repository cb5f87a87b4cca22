package device

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"conch/device/condition"
	"conch/device/config"
	"conch/device/control"
	"conch/mqtt"
)

// smallDisk puts a disk of its own under the device's room.
func (x *tenant) smallDisk() (change func(flags uintptr), fill func() (free func())) {
	x.t.Helper()
	dir := filepath.Join(x.dir, "room")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		x.t.Fatal(err)
	}
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=64k,mode=0700"); err != nil {
		x.t.Skipf("missing: the right to mount a small disk (root): %v", err)
	}
	x.t.Cleanup(func() { _ = syscall.Unmount(dir, syscall.MNT_DETACH) })
	change = func(flags uintptr) {
		x.t.Helper()
		if err := syscall.Mount("tmpfs", dir, "tmpfs", syscall.MS_REMOUNT|flags, ""); err != nil {
			x.t.Fatal(err)
		}
	}
	fill = func() func() {
		x.t.Helper()
		f, err := os.Create(filepath.Join(dir, "filler"))
		if err != nil {
			x.t.Fatal(err)
		}
		if _, err := io.Copy(f, endless{}); !errors.Is(err, syscall.ENOSPC) {
			x.t.Fatal(err)
		}
		_ = f.Close() // nothing of it matters
		return func() { _ = os.Remove(f.Name()) }
	}
	return change, fill
}

// Removed, and its card can only be read by now: it is out, says why, and does not begin anew as a member again and again.
func TestRemovedOnACardThatCanOnlyBeRead(t *testing.T) {
	h := newHousehold(t)
	a, b := h.raise("kitchen", "Ada", nil), h.raise("hall", "Ben", nil)
	remount, _ := b.smallDisk()
	pairs(a, b)
	meet(a, b)
	remount(syscall.MS_RDONLY)
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if _, err := a.pairing.Remove(ctx, control.RemoveRequest{Device: "hall"}); err != nil {
		t.Fatal(err)
	}
	b.until("it says so", func() bool { return b.conds.Holds(condition.RoomStuck) })
	a.until("the room knows", func() bool { return len(a.room.Room.Members()) == 1 })
	if b.link.Room() != nil || b.bus != nil && b.bus.Stats().Up {
		t.Error("it is in the room")
	}
	b.pause(restartsAtOnce)
	if b.box.gone.Load() {
		t.Error("it has begun anew, and will be refused again")
	}
}

// restartsAtOnce is more than a device takes that begins anew when all is quiet.
const restartsAtOnce = 5 * time.Second

// Whoever stands at the window with the right code, and the disk is full: both hear it at once, and not when the window's time is over.
func TestAFullDiskIsSaidAtOnce(t *testing.T) {
	t.Parallel()
	for _, opener := range []string{"host", "member"} {
		t.Run(opener, func(t *testing.T) {
			h := newHousehold(t)
			host, newcomer := h.raise("kitchen", "Ada", nil), h.raise("bedroom", "Cleo", nil)
			_, fill := host.smallDisk()
			opens := host
			if opener == "member" {
				opens = h.raise("hall", "Ben", nil)
				pairs(host, opens)
				meet(host, opens)
			}
			free := fill()
			o := opens.opens()
			if _, err := newcomer.joins(o.Code, o.Addresses[0]); err == nil {
				t.Error("paired, on a full disk")
			}
			if l := opens.awaits(control.PairingFailed); l.Why != control.WhyDisk {
				t.Errorf("the window: %+v", l)
			}
			free()
			if opener == "host" {
				pairs(host, newcomer)
				return
			}
			pairs(opens, newcomer)
			meet(host, opens, newcomer)
		})
	}
}

// A window is closed and opened again at once, at the room's one port, while somebody hangs on to the old one: it opens, and is found.
func TestAWindowAfterAnother(t *testing.T) {
	h := newHousehold(t)
	port := unusedPort(t)
	a, b := h.raise("kitchen", "Ada", func(o *boxOptions) {
		change := o.config
		o.config = func(c *config.Config) { change(c); c.Room.Port, _ = strconv.Atoi(port) }
	}), h.raise("hall", "Ben", nil)
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	for range 5 {
		a.opens()
		hangs, err := net.Dial("tcp", net.JoinHostPort("127.0.0.1", port))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = hangs.Close() })
		if _, err := a.pairing.Cancel(ctx); err != nil {
			t.Fatal(err)
		}
	}
	o := a.opens()
	a.until("nothing of the windows before is under way", func() bool { return a.pairing.Busy.Load() == 1 })
	if _, err := b.joins(o.Code, ""); err != nil {
		t.Errorf("found by itself: %v", err)
	}
}

// What is announced names an address where something else answers, before the right one: that costs an attempt.
func TestALieAboutAWindow(t *testing.T) {
	h := newHousehold(t)
	a, b, c := h.raise("kitchen", "Ada", nil), h.raise("hall", "Ben", nil), h.raise("bedroom", "Cleo", nil)
	other, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go func() { // ends with other
		for {
			conn, err := other.Accept()
			if err != nil {
				return
			}
			_ = conn.Close()
		}
	}()
	t.Cleanup(func() { _ = other.Close() })
	o, wrong := a.opens(), c.opens()
	h.lan.mu.Lock()
	f := h.lan.says[a.self]
	f.Addresses = append([]string{other.Addr().String(), wrong.Addresses[0]}, f.Addresses...)
	delete(h.lan.says, c.self)
	h.lan.says[a.self] = f
	h.lan.mu.Unlock()
	if l, err := b.joins(o.Code, ""); err != nil || l.Device != a.self {
		t.Errorf("%+v, %v", l, err)
	}
	if l := c.pairing.Now(); l.Tries > 0 {
		t.Errorf("the code was tried at a device that it is not of: %+v", l)
	}
}

// Nothing is found by itself, and the addresses that the host knows of itself lead nowhere: where a person has named it, it is.
func TestTheHostIsWhereAPersonHasNamedIt(t *testing.T) {
	h := newHousehold(t)
	h.lan.down.Store(true)
	port := unusedPort(t)
	a, b := h.raise("kitchen", "Ada", func(o *boxOptions) {
		change := o.config
		o.config = func(c *config.Config) { change(c); c.Room.Port, _ = strconv.Atoi(port) }
		o.room.Reachable = func(port int) []string { return []string{net.JoinHostPort("127.0.0.9", "9")} }
	}), h.raise("hall", "Ben", nil)
	o := a.opens()
	if _, err := b.joins(o.Code, net.JoinHostPort("localhost", port)); err != nil {
		t.Fatal(err)
	}
	b.restarts()
	a.restarts()
	meet(a, b)
}

// A member's window is open, and the device that keeps the room goes: whoever comes with the code is told, and so is the member; the room
// is whole when the host is back, and takes the newcomer in.
func TestTheHostGoesWhileAMembersWindowIsOpen(t *testing.T) {
	h := newHousehold(t)
	a, b, c := h.raise("kitchen", "Ada", nil), h.raise("hall", "Ben", nil), h.raise("bedroom", "Cleo", nil)
	pairs(a, b)
	meet(a, b)
	o := b.opens()
	a.dies()
	if _, err := c.joins(o.Code, o.Addresses[0]); err == nil {
		t.Error("joined a room that nobody keeps")
	}
	if l := b.awaits(control.PairingFailed); l.Why != control.WhyHost {
		t.Errorf("the member: %+v", l)
	}
	if c.link.Room() != nil || len(b.link.Room().Members) != 2 {
		t.Error("somebody is half in")
	}
	a.live()
	meet(a, b)
	pairs(b, c)
	meet(a, b, c)
}

// A device leaves with its window open, while somebody hangs on to that: it is out, its window is closed, and the two become a new room.
func TestLeavingWithAWindowOpen(t *testing.T) {
	t.Parallel()
	for _, who := range []string{"host", "member"} {
		t.Run(who, func(t *testing.T) {
			h := newHousehold(t)
			a, b, c := h.raise("kitchen", "Ada", nil), h.raise("hall", "Ben", nil), h.raise("bedroom", "Cleo", nil)
			pairs(a, b)
			meet(a, b)
			leaver, other := a, b
			if who == "member" {
				leaver, other = b, a
			}
			o := leaver.opens()
			ctx, cancel := context.WithTimeout(context.Background(), patience)
			defer cancel()
			if _, err := leaver.pairing.Leave(ctx); err != nil {
				t.Fatal(err)
			}
			if _, err := c.joins(o.Code, o.Addresses[0]); err == nil {
				t.Error("joined by the window of a device that has left")
			}
			leaver.restarts()
			if who == "host" {
				other.restarts()
			}
			if leaver.link.Room() != nil || c.link.Room() != nil {
				t.Error("somebody is half in")
			}
			pairs(leaver, c)
			meet(leaver, c)
		})
	}
}

// The configuration names a broker, and the room was paired without one: a window would lead to where nobody is.
func TestAWindowThatLeadsNowhere(t *testing.T) {
	h := newHousehold(t)
	var broker string
	a, b := h.raise("kitchen", "Ada", func(o *boxOptions) {
		change := o.config
		o.config = func(c *config.Config) { change(c); c.Room.Broker = broker }
	}), h.raise("hall", "Ben", nil)
	pairs(a, b)
	a.dies()
	broker = "mqtt://127.0.0.1:9"
	a.live()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if o, err := a.pairing.Open(ctx); !errors.Is(err, control.ErrRefused) || !strings.Contains(err.Error(), "room.broker") {
		t.Errorf("%+v, %v", o, err)
	}
}

// The card of one device was copied for the other one: both have one key, and no room can tell them apart.
func TestACopiedCard(t *testing.T) {
	h := newHousehold(t)
	id, err := mqtt.NewIdentity()
	if err != nil {
		t.Fatal(err)
	}
	copied := func(o *boxOptions) { o.room.Identity = id }
	a, b := h.raise("kitchen", "Ada", copied), h.raise("hall", "Ben", copied)
	o := a.opens()
	if _, err := b.joins(o.Code, o.Addresses[0]); err == nil || !strings.Contains(err.Error(), "identity.key") {
		t.Errorf("%v", err)
	}
	if l := a.pairing.Now(); l.State != control.PairingOpen || l.Tries > 0 {
		t.Errorf("its window: %+v", l)
	}
}

// A device that cannot pair, since its room is damaged, or it has nowhere to keep one, is held for five seconds, and for ten: it says that
// it cannot, and works on. A damaged room is given up by holding, as by hand.
func TestHeldWhereItCannotPair(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		more func(*tenant) func(*boxOptions)
	}{
		{"its room is damaged", func(x *tenant) func(*boxOptions) {
			dir := filepath.Join(x.dir, "room")
			if err := errors.Join(os.MkdirAll(dir, 0o700), os.WriteFile(filepath.Join(dir, "room.json"), []byte("{"), 0o600)); err != nil {
				t.Fatal(err)
			}
			return nil
		}},
		{"it keeps nothing", func(*tenant) func(*boxOptions) {
			return func(o *boxOptions) {
				change := o.config
				o.config = func(c *config.Config) { change(c); c.State.Dir = "" }
			}
		}},
		{"it is configured by hand", func(*tenant) func(*boxOptions) {
			return func(o *boxOptions) {
				change := o.config
				o.config = func(c *config.Config) { change(c); c.Room.Broker, c.Room.Listen = "embedded", "127.0.0.1:0" }
			}
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := newHousehold(t)
			h.raise("hall", "Ben", nil).opens() // there would be somebody
			x := &tenant{h: h, name: "kitchen", who: "Ada", dir: t.TempDir()}
			x.more = c.more(x)
			x.live()
			x.holds(longEnough, nil)
			held := x.card.Clock().Now()
			if l := x.awaits(control.PairingFailed); l.Why != control.WhyDevice {
				t.Errorf("held: %+v", l)
			}
			x.until("said", func() bool { return x.card.LastAudible(held) > held }) // a second of it, which a look now and then may miss
			x.holds(10*time.Second+200*time.Millisecond, nil)
			if x.conds.Holds(condition.RoomDamaged) {
				x.awaits(control.PairingLeft)
				x.restarts()
				if x.conds.Holds(condition.RoomDamaged) {
					t.Error("the damage stays")
				}
			} else {
				x.until("that hold is over", func() bool { return len(x.turnsEnded()) == 2 && x.Quiet() })
			}
			if x.link.Room() != nil {
				t.Error("it is in a room")
			}
			x.types("Ada, are you there, say something long enough")
			x.until("it answers", x.audible)
		})
	}
}
