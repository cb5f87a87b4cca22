package pairing

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"sync"
	"time"
)

// Bounds of a door.
const (
	maxServed  = 2 * MaxRuns // connections at a time
	maxFromOne = 2           // of one address
	maxBlamed  = 64          // addresses that are remembered; the oldest goes first

	maxSpoiled = 3                // windows that were closed by wrong codes of one address: then it waits
	spoiledFor = 10 * time.Minute // so long
	blameFor   = time.Hour        // after the last of them it is forgotten
)

// Door is what joiners come through to the windows of a device, over TLS. A connection has a place of its own only once it has spoken; those
// that are silent give way, the oldest first, and one address has few places. What the door knows of an address outlives a window. The zero
// value is a door; Blamed may be set before it is used.
type Door struct {
	Blamed func(addr netip.Addr) // an address must wait from now on; nil: nobody is told

	mu     sync.Mutex
	in     []*caller // oldest first
	window *Window   // the one that wrong is of
	wrong  []netip.Addr
	blamed []blame // oldest first
}

// caller is a connection after its handshake.
type caller struct {
	from  netip.Addr
	spoke bool
	out   bool
	close func() error
}

// blame is an address whose wrong codes have closed windows.
type blame struct {
	from    netip.Addr
	windows int
	last    time.Time
}

// Serve is one joiner's connection: its handshake, if nobody has made that, and its run at w. It closes conn.
func (d *Door) Serve(ctx context.Context, conn *tls.Conn, w *Window) error {
	ch, err := Accept(conn)
	if err != nil {
		return err
	}
	defer func() { _ = ch.Close() }()
	return d.serve(ctx, ch, addrOf(conn), w)
}

func (d *Door) serve(ctx context.Context, ch Channel, from netip.Addr, w *Window) error {
	c := &caller{from: from, close: ch.Close}
	if d.waits(from, time.Now()) || !d.enter(c) {
		_ = ch.Send(encode(&refused{FrameRefused, WhyBusy}))
		return fmt.Errorf("%w: %s", ErrBusy, from)
	}
	defer d.leave(c)
	limited, cancel := context.WithTimeout(ctx, stepLength)
	first, err := ch.Receive(limited)
	cancel()
	if err != nil {
		return fmt.Errorf("%w: %w", ErrLost, err)
	}
	if !d.speaks(c) {
		return ErrBusy
	}
	err = w.Serve(ctx, &spoken{Channel: ch, first: first})
	if errors.Is(err, ErrWrongCode) {
		d.blame(w, from, time.Now())
	}
	return err
}

// spoken is a channel whose first frame was taken already.
type spoken struct {
	Channel
	first []byte
}

func (s *spoken) Receive(ctx context.Context) ([]byte, error) {
	if f := s.first; f != nil {
		s.first = nil
		return f, nil
	}
	return s.Channel.Receive(ctx)
}

// enter gives a connection a place; where there is none, that of the one that has been silent longest.
func (d *Door) enter(c *caller) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	same := func(o *caller) bool { return o.from == c.from }
	any := func(*caller) bool { return true }
	for _, bound := range []struct {
		of   func(*caller) bool
		most int
	}{{same, maxFromOne}, {any, maxServed}} {
		n, silent := 0, -1
		for i, o := range d.in {
			if bound.of(o) {
				n++
				if silent < 0 && !o.spoke {
					silent = i
				}
			}
		}
		switch {
		case n < bound.most:
		case silent < 0:
			return false
		default:
			o := d.in[silent]
			o.out = true
			d.in = slices.Delete(d.in, silent, silent+1)
			go func() { _ = o.close() }() // which takes a moment, and ends by itself
		}
	}
	d.in = append(d.in, c)
	return true
}

func (d *Door) leave(c *caller) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.in = slices.DeleteFunc(d.in, func(o *caller) bool { return o == c })
}

// speaks: its first frame has come.
func (d *Door) speaks(c *caller) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	c.spoke = true
	return !c.out
}

// blame counts a wrong code, and the window where that has closed it.
func (d *Door) blame(w *Window, from netip.Addr, now time.Time) {
	d.mu.Lock()
	if d.window != w {
		d.window, d.wrong = w, nil
	}
	if !slices.Contains(d.wrong, from) {
		d.wrong = append(d.wrong, from)
	}
	var waits []netip.Addr
	if w.spoiled() {
		for _, a := range d.wrong {
			if d.spoiled(a, now) {
				waits = append(waits, a)
			}
		}
		d.window, d.wrong = nil, nil
	}
	d.mu.Unlock()
	for _, a := range waits {
		if d.Blamed != nil {
			d.Blamed(a)
		}
	}
}

// spoiled says whether an address waits from now on. The lock is held.
func (d *Door) spoiled(from netip.Addr, now time.Time) bool {
	b := blame{from: from}
	d.blamed = slices.DeleteFunc(d.blamed, func(o blame) bool {
		if o.from == from && now.Sub(o.last) < blameFor {
			b = o
		}
		return o.from == from || now.Sub(o.last) >= blameFor
	})
	b.windows, b.last = b.windows+1, now
	d.blamed = append(d.blamed[max(0, len(d.blamed)-maxBlamed+1):], b)
	return b.windows >= maxSpoiled
}

// waits says whether an address has no try for a while.
func (d *Door) waits(from netip.Addr, now time.Time) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	for i, b := range d.blamed {
		if b.from != from || b.windows < maxSpoiled {
			continue
		}
		if now.Sub(b.last) < spoiledFor {
			return true
		}
		d.blamed = slices.Delete(d.blamed, i, i+1) // it begins anew
		return false
	}
	return false
}

// Forgive forgets whose codes were wrong: a person stands at the device that keeps the room, with a hand on its button.
func (d *Door) Forgive() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.window, d.wrong, d.blamed = nil, nil, nil
}

// spoiled says that wrong codes have closed the window.
func (w *Window) spoiled() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.end.Kind == EventTooMany
}

func addrOf(c net.Conn) netip.Addr {
	if a, ok := c.RemoteAddr().(*net.TCPAddr); ok {
		return a.AddrPort().Addr().Unmap()
	}
	return netip.Addr{}
}
