package broker

import (
	"fmt"
	"log/slog"
	"net/netip"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"conch/companions/round"
	"conch/mqtt"
)

// Limits are what one member may cost the others at the embedded broker (FLOODS.md 1). What is zero is as said here. Rates are held at the listener
// to the network, where TLS says who it is; the others everywhere.
type Limits struct {
	Waiting   int       // bytes waiting for one client; 32 MiB shared by the clients, but 512 KiB to 1 MiB each
	Unacked   int       // QoS 1 messages that one client has not acknowledged; 4,096
	Filters   int       // subscriptions of one client; 16
	Packets   mqtt.Rate // of any kind, acknowledgements of what was sent to it excepted; 50, 400 at once
	Bytes     mqtt.Rate // on the wire; 1 MiB shared by the clients, but 16 to 64 KiB each; 4 MiB shared, but 384 KiB to 1 MiB each, at once
	Connects  mqtt.Rate // TLS handshakes; one in two seconds, 20 at once
	unlimited bool      // rates, for measuring how fast it would be
}

// Who sends more than it may is read more slowly, and put out if that has to last for so long.
const squeezeLimit = 5 * time.Second

// Who was put out stays out, each time twice as long, until it has behaved for a while.
const (
	shortestBan = 10 * time.Second
	longestBan  = 10 * time.Minute
	// Forgiveness is how long after its end a ban is forgotten.
	Forgiveness = 10 * time.Minute
)

// tidyAfter is how long after an offence memory is given back, once for all that come meanwhile.
const tidyAfter = 30 * time.Second

// Bounds of the books about members.
const (
	maxBooks  = 256
	maxPlaces = 256
)

// Excess is what a member had too much of.
type Excess string

// All that there are.
const (
	ExcessPackets   Excess = "packets"        // sent
	ExcessBytes     Excess = "bytes"          // sent
	ExcessConnects  Excess = "connections"    // made
	ExcessWaiting   Excess = "unread"         // bytes of answers that it has not taken
	ExcessSlow      Excess = "slow"           // took nothing for so many seconds
	ExcessUnacked   Excess = "unacknowledged" // messages
	ExcessMalformed Excess = "malformed"      // bytes of a packet that is none, or is too long for what it is
	ExcessForeign   Excess = "foreign"        // messages under another's name
)

// Offence is why a member was put out.
type Offence struct {
	Device round.DeviceID
	What   Excess
	Count  int
	Limit  int
	Twin   bool          // its connections come from two addresses in turn: two devices have its key
	Times  int           // in a row, this one included
	Out    time.Duration // so long it is kept out; 0: it may come back at once
}

// String says it without the name, for a person.
func (o Offence) String() string {
	switch o.What {
	case ExcessPackets, ExcessBytes:
		return fmt.Sprintf("floods the room: %d %s and no end; %d a second are allowed", o.Count, o.What, o.Limit)
	case ExcessConnects:
		if o.Twin {
			return "is two devices with one identity: they connect from two addresses in turn"
		}
		return fmt.Sprintf("makes one connection after the other; %d are allowed in a minute", o.Limit)
	case ExcessWaiting:
		return fmt.Sprintf("asks, and does not read the answers: %d bytes of them wait; %d may", o.Count, o.Limit)
	case ExcessSlow:
		return fmt.Sprintf("does not read what the room says: it has taken nothing for %d s", o.Count)
	case ExcessUnacked:
		return fmt.Sprintf("acknowledges nothing: %d messages wait for that; %d may", o.Count, o.Limit)
	case ExcessMalformed:
		return fmt.Sprintf("sends what is no MQTT, or too long: %d bytes; %d are allowed", o.Count, o.Limit)
	case ExcessForeign:
		return "speaks under another's name"
	}
	return string(o.What)
}

// bucket is a token bucket that may be overdrawn.
type bucket struct {
	level float64
	at    time.Time // zero: full
	since time.Time // it was overdrawn, and it has not recovered since; zero: it has
	taken float64   // since it had recovered
}

