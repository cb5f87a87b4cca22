package mqtt

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
)

// BrokerConfig is the embedded broker's. The zero value listens on a free port of loopback and admits whoever is there.
type BrokerConfig struct {
	Listen  string           // the plain listener, host:port; "127.0.0.1:0" when empty
	Network *Network         // the listener for others; nil: there is none
	Admit   func(Peer) error // nil: everybody. On plain loopback there is nothing to tell one from another by
	Room    string           // the only room; empty: any, each apart
	Clients int              // at most; 128 when 0
	Waiting int              // packets waiting for one slow client, then dropped; 4,096 when 0
	Log     *slog.Logger
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
	log     *slog.Logger
	once    sync.Once
}

// NewBroker listens; Run ends it.
func NewBroker(cfg BrokerConfig) (*Broker, error) {
	if cfg.Room != "" {
		if err := CheckRoom(cfg.Room); err != nil {
			return nil, err
		}
	}
	if cfg.Listen == "" {
		cfg.Listen = "127.0.0.1:0"
	}
	if cfg.Clients == 0 {
		cfg.Clients = 128
	}
	if cfg.Waiting == 0 {
		cfg.Waiting = 4096
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	l, err := net.Listen("tcp", cfg.Listen)
	if err != nil {
		return nil, fmt.Errorf("mqtt: broker: listen on %s: %w (another broker? choose another port)", cfg.Listen, err)
	}
	g := newGate(l, cfg.Clients)
	b := &Broker{gate: g, log: cfg.Log}
	if cfg.Network != nil {
		if b.network, err = listen(*cfg.Network, cfg.Clients, cfg.Log); err != nil {
			return nil, errors.Join(err, l.Close())
		}
	}
	failed := func(err error) (*Broker, error) {
		b.shut()
		return nil, fmt.Errorf("mqtt: broker: %w", err)
	}
	can := mochi.NewDefaultServerCapabilities()
	can.MaximumClients = int64(cfg.Clients)
	can.MaximumClientWritesPending = int32(cfg.Waiting)
	can.MaximumPacketSize = maxPacket
	can.MaximumInflight = uint16(min(cfg.Waiting, 8192))
	can.MaximumSessionExpiryInterval = 0
	can.RetainAvailable = 0 // a retained publish races a wildcard subscription in this broker, and old words must not come back
	can.SharedSubAvailable = 0
	can.MaximumQos = 1
	// The library says much that is no news here, and a device that goes is a warning to it: its lines are ours at debug.
	b.server = mochi.New(&mochi.Options{
		Capabilities:           can,
		Logger:                 slog.New(quiet{cfg.Log.Handler()}),
		SysTopicResendInterval: 1 << 30, // seconds: nobody may read them
	})
	if err := b.server.AddHook(&access{room: cfg.Room, admit: cfg.Admit, log: cfg.Log}, nil); err != nil {
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

// URL is the plain listener for a Config.
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

const (
	outlastLimit  = time.Second
	outlastMoment = 100 * time.Millisecond
)

// Close ends the broker and all its connections.
func (b *Broker) Close() {
	b.once.Do(func() {
		b.shut() // also those that have not said who they are: the library would wait for them
		_ = b.server.Close()
		if b.network != nil {
			b.network.wait()
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
//
// The bare connection goes first: TLS says goodbye with patience, to one that may not be reading.
func (b *Broker) Drop(d round.DeviceID) {
	if c, ok := b.server.Clients.Get(string(d)); ok {
		if bare := bareConn(c.Net.Conn); bare != nil {
			_ = bare.Close()
		}
		c.Stop(packets.ErrNotAuthorized)
	}
}

// access is the broker's access list: a client is a device; it reads its room, and writes only under its own id.
type access struct {
	mochi.HookBase
	room  string
	admit func(Peer) error
	log   *slog.Logger
}

func (*access) ID() string { return "access" }

func (*access) Provides(b byte) bool {
	return b == mochi.OnConnectAuthenticate || b == mochi.OnSessionEstablished || b == mochi.OnACLCheck
}

// OnSessionEstablished asks again, now that the client is among those that Drop finds: it may have been removed in between.
func (a *access) OnSessionEstablished(cl *mochi.Client, pk packets.Packet) {
	if a.admit != nil && a.admit(peerOf(cl, pk)) != nil {
		cl.Stop(packets.ErrNotAuthorized)
		return
	}
	if c, ok := bareConn(cl.Net.Conn).(*counted); ok {
		c.known()
	}
}

func peerOf(cl *mochi.Client, pk packets.Packet) Peer {
	p := Peer{Device: round.DeviceID(cl.ID), User: string(pk.Connect.Username), Password: pk.Connect.Password, Remote: cl.Net.Conn.RemoteAddr()}
	if c, ok := cl.Net.Conn.(*tls.Conn); ok {
		state := c.ConnectionState()
		p.TLS = &state
	}
	return p
}

// OnConnectAuthenticate also looks at the last will, which the library would publish without asking anybody.
func (a *access) OnConnectAuthenticate(cl *mochi.Client, pk packets.Packet) bool {
	no := func(why string, args ...any) bool {
		a.log.Warn(eventBroker, append([]any{"refused", why, "client", cl.ID, "remote", cl.Net.Remote}, args...)...)
		return false
	}
	if !validDevice(round.DeviceID(cl.ID)) {
		return no("the client id is no device id")
	}
	if pk.Connect.WillFlag && !a.OnACLCheck(cl, pk.Connect.WillTopic, true) {
		return no("last will under another's name", "topic", pk.Connect.WillTopic)
	}
	if !pk.Connect.Clean {
		return no("wants its session kept: nothing is kept here")
	}
	if a.admit == nil {
		return true
	}
	if err := a.admit(peerOf(cl, pk)); err != nil {
		return no(err.Error())
	}
	return true
}

// OnACLCheck is asked for each publish, each subscription and each delivery.
func (a *access) OnACLCheck(cl *mochi.Client, t string, write bool) bool {
	rest, ok := strings.CutPrefix(t, topicRoot)
	room, rest, found := strings.Cut(rest, "/")
	if !ok || !found || CheckRoom(room) != nil || a.room != "" && room != a.room {
		return false
	}
	if !write {
		return true // one level below the room is named, so that no filter reaches into another
	}
	_, d, ok := splitTopic(room, t)
	return ok && string(d) == cl.ID && rest != ""
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
