package device

import (
	"context"
	"errors"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"conch/companions"
	"conch/companions/round"
	"conch/coordinator/turn"
	"conch/device/config"
	"conch/device/control"
	"conch/device/join"
	"conch/mqtt/discovery"
)

// A household is a house in which devices pair: whole ones in one process, over TLS on loopback, found on a network that is only
// theirs. A device that begins anew is a new one with the same state directory.
type household struct {
	t   *testing.T
	lan *lan
}

func newHousehold(t *testing.T) *household {
	t.Helper()
	t.Parallel()
	takeTurn(t)
	return &household{t: t, lan: &lan{says: map[round.DeviceID]discovery.Found{}}}
}

// tenant is a device of the house, from one life to the next.
type tenant struct {
	h    *household
	name string
	who  string
	dir  string
	more func(*boxOptions) // nil: as it comes
	*box
	ledgerCopy
	mind *parrot
}

func (h *household) raise(name, who string, more func(*boxOptions)) *tenant {
	h.t.Helper()
	x := &tenant{h: h, name: name, who: who, dir: h.t.TempDir(), more: more}
	x.live()
	return x
}

// live has the device live again.
func (x *tenant) live() {
	x.h.t.Helper()
	x.mind = &parrot{}
	var cards []companions.Card
	for n := range strings.SplitSeq(x.who, ",") {
		cards = append(cards, companions.PlainCard(n))
	}
	o := boxOptions{
		mind: x.mind,
		config: func(c *config.Config) {
			c.Device.Name, c.State.Dir, c.Room.Port, c.Room.Silence = x.name, x.dir, 0, time.Hour
		},
		room: &RoomOptions{Cards: cards, OnEntry: x.entry, Finder: &finds{lan: x.h.lan}, Listen: "127.0.0.1",
			Reachable: func(port int) []string { return []string{net.JoinHostPort("127.0.0.1", strconv.Itoa(port))} }},
	}
	if x.more != nil {
		x.more(&o)
	}
	x.box = newBox(x.h.t, o)
}

func (x *tenant) awaits(s control.PairingState) control.PairingLine {
	x.t.Helper()
	x.until("pairing: "+string(s), func() bool { return x.pairing.Now().State == s })
	return x.pairing.Now()
}

// opens has the device open its window.
func (x *tenant) opens() control.PairOpened {
	x.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	o, err := x.pairing.Open(ctx)
	if err != nil {
		x.t.Fatalf("%s: pair: %v", x.name, err)
	}
	return o
}

// joins has the device join with a code.
func (x *tenant) joins(code, host string) (control.PairingLine, error) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	return x.pairing.Join(ctx, control.JoinRequest{Code: code, Host: host})
}

// restarts waits for the end of this life, which must be a new beginning, and begins it.
func (x *tenant) restarts() {
	x.t.Helper()
	x.ends()
	if err := x.ranTo(); !errors.Is(err, join.ErrRestart) {
		x.t.Fatalf("%s: ended with %v; want ErrRestart", x.name, err)
	}
	x.live()
}

// ends waits for the end of this life.
func (x *tenant) ends() {
	x.t.Helper()
	x.until("ended", func() bool { return x.box.gone.Load() })
}

// dies is a power cut, as near as a process can come to one that goes on: what is written after it does not count, for nothing is.
func (x *tenant) dies() {
	x.t.Helper()
	x.stop()
	x.ends()
}

// meet waits until the devices know each other and their companions.
func meet(all ...*tenant) {
	for _, x := range all {
		x.t.Helper()
		x.until(x.name+" in the room with all others", func() bool {
			if x.room.Room == nil {
				return false
			}
			known := x.room.Room.Members()
			return len(known) == len(all) && !slices.ContainsFunc(known, func(m round.Member) bool { return len(m.Cards) == 0 })
		})
	}
	for _, x := range all {
		x.until("calm", func() bool { return x.Quiet() && x.room.Room.Settled() })
	}
}

