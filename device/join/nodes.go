package join

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"conch/companions/round"
	"conch/device/condition"
)

// How long devices have after this one has gone to another node of a cluster.
const (
	nodesFresh = 10 * time.Second // who was heard no longer ago than that was there
	nodesWait  = 15 * time.Second // to be heard again: three beats missed, and a link that is made anew
)

// nodes watches over room.broker with several addresses: they must be nodes of one cluster, for two brokers that know nothing of
// each other make two rooms, and nothing on the wire shows that. Who was heard through one address and is not heard through the next is named.
type nodes struct {
	conds *condition.Book
	name  func(round.DeviceID) string

	mu      sync.Mutex
	at      string                       // the address now
	heard   map[round.DeviceID]time.Time // when, last
	missing map[round.DeviceID]bool      // since at was reached
	from    string                       // the address before
	watch   *time.Timer
}

func newNodes(conds *condition.Book, name func(round.DeviceID) string) *nodes {
	return &nodes{conds: conds, name: name, heard: map[round.DeviceID]time.Time{}}
}

// packet: a device was heard, or took its leave.
func (n *nodes) packet(from round.DeviceID, p round.Packet) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if b, ok := p.(round.Beat); ok && b.Left {
		delete(n.heard, from)
	} else if _, gone := p.(round.Gone); !gone { // its last will: it went with its node, or for good
		n.heard[from] = time.Now()
	}
	if n.missing[from] {
		delete(n.missing, from)
		n.tell()
	}
}

// reached: the link is up, through this address.
func (n *nodes) reached(address string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.at == address {
		return
	}
	n.from, n.at, n.missing = n.at, address, nil
	if n.from == "" {
		return
	}
	there := map[round.DeviceID]bool{}
	for d, at := range n.heard {
		if time.Since(at) < nodesFresh {
			there[d] = true
		}
	}
	clear(n.heard)
	if n.watch != nil {
		n.watch.Stop()
	}
	n.watch = time.AfterFunc(nodesWait, func() { n.look(address, there) })
}

// look: who was there before this address and has not been heard since?
func (n *nodes) look(address string, there map[round.DeviceID]bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.at != address {
		return
	}
	for d := range n.heard {
		delete(there, d)
	}
	n.missing = there
	n.tell()
}

// tell needs mu.
func (n *nodes) tell() {
	if len(n.missing) == 0 {
		n.conds.Clear(condition.RoomApart)
		return
	}
	var names []string
	for _, d := range slices.Sorted(maps.Keys(n.missing)) {
		names = append(names, cmp.Or(n.name(d), string(d)))
	}
	n.conds.Set(condition.RoomApart, fmt.Sprintf("heard through %s, and not since this device is at %s: %s", n.from, n.at, strings.Join(names, ", ")),
		"switch them on; if they are on, the addresses in room.broker are not nodes of one cluster: name one broker only")
}

// address is the one that was reached last; "" before.
func (n *nodes) address() string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.at
}

// stop ends the watch.
func (n *nodes) stop() {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.watch != nil {
		n.watch.Stop()
	}
}
