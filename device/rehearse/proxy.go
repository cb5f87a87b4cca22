package rehearse

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"
)

// cable is the network between one device of a rehearsal and the broker: a TCP proxy on loopback that can do what networks
// and processes do, and Go's own sockets cannot be made to do.
//
//	device ─> listener ─> link ─> broker
//
//	hold    nothing passes, nobody is told: neither bytes nor the end of a connection (a cable that is out, a process that
//	        is stopped). What was sent meanwhile waits in the sockets, as TCP would send it again, and passes afterwards.
//	reset   both ends of all links lose their connection at once, without a goodbye (a process that was killed)
//	refuse  new connections are reset (nobody is there)
//
// Run owns the accepting goroutine; every link has two of its own, which end with it. Run awaits them all.
type cable struct {
	// fixed after newCable
	listener *net.TCPListener

	mu     sync.Mutex
	target string        // empty: nobody is there
	gate   chan struct{} // closed: things pass; replaced by an open one while held
	holds  int           // reasons to hold
	refuse bool
	ended  bool
	links  map[*link]struct{}
	wg     sync.WaitGroup // of the links
}

// link is one connection through the cable.
type link struct {
	cable *cable
	near  *net.TCPConn
	far   *net.TCPConn  // nil until the broker has taken it; guarded by cable.mu
	cut   chan struct{} // closed by reset
	once  sync.Once
}

const (
	cableDial  = 3 * time.Second // to the broker, on loopback
	cableLinks = 64              // at once; more are reset: a device has one
)

// newCable opens a loopback port that leads to target, a host and port. Nothing passes before Run.
func newCable(target string) (*cable, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("rehearse: a port for the network of a device: %w", err)
	}
	open := make(chan struct{})
	close(open)
	return &cable{listener: l.(*net.TCPListener), target: target, gate: open, links: map[*link]struct{}{}}, nil
}

// aim says where new connections lead from now on.
func (c *cable) aim(target string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.target = target
}

// address is where the device finds what it takes for the broker.
func (c *cable) address() string { return c.listener.Addr().String() }

// Run carries connections until ctx ends; then all are reset.
func (c *cable) Run(ctx context.Context) error {
	stop := context.AfterFunc(ctx, func() { _ = c.listener.Close() })
	defer stop()
	for {
		near, err := c.listener.AcceptTCP()
		if err != nil {
			c.mu.Lock()
			c.ended = true
			c.mu.Unlock()
			c.reset()
			c.wg.Wait()
			if errors.Is(err, net.ErrClosed) {
				return nil
			}
			return fmt.Errorf("rehearse: the network of a device: %w", err)
		}
		c.take(near)
	}
}

// take makes a link of a new connection, or resets it.
func (c *cable) take(near *net.TCPConn) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.refuse || c.ended || len(c.links) >= cableLinks {
		abort(near)
		return
	}
	l := &link{cable: c, near: near, cut: make(chan struct{})}
	c.links[l] = struct{}{}
	c.wg.Add(1)
	go l.run() // awaited by Run
}

// hold stops everything, until it has been released as often as held.
func (c *cable) hold() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.holds++; c.holds == 1 {
		c.gate = make(chan struct{})
	}
}

// release takes one hold back.
func (c *cable) release() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.holds--; c.holds == 0 {
		close(c.gate)
	}
}

// held says that nothing passes.
func (c *cable) held() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.holds > 0
}

// refusing has new connections reset from now on, or not.
func (c *cable) refusing(yes bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.refuse = yes
}

// reset ends all connections, held ones too.
func (c *cable) reset() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for l := range c.links {
		l.abort()
	}
}

// open returns the gate to wait at.
func (c *cable) open() chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.gate
}

// passes waits until the cable is not held; false when the link was reset meanwhile.
func (l *link) passes() bool {
	for {
		gate := l.cable.open()
		select {
		case <-l.cut:
			return false
		case <-gate:
		}
		if gate == l.cable.open() { // not held again while we woke
			return true
		}
	}
}

func (l *link) run() {
	defer l.cable.wg.Done()
	defer func() {
		l.cable.mu.Lock()
		delete(l.cable.links, l)
		l.abort()
		l.cable.mu.Unlock()
	}()
	if !l.passes() {
		return
	}
	l.cable.mu.Lock()
	target := l.cable.target
	l.cable.mu.Unlock()
	conn, err := net.DialTimeout("tcp", target, cableDial)
	if err != nil {
		return // nobody there: the device sees its connection reset
	}
	l.cable.mu.Lock()
	l.far = conn.(*net.TCPConn)
	l.cable.mu.Unlock()
	select {
	case <-l.cut: // before it had a far end to reset
		return
	default:
	}
	done := make(chan struct{})
	go func() { // ends with the link: reading fails when the other direction has ended
		defer close(done)
		l.carry(l.near, l.far)
	}()
	l.carry(l.far, l.near)
	<-done
}

// carry copies one direction to its end, which it hands on when the cable passes ends.
func (l *link) carry(to, from *net.TCPConn) {
	buf := make([]byte, 16<<10)
	for {
		n, err := from.Read(buf)
		if !l.passes() {
			return
		}
		if n > 0 {
			if _, err := to.Write(buf[:n]); err != nil {
				_ = from.Close() // the other direction ends by it
				return
			}
		}
		if err != nil {
			_ = to.Close()
			_ = from.Close()
			return
		}
	}
}

// abort resets both ends. Needs cable.mu.
func (l *link) abort() {
	l.once.Do(func() { close(l.cut) })
	abort(l.near)
	if l.far != nil {
		abort(l.far)
	}
}

// abort ends a connection without a goodbye.
func abort(c *net.TCPConn) {
	_ = c.SetLinger(0) // it may be closed already
	_ = c.Close()
}
