package pairing

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"slices"
	"sync"

	"conch/mqtt"
)

// ServeTLS accepts joiners on l for w until the window is closed or ctx ends, then closes l. It is for a device whose broker is not its
// own: where there is one, its listener does this. Connections are bounded: of those that have not finished their handshake, the
// oldest gives way to a newcomer; those that have are the door's.
func ServeTLS(ctx context.Context, l net.Listener, id mqtt.Identity, door *Door, w *Window) error {
	conf := TLS(id)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() { // ends with ctx, which ends with this function
		select {
		case <-w.Done():
		case <-ctx.Done():
		}
		_ = l.Close()
	}()
	d := &listener{door: door}
	defer d.live.Wait()
	defer d.shut()
	for {
		conn, err := l.Accept()
		if err != nil {
			select {
			case <-w.Done():
				return nil
			default:
			}
			if ctx.Err() != nil {
				return nil
			}
			return fmt.Errorf("pairing: accept: %w", err)
		}
		d.in(conn)
		d.live.Go(func() { d.serve(ctx, conn, conf, w) })
	}
}

// listener counts connections.
type listener struct {
	door *Door
	live sync.WaitGroup

	mu      sync.Mutex
	shaking []net.Conn // that have not finished their handshake, oldest first
}

func (d *listener) in(conn net.Conn) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.shaking) >= maxHandshakes {
		_ = d.shaking[0].Close()
		d.shaking = d.shaking[1:]
	}
	d.shaking = append(d.shaking, conn)
}

func (d *listener) shaken(conn net.Conn) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.shaking = slices.DeleteFunc(d.shaking, func(c net.Conn) bool { return c == conn })
}

// shut ends the handshakes; the runs end with their window.
func (d *listener) shut() {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, c := range d.shaking {
		_ = c.Close()
	}
}

func (d *listener) serve(ctx context.Context, conn net.Conn, conf *tls.Config, w *Window) {
	ch, err := Accept(tls.Server(conn, conf))
	d.shaken(conn)
	if err != nil {
		return
	}
	defer func() { _ = ch.Close() }()
	_ = d.door.serve(ctx, ch, addrOf(conn), w) // what matters came as an event
}
