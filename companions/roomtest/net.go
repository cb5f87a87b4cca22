// Package roomtest is a room without hardware or network, for tests and benchmarks: devices that talk as long as people do,
// joined by a bus in memory that delays, loses, doubles and cuts on demand. Everything in it takes its time from the time
// package, so inside a testing/synctest bubble an hour of room life takes seconds.
//
//	House ── Device "kitchen": companions.Room, Stage ──┐
//	     ├── Device "hall":    companions.Room, Stage ──┼── Net
//	     └── ...                                        ┘
//
// Utterances of all devices are kept in one list, with the times at which they could be heard, so that a test can say who
// spoke when and whether two spoke at once.
package roomtest

import (
	"encoding/json"
	"fmt"
	"math/rand"
	"reflect"
	"slices"
	"sync"
	"time"

	"conch/companions"
	"conch/companions/round"
)

// Net is a broker made of memory: what one device sends, all others get, in order for each pair.
type Net struct {
	mu     sync.Mutex
	rng    *rand.Rand
	faults Faults
	rooms  map[round.DeviceID]*companions.Room
	down   map[round.DeviceID]bool
	frozen map[round.DeviceID]bool
	side   map[round.DeviceID]int // of a divided net; all are on the same side if it is empty
	last   map[[2]round.DeviceID]time.Time
	sent   Traffic
	plain  bool
	tap    func(from round.DeviceID, p round.Packet)
}

// Faults of the net. The zero value has none.
type Faults struct {
	Delay  time.Duration // least
	Jitter time.Duration // on top, at most
	Loss   float64       // share of deliveries
	Twice  float64       // share of deliveries
}

// Traffic is what was sent.
type Traffic struct {
	Envelopes int            // one per Send
	Bytes     int            // of their JSON, without topic and signature
	By        map[string]int // envelopes by kind, "Votes"
}

// NewNet makes a net without faults; seed decides what Faults do.
func NewNet(seed int64) *Net {
	return &Net{
		rng: rand.New(rand.NewSource(seed)), rooms: map[round.DeviceID]*companions.Room{},
		down: map[round.DeviceID]bool{}, frozen: map[round.DeviceID]bool{}, side: map[round.DeviceID]int{},
		last: map[[2]round.DeviceID]time.Time{}, sent: Traffic{By: map[string]int{}},
	}
}

// Plain hands packets over as they are. Otherwise they go through JSON, as on the wire, and their bytes are counted.
func (n *Net) Plain() { n.mu.Lock(); n.plain = true; n.mu.Unlock() }

// Tap sees every packet that is sent, before it is delivered.
func (n *Net) Tap(f func(from round.DeviceID, p round.Packet)) { n.mu.Lock(); n.tap = f; n.mu.Unlock() }

// SetFaults counts for what is sent from now on.
func (n *Net) SetFaults(f Faults) { n.mu.Lock(); n.faults = f; n.mu.Unlock() }

// Bus is a device's way to the others.
func (n *Net) Bus(id round.DeviceID) companions.Bus { return bus{n, id} }

type bus struct {
	n  *Net
	id round.DeviceID
}

func (b bus) Send(p round.Packet) { b.n.send(b.id, p) }

// Join connects a device.
func (n *Net) Join(id round.DeviceID, r *companions.Room) {
	n.mu.Lock()
	n.rooms[id] = r
	delete(n.down, id)
	delete(n.frozen, id)
	n.mu.Unlock()
	r.LinkChanged(true)
}

// Leave takes a device out; will says that the broker tells the others.
func (n *Net) Leave(id round.DeviceID, will bool) {
	n.mu.Lock()
	delete(n.rooms, id)
	n.mu.Unlock()
	if will {
		n.send(id, round.Gone{})
	}
}

// Link cuts a device's cable, or mends it. The device knows at once; the others are told by nobody, and miss its beats.
func (n *Net) Link(id round.DeviceID, up bool) {
	n.mu.Lock()
	was := !n.down[id]
	n.down[id] = !up
	r := n.rooms[id]
	n.mu.Unlock()
	if r != nil && was != up {
		r.LinkChanged(up)
	}
}

