package mqtttest

import (
	"fmt"
	"math/rand/v2"
	"net"
	"sync"
	"time"
)

// Proxy stands for the cable between a device and its broker. It is whole at first.
type Proxy struct {
	listener net.Listener
	wait     sync.WaitGroup

	mu     sync.Mutex
	target string
	rand   *rand.Rand
	delay  time.Duration // each way
	jitter time.Duration // at most, on top
	loss   float64       // share of pieces that come as if they had been sent again
	again  time.Duration // how much later they come
	state  cable
	open   chan struct{} // closed while the cable is whole
	pairs  map[*pair]bool
	closed bool
}

type cable int

const (
	whole  cable = iota
	cut          // what is sent is lost
	frozen       // what is sent waits
)

// pair is one connection through the proxy.
type pair struct {
	device, broker net.Conn
	dead           bool // bytes were lost in it: it cannot go on
	once           sync.Once
	end            chan struct{}
}

func (p *pair) close(reset bool) {
	p.once.Do(func() {
		close(p.end)
		for _, c := range []net.Conn{p.device, p.broker} {
			if t, ok := c.(*net.TCPConn); ok && reset {
				_ = t.SetLinger(0) // RST
			}
			_ = c.Close()
		}
	})
}

// NewProxy listens on a free loopback port and passes everything to target (host:port).
func NewProxy(target string) (*Proxy, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("mqtttest: proxy: %w", err)
	}
	p := &Proxy{listener: l, target: target, rand: rand.New(rand.NewPCG(1, 2)), pairs: map[*pair]bool{}, open: make(chan struct{})}
	close(p.open)
	p.wait.Go(p.accept)
	return p, nil
}

// Addr is where devices connect.
func (p *Proxy) Addr() string { return p.listener.Addr().String() }

// URL is the address for a client.
func (p *Proxy) URL() string { return "mqtt://" + p.Addr() }

// SetTarget lets new connections go elsewhere: the broker has moved.
func (p *Proxy) SetTarget(target string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.target = target
}

// Delay makes everything later, each way, by d and up to jitter more. Order is kept: it is a stream.
func (p *Proxy) Delay(d, jitter time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.delay, p.jitter = d, jitter
}

// Seed sets what chance decides: two cables of one seed have the same delays.
func (p *Proxy) Seed(seed uint64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.rand = rand.New(rand.NewPCG(seed, 2))
}

// Lose lets a share of the pieces, and all that follow them, come later by again, as when TCP has to repeat a lost packet.
func (p *Proxy) Lose(share float64, again time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.loss, p.again = share, again
}

// Cut is a pulled cable: nothing comes through, no connection is closed, new ones get no answer. Connections that lost
// bytes are reset when it is put back.
func (p *Proxy) Cut() { p.set(cut) }

// Freeze is a peer that stands still: nothing comes through, and comes all at once when it goes on.
func (p *Proxy) Freeze() { p.set(frozen) }

// Heal puts the cable back, or lets the peer go on.
func (p *Proxy) Heal() { p.set(whole) }

// Reset ends all connections with RST. New ones are accepted.
func (p *Proxy) Reset() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for c := range p.pairs {
		c.close(true)
	}
}

// Connections is how many connections there are now.
func (p *Proxy) Connections() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.pairs)
}

// Close ends everything and waits for it.
func (p *Proxy) Close() {
	p.mu.Lock()
	p.closed = true
	for c := range p.pairs {
		c.close(true)
	}
	p.mu.Unlock()
	_ = p.listener.Close()
	p.wait.Wait()
}

func (p *Proxy) set(s cable) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if s == p.state {
		return
	}
	if p.state == whole {
		p.open = make(chan struct{})
	}
	p.state = s
	if s != whole {
		return
	}
	close(p.open)
	for c := range p.pairs {
		if c.dead {
			c.close(true)
		}
	}
}

func (p *Proxy) accept() {
	for {
		conn, err := p.listener.Accept()
		if err != nil {
			return
		}
		p.wait.Go(func() { p.serve(conn) })
	}
}

func (p *Proxy) serve(conn net.Conn) {
	c := &pair{device: conn, end: make(chan struct{})}
	p.mu.Lock()
	open, target, closed := p.open, p.target, p.closed
	c.broker = conn // until there is one
	p.pairs[c] = true
	p.mu.Unlock()
	defer func() {
		p.mu.Lock()
		delete(p.pairs, c)
		p.mu.Unlock()
		c.close(false)
	}()
	if closed {
		return
	}
	select {
	case <-open:
	case <-c.end:
		return
	}
	broker, err := net.DialTimeout("tcp", target, 5*time.Second)
	if err != nil {
		c.close(true)
		return
	}
	p.mu.Lock()
	c.broker = broker
	p.mu.Unlock()
	defer func() { _ = broker.Close() }()
	var both sync.WaitGroup
	both.Go(func() { p.pump(c, conn, broker) })
	both.Go(func() { p.pump(c, broker, conn) })
	both.Wait()
}

// piece is something on its way.
type piece struct {
	at time.Time
	b  []byte
}

// pump carries bytes one way: one goroutine reads and says when each piece is to arrive, this one delivers.
func (p *Proxy) pump(c *pair, from, to net.Conn) {
	way := make(chan piece, 256)
	var reader sync.WaitGroup
	defer reader.Wait()
	defer c.close(false)
	reader.Go(func() {
		defer close(way)
		var last time.Time
		for {
			b := make([]byte, 16<<10)
			n, err := from.Read(b)
			if n > 0 {
				at, lost := p.arrival(c)
				if lost {
					continue
				}
				if at.Before(last) {
					at = last
				}
				last = at
				select {
				case way <- piece{at, b[:n]}:
				case <-c.end:
					return
				}
			}
			if err != nil {
				return
			}
		}
	})
	deaf := false
	for b := range way {
		if deaf {
			continue
		}
		if !p.hold(c, b.at) {
			return
		}
		// Who has closed hears nothing any more, but what it said before is still under way in the other direction.
		_, err := to.Write(b.b)
		deaf = err != nil
	}
	// The other side has closed; behind a cut cable nobody hears of it.
	p.hold(c, time.Time{})
}

// arrival says when what has just been sent will arrive, or that it is lost.
func (p *Proxy) arrival(c *pair) (time.Time, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.state == cut {
		c.dead = true
		return time.Time{}, true
	}
	at := time.Now().Add(p.delay)
	if p.jitter > 0 {
		at = at.Add(time.Duration(p.rand.Int64N(int64(p.jitter))))
	}
	if p.loss > 0 && p.rand.Float64() < p.loss {
		at = at.Add(p.again)
	}
	return at, false
}

// hold waits for a piece's time, and for the cable; false when the connection has ended.
func (p *Proxy) hold(c *pair, at time.Time) bool {
	if d := time.Until(at); d > 0 {
		t := time.NewTimer(d)
		defer t.Stop()
		select {
		case <-t.C:
		case <-c.end:
			return false
		}
	}
	p.mu.Lock()
	open, state := p.open, p.state
	if state == cut {
		c.dead = true // it was on its way when the cable was pulled
	}
	p.mu.Unlock()
	select {
	case <-open:
	case <-c.end:
		return false
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return !c.dead
}