// take takes n out, and says how long it takes until nothing is owed, and whether there is no end to that.
func (b *bucket) take(r mqtt.Rate, now time.Time, n float64) (owed time.Duration, endless bool) {
	if b.at.IsZero() {
		b.level = r.AtOnce
	} else {
		b.level = min(r.AtOnce, b.level+now.Sub(b.at).Seconds()*r.Second)
	}
	b.at = now
	if b.level >= r.AtOnce/4 { // it had time to recover
		b.since, b.taken = time.Time{}, 0
	}
	b.level -= n
	b.taken += n
	if b.level >= 0 {
		return 0, false
	}
	if b.since.IsZero() {
		b.since = now
	}
	owed = time.Duration(-b.level / r.Second * float64(time.Second))
	return owed, owed+now.Sub(b.since) >= squeezeLimit
}

// book is what is known of one member. It outlives its connections.
type book struct {
	packets, bytes, connects bucket

	times int       // put out in a row
	until time.Time // kept out
	place netip.Addr
	here  [2]moves // of IPv4, of IPv6
	seen  time.Time
}

// moves tells one device that has moved from two that take the connection from each other.
type moves struct {
	from netip.Addr
	at   time.Time
	n    int // connections in a row, each from another address, and soon after the one before
}

// twins adds a connection; four moves are no coincidence. A device with IPv4 and IPv6 is one device.
func (k *book) twins(from netip.Addr, now time.Time) bool {
	m := &k.here[0]
	if from.Is6() {
		m = &k.here[1]
	}
	if m.n++; m.from == from || !m.from.IsValid() || now.Sub(m.at) > time.Minute {
		m.n = 0
	}
	m.from, m.at = from, now
	return m.n >= 4
}

// place is an address that members come from.
type place struct {
	device round.DeviceID
	shared bool   // by several
	knocks bucket // while one of them is kept out
	seen   time.Time
}

// bounds holds a broker's clients within their limits. Its methods may be called from any goroutine.
type bounds struct {
	limits Limits
	log    *slog.Logger
	on     func(Offence)

	crowd atomic.Int64 // clients

	mu     sync.Mutex
	books  map[round.DeviceID]*book
	places map[netip.Addr]*place
	tidy   *time.Timer // nil: nothing is to be given back
}

func newBounds(l Limits, log *slog.Logger, on func(Offence)) *bounds {
	def := func(v *int, d int) {
		if *v == 0 {
			*v = d
		}
	}
	def(&l.Unacked, 4096)
	def(&l.Filters, 16)
	if l.Packets == (mqtt.Rate{}) {
		l.Packets = mqtt.Rate{Second: 50, AtOnce: 400}
	}
	if l.Connects == (mqtt.Rate{}) {
		l.Connects = mqtt.Rate{Second: 0.5, AtOnce: 20}
	}
	if on == nil {
		on = func(Offence) {}
	}
	return &bounds{limits: l, log: log, on: on, books: map[round.DeviceID]*book{}, places: map[netip.Addr]*place{}}
}

// bytes is the rate of bytes: what one sends goes out as often as there are others.
func (b *bounds) bytes() mqtt.Rate {
	if b.limits.Bytes != (mqtt.Rate{}) {
		return b.limits.Bytes
	}
	n := float64(max(1, b.crowd.Load()))
	return mqtt.Rate{Second: min(max(1<<20/n, 16<<10), 64<<10), AtOnce: min(max(4<<20/n, 384<<10), 1<<20)}
}

// mayWait is how many bytes may wait for one client.
func (b *bounds) mayWait() int {
	if b.limits.Waiting > 0 {
		return b.limits.Waiting
	}
	return min(max(32<<20/int(max(1, b.crowd.Load())), 512<<10), 1<<20)
}

// spend says how long a member must wait before more is read from it; not ok: it is put out instead.
func (b *bounds) spend(d round.DeviceID, what Excess, n int) (wait time.Duration, ok bool) {
	if b.limits.unlimited || n == 0 {
		return 0, true
	}
	now, rate := time.Now(), b.limits.Packets
	if what == ExcessBytes {
		rate = b.bytes()
	}
	b.mu.Lock()
	k := b.book(d, now)
	bucket := &k.packets
	if what == ExcessBytes {
		bucket = &k.bytes
	}
	wait, endless := bucket.take(rate, now, float64(n))
	taken := int(bucket.taken)
	if endless {
		bucket.since, bucket.taken = time.Time{}, 0
	}
	b.mu.Unlock()
	if endless {
		b.offend(Offence{Device: d, What: what, Count: taken, Limit: int(rate.Second)})
	}
	return wait, !endless
}

