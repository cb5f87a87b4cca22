package pairing

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/netip"
	"runtime"
	"testing"
	"time"
)

// dialFrom is DialTLS from one of loopback's other addresses.
func (g *guest) dialFrom(t testing.TB, from, to string) (Channel, error) {
	t.Helper()
	d := &net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}}
	conn, err := d.DialContext(t.Context(), "tcp", to)
	if err != nil {
		return nil, err
	}
	c := tls.Client(conn, TLS(g.id))
	if err := c.HandshakeContext(t.Context()); err != nil {
		_ = conn.Close()
		return nil, err
	}
	return newTLSChannel(c)
}

// Fourteen connections of one address that say nothing: whoever speaks, from there or from elsewhere, has its run at the first try.
func TestSilentConnectionsGiveWayToOneThatSpeaks(t *testing.T) {
	for _, from := range []string{"127.0.0.1", "127.0.0.2"} {
		h, g := open(t, nil), newGuest(t, "bedroom")
		addr := h.door(t)
		for range 14 {
			ch, err := newGuest(t, "nobody").dialFrom(t, "127.0.0.1", addr)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = ch.(*tlsChannel).conn.NetConn().Close() }()
		}
		ch, err := g.dialFrom(t, from, addr)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := g.enter(t.Context(), ch); err != nil {
			t.Errorf("from %s: %v", from, err)
		}
	}
}

// callerFrom is a connection that a door knows.
func callerFrom(from string) *caller {
	return &caller{from: netip.MustParseAddr(from), close: func() error { return nil }}
}

// Places: two an address, eight in all; the silent give way, the oldest first, and who has spoken does not.
func TestPlacesAtTheDoor(t *testing.T) {
	d := &Door{}
	var a []*caller
	for range 3 {
		a = append(a, callerFrom("10.0.0.1"))
		if !d.enter(a[len(a)-1]) {
			t.Fatal("a newcomer finds no place, and all others are silent")
		}
	}
	if d.speaks(a[0]) || !d.speaks(a[1]) || !d.speaks(a[2]) {
		t.Error("of three of one address the oldest was to give way")
	}
	if d.enter(callerFrom("10.0.0.1")) {
		t.Error("a third of one address, and both others speak")
	}
	for _, from := range []string{"10.0.0.2", "10.0.0.3", "10.0.0.4"} {
		for range 2 {
			c := callerFrom(from)
			if !d.enter(c) || !d.speaks(c) {
				t.Fatal(from)
			}
		}
	}
	if d.enter(callerFrom("10.0.0.5")) {
		t.Error("a ninth, and all others speak")
	}
	d.leave(a[1])
	if c := callerFrom("10.0.0.5"); !d.enter(c) || len(d.in) != maxServed {
		t.Error("a place is free")
	}
}

// serves reports whether somebody is at the door.
func (d *Door) serves() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.in) > 0
}

// Three windows closed by wrong codes of one address: it waits ten minutes, others do not, and a hand on the keeper's button ends that.
func TestAnAddressThatGuesses(t *testing.T) {
	d, told := &Door{}, 0
	d.Blamed = func(a netip.Addr) {
		if told++; a.String() != "127.0.0.3" {
			t.Errorf("%s is blamed", a)
		}
	}
	window := func(codes map[string]string) (honest error) {
		h := open(t, nil)
		l := listen(t)
		served := make(chan error, 1)
		go func() { served <- ServeTLS(context.Background(), l, h.id, d, h.Window) }()
		defer func() {
			h.Close()
			if err := <-served; err != nil {
				t.Error(err)
			}
		}()
		for range MaxTries {
			for from, code := range codes {
				g := newGuest(t, "guesser")
				g.code = code
				ch, err := g.dialFrom(t, from, l.Addr().String())
				if err != nil {
					honest = errors.Join(honest, err)
					continue
				}
				switch _, err := g.enter(t.Context(), ch); {
				case err == nil:
					return nil
				case !errors.Is(err, ErrWrongCode):
					honest = err
				}
				for d.serves() { // its place is free a moment after its answer
					runtime.Gosched()
				}
			}
		}
		return honest
	}
	for range maxSpoiled {
		if err := window(map[string]string{"127.0.0.3": "000000"}); err != nil {
			t.Fatal(err)
		}
	}
	if told != 1 {
		t.Errorf("blamed %d times", told)
	}
	if err := window(map[string]string{"127.0.0.3": "000000"}); !errors.Is(err, ErrBusy) {
		t.Errorf("it has another try: %v", err)
	}
	if err := window(map[string]string{"127.0.0.4": testCode}); err != nil {
		t.Errorf("another address: %v", err)
	}
	at, now := netip.MustParseAddr("127.0.0.3"), time.Now()
	if !d.waits(at, now.Add(spoiledFor-time.Second)) {
		t.Error("it waits for less than ten minutes")
	}
	d.Forgive()
	if d.waits(at, now) {
		t.Error("a hand on the button does not help")
	}
	for i := range maxSpoiled {
		if d.spoiled(at, now) != (i == maxSpoiled-1) {
			t.Error("it counts from the beginning")
		}
	}
	if d.waits(at, now.Add(spoiledFor)) || d.waits(at, now) {
		t.Error("it waits for more than ten minutes")
	}
	for i := range 4 * maxBlamed {
		d.spoiled(netip.AddrFrom4([4]byte{10, 0, byte(i >> 8), byte(i)}), now)
	}
	if len(d.blamed) > maxBlamed {
		t.Errorf("%d addresses are remembered", len(d.blamed))
	}
}
