package membership

import (
	"context"
	"log/slog"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"conch/companions/round"
	"conch/mqtt"
	"conch/mqtt/broker"
	"conch/mqtt/mqtttest"
)

func TestMain(m *testing.M) {
	if helper := os.Getenv("CONCH_MEMBERSHIP_HELPER"); helper != "" {
		os.Exit(runHelper(helper))
	}
	goleak.VerifyTestMain(m)
}

// clock is set by a test.
type clock struct {
	mu sync.Mutex
	t  time.Time
}

func at(t time.Time) *clock { return &clock{t: t} }

func (c *clock) set(t time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.t = t
}

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.t
}

func (c *clock) Clock() Clock { return Clock{Now: c.now, Every: 20 * time.Millisecond} }

var (
	epoch = time.Unix(100, 0) // a device without a battery
	today = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
)

// device is a membership with everything around it that a conch has.
type device struct {
	*Membership
	t       testing.TB
	dir     string
	id      mqtt.Identity
	changes chan Change

	broker  *broker.Broker // of the host
	client  *mqtt.Client
	links   chan bool
	trouble chan error
	packets chan round.DeviceID // who was heard
	notes   chan mqtt.Note
	stop    func()

	refusals chan string // why the broker refused somebody

	found atomic.Pointer[string] // where the network says the host is
	only  string                 // nowhere else is looked
}

func expired(t testing.TB) context.Context {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	return ctx
}

func identity(t testing.TB) mqtt.Identity {
	t.Helper()
	id, err := mqtt.NewIdentity()
	if err != nil {
		t.Fatal(err)
	}
	return id
}

// open makes a device that is in no room, or in the one that is in dir.
func open(t testing.TB, dir string, id mqtt.Identity, c Clock) *device {
	t.Helper()
	m, err := Open(dir, id, c)
	if err != nil {
		t.Fatal(err)
	}
	d := &device{
		Membership: m, t: t, dir: dir, id: id, changes: make(chan Change, 1024), links: make(chan bool, 1024), trouble: make(chan error, 1024),
		packets: make(chan round.DeviceID, 1<<16), notes: make(chan mqtt.Note, 1024),
		refusals: make(chan string, 1024),
	}
	m.OnChange(func(c Change) {
		if c.What == Removed && d.broker != nil {
			d.broker.Drop(c.Device)
		}
		d.changes <- c
	})
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { _ = m.Run(ctx) })
	d.stop = func() { cancel(); running.Wait() }
	t.Cleanup(func() { d.stop() })
	return d
}

func fresh(t testing.TB, c Clock) *device { return open(t, t.TempDir(), identity(t), c) }

func (d *device) party(name string) Party {
	return Party{Device: d.id.ID(), Key: d.id.PublicKey(), Name: name}
}

// pair lets b into a's room as the two buttons do, without the code.
func pair(t testing.TB, a, b *device, name string) {
	t.Helper()
	if a.Room() == nil && a.Founding() == nil {
		if err := a.Found("kitchen", "host", false); err != nil {
			t.Fatal(err)
		}
	}
	if room := a.Room(); room != nil && !a.IsHost() {
		if err := a.Announce(t.Context()); err != nil {
			t.Fatal(err)
		}
		defer a.Unannounced()
	}
	welcome, err := a.Admit(t.Context(), b.party(name))
	if err != nil {
		t.Fatal(err)
	}
	if err := b.Accept(a.party(""), welcome); err != nil {
		t.Fatal(err)
	}
}

// serve opens the host's broker, and connects the host to it.
func (d *device) serve(listen string) {
	d.t.Helper()
	b, err := broker.New(broker.Config{
		Room: d.Room().ID, Admit: d.Admits, Log: slog.New(whys{slog.DiscardHandler, d.refusals}), Network: &broker.Network{
			Listen: listen, TLS: d.BrokerTLS(), Refusals: mqtt.Rate{Second: 1000, AtOnce: 1000},
		},
	})
	if err != nil {
		d.t.Fatal(err)
	}
	d.broker = b
	d.t.Cleanup(b.Close)
	user, password := d.Loopback()
	d.run(mqtt.Config{URL: b.URL(), User: user, Password: password})
}

