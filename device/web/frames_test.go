package web

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
)

// What is no message counts too: more frames than a microphone and a finger send end the socket, whatever they carry.
func TestEveryFrameCounts(t *testing.T) {
	none := []byte{0x80, 0, 0, 0, 0} // masked, empty
	for name, kinds := range map[string][2]byte{
		"pings": {0x89, 0x89}, "pongs": {0x8a, 0x8a}, "empty messages": {0x82, 0x82}, "pieces of one message": {0x01, 0x00},
	} {
		ended := make(chan error, 1)
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			c, err := websocket.Accept(metered{w}, r, nil)
			for err == nil {
				_, _, err = c.Read(r.Context())
			}
			ended <- err
		}))
		c, err := net.Dial("tcp", s.Listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		_ = c.SetDeadline(time.Now().Add(20 * time.Second)) // or a socket that goes on hangs
		hello := "GET / HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n" +
			"Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n"
		_, _ = io.WriteString(c, hello)
		frame := func(kind byte) []byte { return append([]byte{kind}, none...) }
		flood := append(frame(kinds[0]), bytes.Repeat(frame(kinds[1]), 3*talkMessages)...)
		go func() { _, _ = c.Write(flood) }() // ends with the socket
		if said, _ := io.ReadAll(bufio.NewReader(c)); !strings.Contains(string(said), errFlood.Error()) {
			t.Errorf("%s: %q", name, said)
		}
		_ = c.Close()
		if err := <-ended; !errors.Is(err, errFlood) {
			t.Errorf("%s: %v", name, err)
		}
		s.Close()
	}
}

// However a stream is cut, its frames are the same.
func TestFramesAreFoundHoweverTheyAreCut(t *testing.T) {
	var all []byte
	for _, n := range []int{0, 1, 125, 126, 300, 65536} {
		head := []byte{0x82, 0x80 | byte(n)}
		switch {
		case n > 65535:
			head = []byte{0x82, 0xff, 0, 0, 0, 0, 0, byte(n >> 16), byte(n >> 8), byte(n)}
		case n > 125:
			head = []byte{0x82, 0xfe, byte(n >> 8), byte(n)}
		}
		all = append(append(append(all, head...), 1, 2, 3, 4), bytes.Repeat([]byte{0x89}, n)...)
	}
	for _, cut := range []int{1, 2, 7, 100, len(all)} {
		var f frames
		n := 0
		for rest := all; len(rest) > 0; rest = rest[min(cut, len(rest)):] {
			n += f.feed(rest[:min(cut, len(rest))])
		}
		if n != 6 || f.skip != 0 || f.have != 0 {
			t.Errorf("cut every %d: %d frames, %+v", cut, n, f)
		}
	}
}

// chairs are a stage with room for all.
type chairs struct{}

func (chairs) Sit(string, Ear) (Seat, error) { return chairs{}, nil }
func (chairs) Device() string                { return "kitchen" }
func (chairs) Hear([]int16)                  {}
func (chairs) Press(bool)                    {}
func (chairs) Leave()                        {}

// seat opens a socket of the page.
func (b *browser) seat() (*websocket.Conn, error) {
	h := http.Header{"Origin": {b.base}}
	c, _, err := websocket.Dial(b.s.t.Context(), b.base+"/seat", &websocket.DialOptions{HTTPClient: b.c, HTTPHeader: h}) //nolint:bodyclose // it has closed it
	if err == nil {
		b.s.t.Cleanup(func() { _ = c.CloseNow() })
	}
	return c, err
}

// join joins with sound, and says why it cannot.
func (b *browser) join() (refused string) {
	b.s.t.Helper()
	v, _ := b.visit()
	c, err := b.seat()
	if err != nil {
		return err.Error()
	}
	hello, _ := json.Marshal(talkHello{Token: v.Token})
	_ = c.Write(b.s.t.Context(), websocket.MessageText, hello)
	var said struct{ Refused string }
	_, text, err := c.Read(b.s.t.Context())
	if err == nil {
		err = json.Unmarshal(text, &said)
	}
	if err != nil {
		b.s.t.Fatal(err)
	}
	return said.Refused
}

// One page cannot take the sockets of all: it has two, and two that have not said yet who they are.
func TestOnePageHasTwoSockets(t *testing.T) {
	s := newScene(t, withAuthority)
	one := s.in(false)
	for i := range 3 {
		refused := one.join()
		if got, want := refused != "", i >= maxSocketsOfOne; got != want {
			t.Errorf("socket %d of one page: %q", i, refused)
		}
	}
	silent := s.in(false)
	for i := range 3 {
		_, err := silent.seat()
		if got, want := err != nil, i >= maxSocketsOfOne; got != want {
			t.Errorf("socket %d that says nothing: %v", i, err)
		}
	}
	if refused := s.in(false).join(); refused != "" {
		t.Errorf("another page: %s", refused)
	}
}
