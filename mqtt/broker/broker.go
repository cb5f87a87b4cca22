package broker

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"slices"
	"strings"
	"sync"
	"time"

	mochi "github.com/mochi-mqtt/server/v2"
	"github.com/mochi-mqtt/server/v2/listeners"
	"github.com/mochi-mqtt/server/v2/packets"

	"conch/companions/round"
	"conch/mqtt"
)

// Config is the embedded broker's. The zero value listens on a free port of loopback and admits whoever is there.
type Config struct {
	Listen  string           // the plain listener, host:port; "127.0.0.1:0" when empty
	Network *Network         // the listener for others; nil: there is none
	Admit   func(Peer) error // nil: everybody. On plain loopback there is nothing to tell one from another by
	Room    string           // the only room; empty: any, each apart
	Clients int              // at most; 128 when 0
	Limits  Limits           // of each
	Log     *slog.Logger

	// OnOffender is told of each member that was put out for having exceeded a limit. It is called from one of the broker's goroutines and
	// must not wait.
	OnOffender func(Offence)
}

// Peer is who wants to connect.
type Peer struct {
	Device   round.DeviceID // the client id
	User     string
	Password []byte
	Remote   net.Addr
	TLS      *tls.ConnectionState // nil on a plain connection
}

// Broker is the embedded broker. It retains nothing and keeps no session: a device that was away asks anew.
type Broker struct {
	server  *mochi.Server
	gate    *gate
	network *listener // nil: nothing but loopback
	bounds  *bounds
	log     *slog.Logger
	once    sync.Once
}

// Names of the log events of this package.
const (
	eventBroker  = "mqtt.broker"  // the embedded broker began, refused, ended
	eventOffence = "mqtt.offence" // it has put a client out: who, for what, how much of it, for how long
)

// handedOver is how many packets lie between publishing and a client's queue, which takes them at once.
const handedOver = 1024

// New listens; Run ends it.
func New(cfg Config) (*Broker, error) {
	if cfg.Room != "" {
		if err := mqtt.CheckRoom(cfg.Room); err != nil {
			return nil, err
		}
	}
	if cfg.Listen == "" {
		cfg.Listen = "127.0.0.1:0"
	}
	if cfg.Clients == 0 {
		cfg.Clients = 128
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	l, err := net.Listen("tcp", cfg.Listen)
	if err != nil {
		return nil, fmt.Errorf("mqtt: broker: listen on %s: %w (another broker? choose another port)", cfg.Listen, err)
	}
	bounds := newBounds(cfg.Limits, cfg.Log, cfg.OnOffender)
	g := newGate(l, cfg.Clients, bounds)
	b := &Broker{gate: g, bounds: bounds, log: cfg.Log}
	if cfg.Network != nil {
		if b.network, err = listen(*cfg.Network, cfg.Clients, bounds, cfg.Log); err != nil {
			return nil, errors.Join(err, l.Close())
		}
	}
	failed := func(err error) (*Broker, error) {
		b.shut()
		return nil, fmt.Errorf("mqtt: broker: %w", err)
	}
	can := mochi.NewDefaultServerCapabilities()
	can.MaximumClients = int64(cfg.Clients)
	can.MaximumClientWritesPending = handedOver
	can.MaximumPacketSize = mqtt.MaxPacket
	can.MaximumInflight = uint16(min(bounds.limits.Unacked, 1<<16-1)) // what is more is dropped, for that client
	can.TopicAliasMaximum = 0
	can.MaximumSessionExpiryInterval = 0
	can.RetainAvailable = 0 // a retained publish races a wildcard subscription in this broker, and old words must not come back
	can.SharedSubAvailable = 0
	can.MaximumQos = 1
	// The library says much that is no news here, and a device that goes is a warning to it: its lines are ours at debug.
	b.server = mochi.New(&mochi.Options{
		Capabilities:           can,
		Logger:                 slog.New(quiet{cfg.Log.Handler()}),
		SysTopicResendInterval: 1 << 30, // seconds: nobody may read them
		// No buffer: what is written is one packet each time (served.Write).
		ClientNetWriteBufferSize: 1,
	})
	if err := b.server.AddHook(&access{room: cfg.Room, admit: cfg.Admit, bounds: bounds, log: cfg.Log}, nil); err != nil {
		return failed(err)
	}
	if err := b.server.AddListener(ours{listeners.NewNet("room", g)}); err != nil {
		return failed(err)
	}
	network := ""
	if b.network != nil {
		if err := b.server.AddListener(ours{listeners.NewNet("network", b.network)}); err != nil {
			return failed(err)
		}
		network = b.network.Addr().String()
	}
	if err := b.server.Serve(); err != nil {
		return failed(err)
	}
	b.log.Info(eventBroker, "listen", l.Addr().String(), "network", network)
	return b, nil
}

// Addr is where the plain listener is.
func (b *Broker) Addr() net.Addr { return b.gate.Addr() }

// NetworkAddr is where the other listener is; nil: there is none.
func (b *Broker) NetworkAddr() net.Addr {
	if b.network == nil {
		return nil
	}
	return b.network.Addr()
}

// URL is the plain listener for a mqtt.Config.
func (b *Broker) URL() string { return "mqtt://" + b.Addr().String() }

// Run keeps the broker until ctx ends, then closes it.
func (b *Broker) Run(ctx context.Context) error {
	<-ctx.Done()
	b.Close()
	return nil
}

// Outlast stays until a device has left, and a moment longer, so that the others hear what it said last. What has closed its
// connection is not yet heard: the broker reads it later, and hands it on after that.
func (b *Broker) Outlast(d round.DeviceID) {
	ctx, cancel := context.WithTimeout(context.Background(), outlastLimit)
	defer cancel()
	for slices.Contains(b.Clients(), d) && ctx.Err() == nil {
		pause(ctx, 5*time.Millisecond)
	}
	pause(ctx, outlastMoment)
}

func pause(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
	case <-t.C:
	}
}

