package mqtt

import (
	"context"
	"crypto/tls"
	"net"
	"os"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"conch/companions/round"
	"conch/mqtt/mqtttest"
)

func TestMain(m *testing.M) {
	if helper := os.Getenv("CONCH_MQTT_HELPER"); helper != "" {
		os.Exit(runHelper(helper))
	}
	goleak.VerifyTestMain(m)
}

// got is a packet and who sent it.
type got struct {
	from round.DeviceID
	p    round.Packet
}

// device is a client as a test sees it.
type device struct {
	*Client
	t       testing.TB
	packets chan got
	links   chan bool
	trouble chan error
	refused chan Refusal
	stop    func()
}

// start runs a client until the test ends or stop is called.
func start(t testing.TB, cfg Config) *device {
	t.Helper()
	d := newDevice(t, &cfg)
	d.run()
	return d
}

func newDevice(t testing.TB, cfg *Config) *device {
	t.Helper()
	if cfg.Identity.key == nil {
		cfg.Identity = identity(t)
	}
	if cfg.Room == "" {
		cfg.Room = "kitchen"
	}
	d := &device{
		t: t, packets: make(chan got, 4096), links: make(chan bool, 64),
		trouble: make(chan error, 64), refused: make(chan Refusal, 4096),
	}
	if cfg.OnPacket == nil {
		cfg.OnPacket = func(from round.DeviceID, p round.Packet) { d.packets <- got{from, p} }
	}
	cfg.OnLink = func(up bool) { d.links <- up }
	cfg.OnTrouble = func(err error) { d.trouble <- err }
	cfg.OnRefused = func(r Refusal) {
		select {
		case d.refused <- r:
		default:
		}
	}
	c, err := NewClient(*cfg)
	if err != nil {
		t.Fatal(err)
	}
	d.Client = c
	return d
}

func (d *device) run() {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = d.Run(ctx)
	}()
	var once sync.Once
	d.stop = func() { once.Do(func() { cancel(); <-done }) }
	d.t.Cleanup(d.stop)
}

func identity(t testing.TB) Identity {
	t.Helper()
	id, err := NewIdentity()
	if err != nil {
		t.Fatal(err)
	}
	return id
}

// up waits for the link.
func (d *device) up() *device {
	d.t.Helper()
	d.link(true)
	return d
}

func (d *device) link(want bool) {
	d.t.Helper()
	for {
		if mqtttest.Await(d.t, d.links, "the link") == want {
			return
		}
	}
}

// next waits for a packet of the type T, however many others come meanwhile.
func next[T round.Packet](d *device) (from round.DeviceID, p T) {
	d.t.Helper()
	late := time.After(mqtttest.Patience)
	for {
		select {
		case g := <-d.packets:
			if p, ok := g.p.(T); ok {
				return g.from, p
			}
		case <-late:
			d.t.Fatalf("waited in vain for a %T; %+v", p, d.Stats())
		}
	}
}

// cards lets a device's companions be known.
func cards(ids ...round.CompanionID) round.Beat {
	b := round.Beat{Name: "test", Digest: "d", Budget: 300, Cards: []round.Card{}}
	for _, id := range ids {
		b.Cards = append(b.Cards, round.Card{ID: id, Name: string(id)})
	}
	return b
}

// meet makes devices know each other: every one has heard of every other's cards.
func meet(t testing.TB, ds map[*device]round.Beat) {
	t.Helper()
	for d, b := range ds {
		go func() {
			tick := time.NewTicker(50 * time.Millisecond)
			defer tick.Stop()
			ctx := t.Context()
			for {
				d.Send(b)
				select {
				case <-tick.C:
				case <-ctx.Done():
					return
				}
			}
		}()
	}
	for d := range ds {
		missing := map[round.DeviceID]bool{}
		for o := range ds {
			if o != d {
				missing[o.ID()] = true
			}
		}
		for len(missing) > 0 {
			from, _ := next[round.Beat](d)
			delete(missing, from)
		}
	}
}

// BrokerConfig is broker.Config as far as tests of clients need it. The broker imports this package: embedded_test.go, outside of it, hands it in.
type BrokerConfig struct {
	Listen, Room string
	Network      *tls.Config // nil: no listener to the network
	Admit        func(d round.DeviceID, user string, state *tls.ConnectionState) error
}

// Broker is an embedded one (broker.Broker).
type Broker interface {
	Addr() net.Addr
	NetworkAddr() net.Addr
	URL() string
	Close()
}

// NewBroker is set before any test runs.
var NewBroker func(BrokerConfig) (Broker, error)

// embedded starts an embedded broker.
func embedded(t testing.TB, cfg BrokerConfig) Broker {
	t.Helper()
	b, err := NewBroker(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.Close)
	return b
}