// knock says whether a connection from there is worth a handshake. One that only a member came from that is kept out is not; one that
// others came from, too, is, a few times a second.
func (b *bounds) knock(from netip.Addr) bool {
	now := time.Now()
	b.mu.Lock()
	defer b.mu.Unlock()
	from = network(from)
	p := b.places[from]
	if p == nil {
		return true
	}
	for d, k := range b.books {
		if k.place == from && now.Before(k.until) {
			return (p.shared || p.device != d) && p.allows(now)
		}
	}
	return true
}

// allows is a few handshakes a second.
func (p *place) allows(now time.Time) bool {
	owed, _ := p.knocks.take(mqtt.Rate{Second: 5, AtOnce: 10}, now, 1)
	if owed > 0 {
		p.knocks.level++ // who is turned away costs nothing
	}
	return owed == 0
}

// arrive counts a handshake; not ok: the member is kept out.
func (b *bounds) arrive(d round.DeviceID, from netip.Addr) (ok bool) {
	now := time.Now()
	b.mu.Lock()
	from = network(from)
	p := b.places[from]
	if p == nil {
		p = &place{device: d, shared: from.Is6()}
		evict(b.places, maxPlaces, func(p *place) time.Time { return p.seen })
		b.places[from] = p
	}
	p.shared, p.seen = p.shared || p.device != d, now
	k := b.book(d, now)
	twin := k.twins(from, now)
	k.place = from
	kept := now.Before(k.until)
	over := false
	if !kept && !b.limits.unlimited {
		owed, _ := k.connects.take(b.limits.Connects, now, 1)
		over = owed > 0
	}
	b.mu.Unlock()
	if twin && !over && !kept && !b.limits.unlimited {
		b.on(Offence{Device: d, What: ExcessConnects, Twin: true})
	}
	if over {
		b.offend(Offence{Device: d, What: ExcessConnects, Limit: int(60 * b.limits.Connects.Second), Twin: twin})
	}
	return !kept && !over
}

// network is what stands for an address: with IPv6 everybody has many.
func network(a netip.Addr) netip.Addr {
	if a.Is6() {
		if p, err := a.Prefix(64); err == nil {
			return p.Addr()
		}
	}
	return a
}

// offend writes down what a member did, and tells it.
func (b *bounds) offend(o Offence) {
	if b.limits.unlimited {
		return
	}
	now := time.Now()
	b.mu.Lock()
	k := b.book(o.Device, now)
	if now.Before(k.until) { // it is being put out
		b.mu.Unlock()
		return
	}
	if now.Sub(k.until) > Forgiveness {
		k.times = 0
	}
	k.times++
	o.Times, o.Out = k.times, min(shortestBan<<min(k.times-1, 10), longestBan)
	k.until = now.Add(o.Out)
	if b.tidy == nil {
		b.tidy = time.AfterFunc(tidyAfter, b.giveBack)
	}
	b.mu.Unlock()
	b.log.Warn(eventOffence, "device", string(o.Device), "what", string(o.What), "count", o.Count, "limit", o.Limit, "times", o.Times, "out", o.Out)
	b.on(o)
}

// giveBack hands the memory that a flood has taken back to the system: where nothing else happens, the next collection is minutes away.
func (b *bounds) giveBack() {
	b.mu.Lock()
	b.tidy = nil
	b.mu.Unlock()
	debug.FreeOSMemory()
}

// book of a member. The lock is held.
func (b *bounds) book(d round.DeviceID, now time.Time) *book {
	k := b.books[d]
	if k == nil {
		k = &book{}
		evict(b.books, maxBooks, func(k *book) time.Time { return maxTime(k.seen, k.until) })
		b.books[d] = k
	}
	k.seen = now
	return k
}

// evict makes room for one more, at the expense of the oldest.
func evict[K comparable, V any](m map[K]V, most int, at func(V) time.Time) {
	if len(m) < most {
		return
	}
	var oldest K
	var when time.Time
	for k, v := range m {
		if t := at(v); when.IsZero() || t.Before(when) {
			oldest, when = k, t
		}
	}
	delete(m, oldest)
}

func maxTime(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