// Freeze stops what a device sends and hears without its knowing, as SIGSTOP does.
func (n *Net) Freeze(id round.DeviceID, frozen bool) {
	n.mu.Lock()
	n.frozen[id] = frozen
	n.mu.Unlock()
}

// Divide puts devices on the other side of a cut that nobody is told of; none: the net is whole.
func (n *Net) Divide(other ...round.DeviceID) {
	n.mu.Lock()
	defer n.mu.Unlock()
	clear(n.side)
	for _, id := range other {
		n.side[id] = 1
	}
}

// Traffic is what was sent since the last Reset.
func (n *Net) Traffic() Traffic {
	n.mu.Lock()
	defer n.mu.Unlock()
	t := n.sent
	t.By = make(map[string]int, len(n.sent.By))
	for k, v := range n.sent.By {
		t.By[k] = v
	}
	return t
}

// Reset begins to count anew.
func (n *Net) Reset() { n.mu.Lock(); n.sent = Traffic{By: map[string]int{}}; n.mu.Unlock() }

// delivery is one packet for one device.
type delivery struct {
	to    *companions.Room
	after time.Duration
}

func (n *Net) send(from round.DeviceID, p round.Packet) {
	n.mu.Lock()
	tap := n.tap
	n.sent.Envelopes++
	if !n.plain {
		var size int
		p, size = overWire(p)
		n.sent.Bytes += size
		n.sent.By[reflect.TypeOf(p).Name()]++
	}
	var all []delivery
	if !n.down[from] && !n.frozen[from] {
		ids := make([]round.DeviceID, 0, len(n.rooms))
		for id := range n.rooms {
			ids = append(ids, id)
		}
		if n.faults != (Faults{}) {
			slices.Sort(ids) // so that the same seed means the same faults
		}
		for _, id := range ids {
			if id == from || n.down[id] || n.frozen[id] || n.side[id] != n.side[from] {
				continue
			}
			all = n.deliveries(all, from, id)
		}
	}
	n.mu.Unlock()
	if tap != nil {
		tap(from, p)
	}
	for _, d := range all {
		if d.after == 0 {
			d.to.Deliver(from, p)
			continue
		}
		time.AfterFunc(d.after, func() { d.to.Deliver(from, p) })
	}
}

// deliveries decides how often and when; needs mu.
func (n *Net) deliveries(all []delivery, from, to round.DeviceID) []delivery {
	f := n.faults
	if f.Loss > 0 && n.rng.Float64() < f.Loss {
		return all
	}
	times := 1
	if f.Twice > 0 && n.rng.Float64() < f.Twice {
		times = 2
	}
	for range times {
		after := f.Delay
		if f.Jitter > 0 {
			after += time.Duration(n.rng.Int63n(int64(f.Jitter)))
		}
		if after > 0 { // nobody overtakes on one link: that is what TCP and a broker promise
			pair := [2]round.DeviceID{from, to}
			at := time.Now().Add(after)
			if last := n.last[pair]; !at.After(last) {
				at = last.Add(time.Microsecond)
			}
			n.last[pair] = at
			after = time.Until(at)
		}
		all = append(all, delivery{n.rooms[to], after})
	}
	return all
}

// overWire is a packet as it comes out at the other end.
func overWire(p round.Packet) (round.Packet, int) {
	data, err := json.Marshal(p)
	if err != nil {
		panic(fmt.Sprintf("roomtest: %T cannot be sent: %v", p, err)) //nolint:forbidigo // a test fails with it
	}
	v := reflect.New(reflect.TypeOf(p))
	if err := json.Unmarshal(data, v.Interface()); err != nil {
		panic(fmt.Sprintf("roomtest: %T cannot be received: %v", p, err)) //nolint:forbidigo // a test fails with it
	}
	return v.Elem().Interface().(round.Packet), len(data)
}