// pairs makes a room of two by a typed code, both begin anew if they must.
func pairs(a, b *tenant) {
	a.t.Helper()
	fresh := a.link.Room() == nil
	o := a.opens()
	if l, err := b.joins(o.Code, o.Addresses[0]); err != nil {
		a.t.Fatalf("%s: join: %v (%+v)", b.name, err, l)
	}
	a.awaits(control.PairingPaired)
	b.restarts()
	if fresh {
		a.restarts()
	}
}

// lan is a network on which devices say what they offer.
type lan struct {
	mu   sync.Mutex
	says map[round.DeviceID]discovery.Found
	down atomic.Bool // nobody is found
}

// finds is one device's side of it.
type finds struct {
	lan  *lan
	mine atomic.Pointer[discovery.Service]
}

func (f *finds) Announce(s *discovery.Service) {
	f.lan.mu.Lock()
	defer f.lan.mu.Unlock()
	if old := f.mine.Swap(s); old != nil {
		delete(f.lan.says, old.Device)
	}
	if s != nil {
		f.lan.says[s.Device] = discovery.Found{Service: *s, Addresses: []string{net.JoinHostPort("127.0.0.1", strconv.Itoa(s.Port))}}
	}
}

func (f *finds) Find(ctx context.Context, wait time.Duration, enough func(discovery.Found) bool) ([]discovery.Found, error) {
	over := time.NewTimer(wait)
	defer over.Stop()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		all := f.all()
		if enough != nil && slices.ContainsFunc(all, enough) {
			return all, nil
		}
		select {
		case <-ctx.Done():
			return all, ctx.Err()
		case <-over.C:
			return all, nil
		case <-tick.C:
		}
	}
}

func (f *finds) all() (all []discovery.Found) {
	f.lan.mu.Lock()
	defer f.lan.mu.Unlock()
	if f.lan.down.Load() {
		return nil
	}
	mine := f.mine.Load()
	for id, s := range f.lan.says {
		if mine == nil || id != mine.Device {
			all = append(all, s)
		}
	}
	return all
}

func (f *finds) Run(ctx context.Context) error {
	<-ctx.Done()
	f.Announce(nil)
	return ctx.Err()
}

// From nothing to one room, by a code that is typed: nothing listens before, both begin anew, and what is asked at one is answered
// by the other's companion.
func TestPairedDevicesAreOneRoom(t *testing.T) {
	h := newHousehold(t)
	kitchen, hall := h.raise("kitchen", "Ada", nil), h.raise("hall", "Ben", nil)
	for _, x := range []*tenant{kitchen, hall} {
		if x.room.Room != nil || x.link.Port() != 0 || x.bus != nil {
			t.Errorf("%s: an unpaired device has a room: %v, a broker: %v, a client: %v", x.name, x.room.Room != nil, x.link.Port() != 0, x.bus != nil)
		}
	}
	pairs(kitchen, hall)
	meet(kitchen, hall)
	kitchen.types("Ben, are you there, here I am")
	kitchen.wait("Ben has spoken", kind(round.EntrySpoke, "ben"))
	hall.until("the hall has answered", func() bool { return len(hall.turnsEnded()) == 1 && hall.turnsEnded()[0].Reason == turn.Done.String() })
	s, err := (status{kitchen.Device}).RoomStatus()
	if err != nil || s.Paired == nil || len(s.Paired.Members) != 2 || !s.Paired.Members[0].Host || s.Paired.Members[0].Pending || s.Paired.Members[1].Pending ||
		!slices.Equal(s.Paired.Members[1].Companions, []string{"Ben"}) {
		t.Errorf("the kitchen's room: %+v, %v", s.Paired, err)
	}
}

func (x *tenant) types(text string) { x.Device.room.Put(text) }

func (x *tenant) wait(what string, is func(round.Entry) bool) {
	x.t.Helper()
	x.until(what, func() bool { return len(x.ledger(is)) > 0 })
}
