package rehearse

import (
	"context"
	"net"
	"strconv"
	"sync"
	"time"

	"conch/device"
	"conch/device/config"
	"conch/device/control"
	"conch/mqtt/discovery"
)

// network is what lies between the devices of a rehearsal that begin as strangers: they find each other on it and on no other,
// and each reaches each other through a cable, which both ends can lose.
//
//	kitchen ─ cable ─> bedroom's port        each announces its port; a device is told, in place of it, where its own
//	bedroom ─ cable ─> kitchen's port        cable to that one begins, and of no address besides
type network struct {
	mu       sync.Mutex
	services map[*stage]discovery.Service
	changed  chan struct{} // closed at each change, and replaced
	ways     map[span]*cable
}

// span is the way from one device to another.
type span struct{ from, to *stage }

// lay puts a cable between any two.
func (p *run) lay() error {
	for _, from := range p.stages {
		for _, to := range p.stages {
			if from == to {
				continue
			}
			c, err := newCable("")
			if err != nil {
				return err
			}
			p.net.ways[span{from, to}] = c
			from.cables = append(from.cables, c)
			to.cables = append(to.cables, c)
			from.parts++
			go func() { from.ended <- c.Run(p.ctx) }() // awaited by stop
		}
	}
	return nil
}

func newNetwork() *network {
	return &network{services: map[*stage]discovery.Service{}, ways: map[span]*cable{}, changed: make(chan struct{})}
}

// nowhere: devices meet by their cables alone, so that a cut one has no second way.
func nowhere(int) []string { return nil }

// loopback is where devices that call each other meet.
func loopback(port int) []string { return []string{net.JoinHostPort("127.0.0.1", strconv.Itoa(port))} }

// settings puts a device on the network.
func (n *network) settings(s *stage, l *instance, c *config.Room, o *device.RoomOptions) {
	c.Broker, c.Members, c.Pairing, c.Port, c.Discovery = "", "", true, 0, "own"
	o.Finder = &finder{n, s, l}
	o.Listen = "127.0.0.1"
	o.OnPairing = func(line control.PairingLine) { s.paired(l, line) }
}

// say is what a device announces from now on; nil: nothing.
func (n *network) say(s *stage, what *discovery.Service) {
	n.mu.Lock()
	defer n.mu.Unlock()
	delete(n.services, s)
	target := ""
	if what != nil {
		n.services[s] = *what
		target = net.JoinHostPort("127.0.0.1", strconv.Itoa(what.Port))
	}
	for w, c := range n.ways {
		if w.to == s && target != "" { // who says nothing may be there all the same
			c.aim(target)
		}
	}
	close(n.changed)
	n.changed = make(chan struct{})
}

// seen is what a device can see of the others, until something changes.
func (n *network) seen(by *stage) (all []discovery.Found, changed <-chan struct{}) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for s, what := range n.services {
		if s == by || s.isFrozen() || n.ways[span{by, s}].held() {
			continue
		}
		all = append(all, discovery.Found{Service: what, Addresses: []string{n.ways[span{by, s}].address()}})
	}
	return all, n.changed
}

// finder is the network as one life of a device has it.
type finder struct {
	n *network
	s *stage
	l *instance
}

// Announce implements Finder. The dead say nothing.
func (f *finder) Announce(what *discovery.Service) {
	if !f.l.killed.Load() {
		f.n.say(f.s, what)
	}
}

// Find implements Finder.
func (f *finder) Find(ctx context.Context, wait time.Duration, enough func(discovery.Found) bool) ([]discovery.Found, error) {
	over := time.NewTimer(wait)
	defer over.Stop()
	for {
		all, changed := f.n.seen(f.s)
		for _, one := range all {
			if enough != nil && enough(one) {
				return all, nil
			}
		}
		select {
		case <-changed:
		case <-over.C:
			return all, nil
		case <-ctx.Done():
			return all, ctx.Err()
		}
	}
}

// Run implements Finder.
func (f *finder) Run(ctx context.Context) error {
	<-ctx.Done()
	f.Announce(nil)
	return ctx.Err()
}
