package rehearse

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"testing"
	"time"
)

// echoing is a broker for a cable: it says every line again. ended gets what each connection ended with.
type echoing struct {
	net.Listener
	ended chan error
}

func newEchoing(t *testing.T) *echoing {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	e := &echoing{l, make(chan error, 16)}
	done := make(chan struct{})
	go func() { // awaited by the cleanup
		defer close(done)
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() { // ends with the connection, which the cable's end resets
				_, err := io.Copy(c, c)
				c.Close()
				e.ended <- err
			}()
		}
	}()
	t.Cleanup(func() { l.Close(); <-done })
	return e
}

// wired is a cable to an echo, and one connection through it that works.
func wired(t *testing.T) (*cable, *echoing, net.Conn, *bufio.Reader) {
	t.Helper()
	e := newEchoing(t)
	c, err := newCable(e.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- c.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	conn, err := net.Dial("tcp", c.address())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	r := bufio.NewReader(conn)
	roundTrip(t, conn, r, "one")
	return c, e, conn, r
}

func roundTrip(t *testing.T, conn net.Conn, r *bufio.Reader, word string) {
	t.Helper()
	if _, err := fmt.Fprintln(conn, word); err != nil {
		t.Fatal(err)
	}
	_ = conn.SetReadDeadline(time.Now().Add(time.Minute))
	if got, err := r.ReadString('\n'); err != nil || got != word+"\n" {
		t.Fatalf("got %q, %v; want %q", got, err, word)
	}
}

// silent demands that nothing comes for a while: that what is held is held.
func silent(t *testing.T, conn net.Conn, r *bufio.Reader) {
	t.Helper()
	_ = conn.SetReadDeadline(time.Now().Add(100 * time.Millisecond))
	b, err := r.ReadByte()
	if timeout := (net.Error)(nil); !errors.As(err, &timeout) || !timeout.Timeout() {
		t.Fatalf("got %q, %v; want nothing at all", b, err)
	}
}

func TestCableHoldsWithoutClosing(t *testing.T) {
	c, _, conn, r := wired(t)
	c.hold()
	fmt.Fprintln(conn, "held")
	silent(t, conn, r)
	c.hold() // frozen, and its network cut
	c.release()
	silent(t, conn, r)
	c.release()
	_ = conn.SetReadDeadline(time.Now().Add(time.Minute))
	if got, err := r.ReadString('\n'); err != nil || got != "held\n" {
		t.Fatalf("after the hold: %q, %v; want what was sent meanwhile", got, err)
	}
}

// The end of a connection is no more told than its bytes while the cable is held; nor is a new one answered.
func TestHeldCableHidesTheEnd(t *testing.T) {
	c, e, conn, _ := wired(t)
	c.hold()
	conn.Close()
	late, err := net.Dial("tcp", c.address())
	if err != nil {
		t.Fatal(err)
	}
	defer late.Close()
	fmt.Fprintln(late, "late")
	lr := bufio.NewReader(late)
	silent(t, late, lr)
	select {
	case err := <-e.ended:
		t.Fatalf("the broker was told of the end (%v) through a held cable", err)
	default:
	}
	c.release()
	if err := <-e.ended; err != nil {
		t.Errorf("the broker saw %v; want an orderly end", err)
	}
	_ = late.SetReadDeadline(time.Now().Add(time.Minute))
	if got, err := lr.ReadString('\n'); err != nil || got != "late\n" {
		t.Fatalf("the late one got %q, %v", got, err)
	}
}

func TestResetTellsBothEndsAtOnce(t *testing.T) {
	for _, held := range []bool{false, true} {
		c, e, conn, r := wired(t)
		if held {
			c.hold()
			defer c.release()
		}
		c.refusing(true)
		c.reset()
		_ = conn.SetReadDeadline(time.Now().Add(time.Minute))
		if _, err := r.ReadByte(); err == nil || errors.Is(err, io.EOF) {
			t.Errorf("held %v: the device's end says %v; want a reset", held, err)
		}
		if err := <-e.ended; err == nil {
			t.Errorf("held %v: the broker's end was closed in an orderly way; want a reset", held)
		}
		again, err := net.Dial("tcp", c.address())
		if err != nil {
			continue // refused at the door is as good
		}
		_ = again.SetReadDeadline(time.Now().Add(time.Minute))
		if _, err := again.Read(make([]byte, 1)); err == nil {
			t.Errorf("held %v: a new connection is served though all are refused", held)
		}
		again.Close()
	}
}

func TestCableToNobody(t *testing.T) {
	c, err := newCable("127.0.0.1:1") // nobody listens there
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- c.Run(ctx) }()
	if conn, err := net.Dial("tcp", c.address()); err == nil { // or the reset came before the dial was through
		_ = conn.SetReadDeadline(time.Now().Add(time.Minute))
		if _, err := conn.Read(make([]byte, 1)); err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("read says %v; want an end at once", err)
		}
		conn.Close()
	}
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
}
