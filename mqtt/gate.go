package mqtt

import (
	"crypto/tls"
	"errors"
	"net"
	"net/netip"
	"sync"
	"time"
)

// Bounds of connections that have not shown who they are: they may not take the place of those that have.
const (
	maxStrangers     = 64              // at one door
	maxFromOne       = 16              // of one address
	strangerPatience = 5 * time.Second // for the handshake, and then for CONNECT
)

// gate is one of the broker's listeners: it bounds the connections, those before CONNECT included, and can close them all.
type gate struct {
	net.Listener
	most int // clients and strangers

	mu        sync.Mutex
	open      map[*counted]bool
	strangers map[netip.Addr]int
	strange   int
	end       bool
}

func newGate(l net.Listener, clients int) *gate {
	return &gate{Listener: l, most: clients + maxStrangers, open: map[*counted]bool{}, strangers: map[netip.Addr]int{}}
}

// Accept gives the next connection that there is room for.
func (g *gate) Accept() (net.Conn, error) {
	c, err := g.next()
	if err != nil {
		return nil, err
	}
	return c, nil
}

func (g *gate) next() (*counted, error) {
	for failures := 0; ; {
		conn, err := g.Listener.Accept()
		if errors.Is(err, net.ErrClosed) {
			return nil, err
		}
		if err != nil { // out of descriptors, for instance: the door must not stay shut for that
			failures++
			t := time.NewTimer(min(time.Duration(failures)*10*time.Millisecond, time.Second))
			<-t.C
			continue
		}
		failures = 0
		c := &counted{Conn: conn, gate: g, from: addrOf(conn), strange: true}
		if !g.enter(c) {
			_ = conn.Close()
			continue
		}
		_ = conn.SetDeadline(time.Now().Add(strangerPatience)) // until CONNECT says how long a silence may be
		return c, nil
	}
}

func (g *gate) enter(c *counted) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.end || len(g.open) >= g.most || g.strange >= maxStrangers || g.strangers[c.from] >= maxFromOne {
		return false
	}
	g.open[c] = true
	g.strange++
	g.strangers[c.from]++
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
	net.Conn
	gate *gate
	from netip.Addr

	strange bool // under the gate's lock
}

// known says that it has shown who it is.
func (c *counted) known() {
	c.gate.mu.Lock()
	defer c.gate.mu.Unlock()
	c.familiar()
}

func (c *counted) familiar() {
	if !c.strange {
		return
	}
	c.strange = false
	c.gate.strange--
	if c.gate.strangers[c.from]--; c.gate.strangers[c.from] == 0 {
		delete(c.gate.strangers, c.from)
	}
}

func (c *counted) Close() error {
	c.gate.mu.Lock()
	delete(c.gate.open, c)
	c.familiar()
	c.gate.mu.Unlock()
	return c.Conn.Close()
}

// bareConn is what a connection is made of, without its encryption.
func bareConn(c net.Conn) net.Conn {
	if t, ok := c.(*tls.Conn); ok {
		return t.NetConn()
	}
	return c
}

func addrOf(c net.Conn) netip.Addr {
	if a, ok := c.RemoteAddr().(*net.TCPAddr); ok {
		return a.AddrPort().Addr().Unmap()
	}
	return netip.Addr{}
}
