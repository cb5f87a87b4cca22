package mqtt

import (
	"bytes"
	"context"
	"net"
	"net/netip"
	"slices"
	"sync"
	"time"

	"conch/companions/round"
)

// A press goes by a second way too: as datagrams to the addresses in the house that members name in their signed beats. On a bad line TCP holds
// what follows a lost packet for seconds. A datagram is an envelope behind its topic: who may say it, and that it is new, is checked as ever,
// against the sessions that have shown that they live, and so is that it was made lately. Of a session that is not known it costs no signature.
const (
	maxNear     = 1400 // bytes of a datagram
	maxNearAt   = 4    // addresses of a member
	nearLinks   = 3    // sessions whose members are remembered when their link is lost
	nearSources = 64   // addresses that have an allowance of their own; the rest share one

	nearLate = 5 * time.Second // a datagram that was made before is a recording
)

var (
	nearAgain  = []time.Duration{0, 50 * time.Millisecond, 150 * time.Millisecond, 400 * time.Millisecond, 900 * time.Millisecond}
	nearSource = Rate{40, 80}   // datagrams of one address that are looked at
	nearSigned = Rate{200, 400} // of all, whose signatures are: an address is easily forged
)

// near is the second way. Its goroutines end with Run.
type near struct {
	out chan outward

	mu    sync.Mutex
	conn  *net.UDPConn
	links []*link // newest first
	at    map[round.DeviceID][]netip.AddrPort
}

// outward is envelopes that are sent several times.
type outward struct {
	data [][]byte
	to   []netip.AddrPort
}

// openNear listens where Config.Near is set. Without a socket presses go by the broker alone.
func (c *Client) openNear(ctx context.Context, parts *sync.WaitGroup) {
	if c.cfg.Near == nil || len(c.cfg.Near(1)) == 0 {
		return
	}
	pc, err := net.ListenPacket("udp", net.JoinHostPort(c.cfg.Listen, "0"))
	if err != nil {
		c.cfg.Log.Warn(eventNear, "err", err)
		return
	}
	conn := pc.(*net.UDPConn) //nolint:forcetypeassert // it is a UDP socket
	c.near.mu.Lock()
	c.near.conn = conn
	c.near.mu.Unlock()
	context.AfterFunc(ctx, func() { _ = conn.Close() })
	parts.Go(func() { c.hearNear(conn) })
	parts.Go(func() { c.sayNear(ctx, conn) })
}

// nearHere is what beats say of this device's socket.
func (c *Client) nearHere() []string {
	c.near.mu.Lock()
	conn := c.near.conn
	c.near.mu.Unlock()
	if conn == nil {
		return nil
	}
	var all []string
	for _, a := range inHouse(c.cfg.Near(conn.LocalAddr().(*net.UDPAddr).Port)) { //nolint:forcetypeassert // it is a UDP socket
		all = append(all, a.String())
	}
	return all
}

// inHouse are the first private addresses: of IPv4, and unique local ones of IPv6.
func inHouse(said []string) (all []netip.AddrPort) {
	for _, s := range said[:min(len(said), 4*maxNearAt)] {
		a, err := netip.ParseAddrPort(s)
		if err == nil && a.Port() > 0 && (a.Addr().IsPrivate() || a.Addr().IsLoopback()) && len(all) < maxNearAt {
			all = append(all, a)
		}
	}
	return all
}

// meetNear takes down where a member is.
func (c *Client) meetNear(from round.DeviceID, said []string) {
	all := inHouse(said)
	c.near.mu.Lock()
	defer c.near.mu.Unlock()
	if _, known := c.near.at[from]; known || len(c.near.at) < maxPeers {
		c.near.at[from] = all
	}
}

// remember keeps the newest links, for the sessions that they believe.
func (n *near) remember(l *link) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.links = slices.Insert(n.links, 0, l)
	n.links = n.links[:min(len(n.links), nearLinks)]
}

func (n *near) known() []*link {
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.Clone(n.links)
}

// goesNear says whom a packet is for by the second way: a press is for all, and the word that it has silenced for its device.
func (c *Client) goesNear(p round.Packet) (to []netip.AddrPort) {
	c.near.mu.Lock()
	defer c.near.mu.Unlock()
	if c.near.conn == nil {
		return nil
	}
	switch p := p.(type) {
	case round.Press:
		for d, at := range c.near.at {
			if c.cfg.Member == nil || c.cfg.Member(d) {
				to = append(to, at...)
			}
		}
	case round.Beat:
		if p.Cards == nil && p.Confirms {
			to = c.near.at[p.Silenced.Device]
		}
	}
	return to
}

