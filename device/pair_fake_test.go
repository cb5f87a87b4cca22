package device

import (
	"context"
	"crypto/tls"
	"net"
	"slices"
	"strings"
	"testing"

	"conch/device/control"
	"conch/mqtt"
	"conch/mqtt/discovery"
	"conch/mqtt/pairing"
)

// fake is somebody on the network who says that a device pairs. It does not know the code.
type fake struct {
	id    mqtt.Identity
	wrong chan struct{} // a code was tried there
}

// fakes puts one on the network; it stalls, or has a window of its own.
func (h *household) fakes(name string, stalls bool) *fake {
	h.t.Helper()
	id, err := mqtt.NewIdentity()
	if err != nil {
		h.t.Fatal(err)
	}
	f := &fake{id: id, wrong: make(chan struct{}, 8)}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		h.t.Fatal(err)
	}
	ended := make(chan struct{})
	if stalls {
		go func() { // ends with the listener
			defer close(ended)
			for {
				conn, err := l.Accept()
				if err != nil {
					return
				}
				h.t.Cleanup(func() { _ = conn.Close() })
				go func() { _ = tls.Server(conn, pairing.TLS(id)).Handshake() }() // and not a word more
			}
		}()
		h.t.Cleanup(func() { _ = l.Close(); <-ended })
	} else {
		w, err := pairing.NewWindow(pairing.WindowConfig{
			Identity: id, Name: name, RoomID: "raaaaaaaaaaaaaaa", RoomName: "home", Code: "000000",
			Admit: func(context.Context, pairing.Party) ([]byte, error) { return nil, context.Canceled },
			On: func(e pairing.WindowEvent) {
				if e.Kind == pairing.EventWrong {
					f.wrong <- struct{}{}
				}
			},
		})
		if err != nil {
			h.t.Fatal(err)
		}
		go func() { defer close(ended); _ = pairing.ServeTLS(context.Background(), l, id, &pairing.Door{}, w) }()
		ran := make(chan error, 1)
		go func() { ran <- w.Run(context.Background()) }()
		h.t.Cleanup(func() { w.Close(); <-ended; h.t.Log("the false window ended: ", <-ran) })
	}
	h.lan.mu.Lock()
	defer h.lan.mu.Unlock()
	h.lan.says[id.ID()] = discovery.Found{
		Service:   discovery.Service{Name: name, Room: "home", RoomID: "raaaaaaaaaaaaaaa", Device: id.ID(), Pairing: true, Port: 1},
		Addresses: []string{l.Addr().String()},
	}
	return f
}

// hides takes a device off the network until show is called.
func (h *household) hides(x *tenant) (show func()) {
	h.lan.mu.Lock()
	defer h.lan.mu.Unlock()
	was := h.lan.says[x.self]
	delete(h.lan.says, x.self)
	return func() {
		h.lan.mu.Lock()
		defer h.lan.mu.Unlock()
		h.lan.says[x.self] = was
	}
}

// A fake window of the same name is all that is seen at first, and receives the try; the real one comes later, and the device is in its room.
func TestAFakeWindowThatAnswersFirst(t *testing.T) {
	h := newHousehold(t)
	a, b := h.raise("kitchen", "Ada", nil), h.raise("hall", "Ben", nil)
	f := h.fakes("kitchen", false)
	o := a.opens()
	show := h.hides(a)
	joined := make(chan error, 1)
	var l control.PairingLine
	go func() {
		var err error
		l, err = b.joins(o.Code, "")
		joined <- err
	}()
	b.until("the code was tried at the fake", func() bool { return len(f.wrong) > 0 })
	show()
	if err := <-joined; err != nil || l.Device != a.self {
		t.Fatalf("%+v, %v; want to be in the room of %s", l, err, a.self)
	}
	b.restarts()
	a.restarts()
	meet(a, b)
}

// One that takes the connection and says nothing, and one that tries: the code is right at the third.
func TestAFakeWindowThatStalls(t *testing.T) {
	h := newHousehold(t)
	a, b := h.raise("kitchen", "Ada", nil), h.raise("hall", "Ben", nil)
	h.fakes("kitchen", true)
	h.fakes("pantry", false)
	o := a.opens()
	lines := b.pairing.Watch(t.Context())
	if l, err := b.joins(o.Code, ""); err != nil || l.Device != a.self {
		t.Fatalf("%+v, %v; want to be in the room of %s", l, err, a.self)
	}
	said := false
	for l := range lines {
		names := slices.Sorted(slices.Values(l.Windows))
		if l.State == control.PairingJoining && len(names) == 3 && strings.HasPrefix(names[0], "kitchen ") && names[0] != names[1] && strings.Contains(l.Text, names[0]) {
			said = true
		}
		if l.State == control.PairingPaired {
			break
		}
	}
	if !said {
		t.Error("it is not said by name who pairs")
	}
	b.restarts()
	a.restarts()
	meet(a, b)
}

// The code is nobody's of those that pair: it is said so, by name, and nobody is in a room.
func TestTwoWindowsAtOnce(t *testing.T) {
	h := newHousehold(t)
	a, b, c := h.raise("kitchen", "Ada", nil), h.raise("hall", "Ben", nil), h.raise("bedroom", "Cleo", nil)
	a.opens()
	o := b.opens()
	wrong := "123456"
	if _, err := c.joins(wrong, ""); err == nil || c.pairing.Now().Why != control.WhyWrongCode || !strings.Contains(err.Error(), "hall") ||
		!strings.Contains(err.Error(), "kitchen") {
		t.Errorf("%v: %+v", err, c.pairing.Now())
	}
	c.until("said aloud", c.audible)
	if l, err := c.joins(o.Code, ""); err != nil || l.Peer != "hall" {
		t.Errorf("the code of one of them: %+v, %v", l, err)
	}
}