// whys hears why the broker refuses.
type whys struct {
	slog.Handler
	ch chan string
}

func (w whys) Enabled(context.Context, slog.Level) bool { return true }

func (w whys) Handle(_ context.Context, r slog.Record) error {
	r.Attrs(func(a slog.Attr) bool {
		if a.Key == "refused" {
			select {
			case w.ch <- a.Value.String():
			default:
			}
		}
		return true
	})
	return nil
}

func (w whys) WithAttrs([]slog.Attr) slog.Handler { return w }
func (w whys) WithGroup(string) slog.Handler      { return w }

// connect goes to the host at one of the addresses.
func (d *device) connect(addrs ...string) {
	d.t.Helper()
	d.run(mqtt.Config{
		Addresses: func(context.Context) []string {
			if d.only != "" {
				return []string{d.only}
			}
			found := addrs
			if p := d.found.Load(); p != nil {
				found = append([]string{*p}, addrs...)
			}
			if room := d.Room(); room != nil {
				return room.Candidates(found)
			}
			return found
		},
		OnReached: d.Reached, TLS: d.ClientTLS,
	})
}

func (d *device) run(cfg mqtt.Config) {
	d.t.Helper()
	cfg.Room, cfg.Identity, cfg.Member = d.Room().Topic(), d.id, d.Member
	cfg.OnNote = func(from round.DeviceID, n mqtt.Note) {
		d.HandleNote(from, n)
		select {
		case d.notes <- n:
		default:
		}
	}
	cfg.OnLink = func(up bool) {
		if up {
			d.LinkUp()
		}
		d.links <- up
	}
	cfg.OnTrouble = func(err error) {
		d.Refused(err)
		if err != nil {
			d.trouble <- err
		}
	}
	cfg.OnPacket = func(from round.DeviceID, p round.Packet) {
		if _, ok := p.(round.Gone); ok {
			return
		}
		select {
		case d.packets <- from:
		default:
		}
	}
	c, err := mqtt.NewClient(cfg)
	if err != nil {
		d.t.Fatal(err)
	}
	d.client = c
	d.SendWith(c.SendNote)
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { _ = c.Run(ctx) })
	before := d.stop
	d.stop = func() { cancel(); running.Wait(); before(); d.stop = func() {} }
}

func (d *device) up() *device {
	d.t.Helper()
	d.link(true)
	return d
}

func (d *device) link(up bool) {
	d.t.Helper()
	for mqtttest.Await(d.t, d.links, "a link") != up {
	}
}

// change waits until something has happened.
func (d *device) change(what string, id round.DeviceID) Change {
	d.t.Helper()
	for {
		if c := mqtttest.Await(d.t, d.changes, what); c.What == what && c.Device == id {
			return c
		}
	}
}

// network is where the host's door is.
func (d *device) network() string {
	_, port, err := net.SplitHostPort(d.broker.NetworkAddr().String())
	if err != nil {
		d.t.Fatal(err)
	}
	return net.JoinHostPort("127.0.0.1", port)
}

// until polls what another process or goroutine does.
func until(t testing.TB, what string, ok func() bool) {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	end := time.After(mqtttest.Patience)
	for !ok() {
		select {
		case <-tick.C:
		case <-end:
			t.Fatalf("waited in vain until %s", what)
		}
	}
}

// room makes a host and members that are connected.
func room(t testing.TB, names ...string) (host *device, members []*device) {
	t.Helper()
	return roomAt(t, at(today), at(today), names...)
}

// roomAt is a room whose host has one clock, and whose members have another.
func roomAt(t testing.TB, hosts, theirs *clock, names ...string) (host *device, members []*device) {
	t.Helper()
	host = fresh(t, hosts.Clock())
	for _, n := range names {
		m := fresh(t, theirs.Clock())
		pair(t, host, m, n)
		members = append(members, m)
	}
	host.serve("127.0.0.1:0")
	host.up()
	for _, m := range members {
		m.connect(host.network())
		m.up()
	}
	return host, members
}

// forget makes a host begin again: no member has knocked. Clients of other makes do not knock, and the host lets in whom it knows.
func (k *knocks) forget() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.by = nil
}
