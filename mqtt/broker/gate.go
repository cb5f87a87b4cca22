package broker

import (
	"errors"
	"net"
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// Bounds of connections that have not shown who they are: they may not take the place of those that have.
const (
	maxStrangers     = 64              // at one listener; then the one that has been waiting longest goes
	maxFromOne       = 16              // of one address; then the new one is not let in
	strangerPatience = 5 * time.Second // for the handshake, and then for CONNECT
	kernelBuffer     = 64 << 10        // bytes each way; the kernel takes it twice
)

// gate is one of the broker's listeners: it bounds the connections, those before CONNECT included, and can close them all.
type gate struct {
	net.Listener
	most    int // clients and strangers
	bounds  *bounds
	writers sync.WaitGroup // of served connections

	mu        sync.Mutex
	open      map[*counted]bool
	strangers []*counted // oldest first
	end       bool
}

func newGate(l net.Listener, clients int, b *bounds) *gate {
	return &gate{Listener: l, most: clients + maxStrangers, bounds: b, open: map[*counted]bool{}}
}

// Accept gives the next connection that there is room for.
func (g *gate) Accept() (net.Conn, error) {
	c, err := g.next()
	if err != nil {
		return nil, err
	}
	return serve(c, c, ""), nil
}

func (g *gate) next() (*counted, error) {
	for failures := 0; ; {
		conn, err := g.Listener.Accept()
		if errors.Is(err, net.ErrClosed) {
			return nil, err
		}
		if err != nil { // out of descriptors, for instance: the listener must not stay shut for that
			failures++
			t := time.NewTimer(min(time.Duration(failures)*10*time.Millisecond, time.Second))
			<-t.C
			continue
		}
		failures = 0
		if t, ok := conn.(*net.TCPConn); ok { // what waits in the kernel is memory, too
			_ = t.SetReadBuffer(kernelBuffer)
			_ = t.SetWriteBuffer(kernelBuffer)
		}
		c := &counted{forgiving: &forgiving{Conn: conn}, gate: g, from: addrOf(conn)}
		if !g.enter(c) {
			_ = conn.Close()
			continue
		}
		_ = c.SetDeadline(time.Now().Add(strangerPatience)) // until CONNECT says how long a silence may be
		return c, nil
	}
}

func (g *gate) enter(c *counted) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	same := 0
	for _, s := range g.strangers {
		if s.from == c.from {
			same++
		}
	}
	if g.end || len(g.open) >= g.most || same >= maxFromOne {
		return false
	}
	if len(g.strangers) >= maxStrangers {
		oldest := g.strangers[0]
		g.forget(oldest)
		_ = oldest.Conn.Close()
	}
	g.open[c] = true
	g.strangers = append(g.strangers, c)
	return true
}

func (g *gate) shut() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.end = true
	_ = g.Listener.Close()
	for c := range g.open {
		_ = c.Conn.Close()
	}
}

// counted is a connection that the gate knows until it is closed.
type counted struct {
	*forgiving
	gate   *gate
	from   netip.Addr
	served atomic.Pointer[served] // nil: it is not known yet who that is
}

// Read counts what comes over the wire, TLS and all.
func (c *counted) Read(b []byte) (int, error) {
	n, err := c.forgiving.Read(b)
	if s := c.served.Load(); s != nil && n > 0 {
		err = errors.Join(err, s.spend(ExcessBytes, n))
	}
	return n, err
}

// known says that it has shown who it is.
func (c *counted) known() {
	c.gate.mu.Lock()
	defer c.gate.mu.Unlock()
	c.gate.forget(c)
}

// forget takes a connection from the strangers, if it is one. The lock is held.
func (g *gate) forget(c *counted) {
	if i := slices.Index(g.strangers, c); i >= 0 {
		g.strangers = slices.Delete(g.strangers, i, i+1)
	}
}

func (c *counted) Close() error {
	c.gate.mu.Lock()
	delete(c.gate.open, c)
	c.gate.forget(c)
	c.gate.mu.Unlock()
	return c.Conn.Close()
}

func addrOf(c net.Conn) netip.Addr {
	if a, ok := c.RemoteAddr().(*net.TCPAddr); ok {
		return a.AddrPort().Addr().Unmap()
	}
	return netip.Addr{}
}