// sendNear sends a packet under the sessions that members may know, without waiting. A newer one takes the place of one that waits.
func (c *Client) sendNear(p round.Packet) {
	to := c.goesNear(p)
	if len(to) == 0 {
		return
	}
	o := outward{to: to}
	for _, l := range c.near.known() {
		m, params, err := pack(c.cfg.Identity.id, p, extra{age: l.age(c.now())})
		if err != nil {
			return // what goes by the broker counts it
		}
		l.mu.Lock()
		seq := l.guard.seq()
		l.mu.Unlock()
		data := append([]byte(Topic(c.cfg.Room, m.kind, c.cfg.Identity.id)+"\n"), seal(c.cfg.Room, c.cfg.Identity, m, l.session, seq, params)...)
		if len(data) <= maxNear {
			o.data = append(o.data, data)
		}
	}
	for {
		select {
		case c.near.out <- o:
			return
		default:
		}
		select {
		case <-c.near.out:
		default:
		}
	}
}

// sayNear sends what is to go, each at the times of nearAgain.
func (c *Client) sayNear(ctx context.Context, conn *net.UDPConn) {
	type round struct {
		outward
		began time.Time
		n     int
	}
	var waiting []round
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for {
		next := time.Hour
		for i := 0; i < len(waiting); i++ {
			w := &waiting[i]
			for w.n < len(nearAgain) && time.Since(w.began) >= nearAgain[w.n] {
				w.n++
				for _, data := range w.data {
					for _, to := range w.to {
						_, _ = conn.WriteToUDPAddrPort(data, to) // lost is lost
					}
				}
			}
			if w.n == len(nearAgain) {
				waiting = slices.Delete(waiting, i, i+1)
				i--
				continue
			}
			next = min(next, nearAgain[w.n]-time.Since(w.began))
		}
		timer.Reset(max(0, next))
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		case o := <-c.near.out:
			if len(waiting) == cap(c.near.out) {
				waiting = waiting[1:]
			}
			waiting = append(waiting, round{outward: o, began: time.Now()})
		}
	}
}

// hearNear hands on what members say by the second way.
func (c *Client) hearNear(conn *net.UDPConn) {
	sources := map[netip.Addr]*allowance{}
	var signed allowance
	buf := make([]byte, maxNear+1)
	for {
		n, from, err := conn.ReadFromUDPAddrPort(buf)
		if err != nil {
			return // closed
		}
		a := sources[from.Addr()]
		if a == nil && len(sources) >= nearSources {
			for at, x := range sources {
				if x.full(c.now(), nearSource) {
					delete(sources, at)
				}
			}
		}
		if a == nil {
			key := from.Addr()
			if len(sources) >= nearSources {
				key = netip.Addr{}
			}
			if a = sources[key]; a == nil {
				a = &allowance{at: c.now()}
				sources[key] = a
			}
		}
		if n > maxNear || !a.take(c.now(), nearSource, 1) {
			continue
		}
		may := func() bool { return signed.take(c.now(), nearSigned, 1) }
		if in, ok := c.openNearly(bytes.Clone(buf[:n]), may); ok && c.lanes.admit(c.now(), in.from, true, n) {
			c.lanes.push(c.now(), in.from, true, in.arrival)
		}
	}
}

// nearly is an envelope of a member, with a good signature and a number that is new.
type nearly struct {
	arrival
	from round.DeviceID
}

// openNearly looks at a datagram; only one of a session that is believed is worth a signature.
func (c *Client) openNearly(b []byte, may func() bool) (nearly, bool) {
	topic, payload, ok := bytes.Cut(b, []byte("\n"))
	if !ok {
		return nearly{}, false
	}
	letter, r := look(c.cfg.Room, string(topic), payload)
	if r != nil || letter.from == c.cfg.Identity.id || letter.Seq == willSeq || c.cfg.Member != nil && !c.cfg.Member(letter.from) {
		return nearly{}, false
	}
	for _, l := range c.near.known() {
		l.mu.Lock()
		ok := l.guard.believes(letter.from, letter.Session) && l.guard.stale(letter.from, letter.Session, letter.Seq) == ""
		l.mu.Unlock()
		if !ok {
			continue
		}
		if !may() {
			return nearly{}, false
		}
		e, r := letter.open(c.cfg.Room)
		if r != nil {
			return nearly{}, false
		}
		l.mu.Lock()
		late := l.guard.late(c.now(), &e, nearLate)
		l.mu.Unlock()
		if late {
			c.stats.refused(&Refusal{Reason: ReasonOld, From: e.From, Method: e.Method, Detail: "a datagram of some time ago"})
			return nearly{}, false
		}
		switch p := e.Packet.(type) {
		case round.Press:
		case round.Beat:
			if p.Cards != nil || p.Ask || p.Left || !p.Confirms {
				return nearly{}, false
			}
		default:
			return nearly{}, false
		}
		return nearly{arrival{link: l, near: true, topic: string(topic), payload: payload}, letter.from}, true
	}
	return nearly{}, false
}