const (
	outlastLimit  = time.Second
	outlastMoment = 100 * time.Millisecond
)

// Close ends the broker and all its connections.
func (b *Broker) Close() {
	b.once.Do(func() {
		b.shut() // also those that have not said who they are: the library would wait for them
		_ = b.server.Close()
		b.gate.writers.Wait()
		if b.network != nil {
			b.network.wait()
			b.network.writers.Wait()
		}
	})
}

// ours is a listener whose connections we close. The library would look for their clients in a list whose lock it asks for twice
// (Clients.GetByListener, Len): a client that goes away in between, as all do then, makes it wait for itself for ever.
type ours struct{ *listeners.Net }

func (o ours) Close(listeners.CloseFn) { o.Net.Close(func(string) {}) }

func (b *Broker) shut() {
	b.gate.shut()
	if b.network != nil {
		b.network.shut()
	}
}

// Clients are the devices that are connected.
func (b *Broker) Clients() []round.DeviceID {
	var out []round.DeviceID
	for id, c := range b.server.Clients.GetAll() {
		if !c.Closed() {
			out = append(out, round.DeviceID(id))
		}
	}
	return out
}

// Drop closes a device's connection at once (PAIRING.md: conch room remove). Admit decides whether it may come back.
func (b *Broker) Drop(d round.DeviceID) {
	if c, ok := b.server.Clients.Get(string(d)); ok {
		if s, ok := c.Net.Conn.(*served); ok {
			s.abort()
		}
		c.Stop(packets.ErrNotAuthorized)
	}
}

// quiet passes the library's lines on at debug.
type quiet struct{ slog.Handler }

func (q quiet) Enabled(ctx context.Context, _ slog.Level) bool {
	return q.Handler.Enabled(ctx, slog.LevelDebug)
}

func (q quiet) Handle(ctx context.Context, r slog.Record) error {
	r.Level = slog.LevelDebug
	r.Message = strings.Join([]string{eventBroker, r.Message}, " ")
	return q.Handler.Handle(ctx, r)
}

func (q quiet) WithAttrs(a []slog.Attr) slog.Handler { return quiet{q.Handler.WithAttrs(a)} }
func (q quiet) WithGroup(n string) slog.Handler      { return quiet{q.Handler.WithGroup(n)} }
