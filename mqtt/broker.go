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
	Listen  string           // host:port; "127.0.0.1:0" when empty
	TLS     *tls.Config      // towards the network, once something has been paired (pairing.md)
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
	server *mochi.Server
	gate   *gate
	log    *slog.Logger
	once   sync.Once
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
	g := &gate{Listener: l, tls: cfg.TLS, most: cfg.Clients + 16, open: map[net.Conn]bool{}}
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
	server := mochi.New(&mochi.Options{
		Capabilities:           can,
		Logger:                 slog.New(quiet{cfg.Log.Handler()}),
		SysTopicResendInterval: 1 << 30, // seconds: nobody may read them
	})
	if err := server.AddHook(&access{room: cfg.Room, admit: cfg.Admit, log: cfg.Log}, nil); err != nil {
		return nil, errors.Join(fmt.Errorf("mqtt: broker: %w", err), l.Close())
	}
	if err := server.AddListener(listeners.NewNet("room", g)); err != nil {
		return nil, errors.Join(fmt.Errorf("mqtt: broker: %w", err), l.Close())
	}
	b := &Broker{server: server, gate: g, log: cfg.Log}
	if err := server.Serve(); err != nil {
		return nil, errors.Join(fmt.Errorf("mqtt: broker: %w", err), l.Close())
	}
	b.log.Info(eventBroker, "listen", l.Addr().String())
	return b, nil
}

// Addr is where the broker listens.
func (b *Broker) Addr() net.Addr { return b.gate.Addr() }

// URL is the address for a Config.
func (b *Broker) URL() string {
	if b.gate.tls != nil {
		return "mqtts://" + b.Addr().String()
	}
	return "mqtt://" + b.Addr().String()
}

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
		b.gate.shut() // also those that have not said who they are: the library would wait for them
		_ = b.server.Close()
	})
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

// Drop closes a device's connection at once (pairing.md: conch room remove). Admit decides whether it may come back.
func (b *Broker) Drop(d round.DeviceID) {
	if c, ok := b.server.Clients.Get(string(d)); ok {
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
	return b == mochi.OnConnectAuthenticate || b == mochi.OnACLCheck
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
	p := Peer{Device: round.DeviceID(cl.ID), User: string(pk.Connect.Username), Password: pk.Connect.Password, Remote: cl.Net.Conn.RemoteAddr()}
	if c, ok := cl.Net.Conn.(*tls.Conn); ok {
		state := c.ConnectionState()
		p.TLS = &state
	}
	if err := a.admit(p); err != nil {
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

// gate is the broker's listener: it bounds the connections, those before CONNECT included, and can close them all.
type gate struct {
	net.Listener
	tls  *tls.Config
	most int

	mu   sync.Mutex
	open map[net.Conn]bool
	end  bool
}

func (g *gate) Accept() (net.Conn, error) {
	for {
		conn, err := g.Listener.Accept()
		if err != nil {
			return nil, err
		}
		g.mu.Lock()
		full := g.end || len(g.open) >= g.most
		if !full {
			g.open[conn] = true
		}
		g.mu.Unlock()
		if full {
			_ = conn.Close()
			continue
		}
		_ = conn.SetReadDeadline(time.Now().Add(5 * time.Second)) // until CONNECT says how long a silence may be
		counted := &counted{Conn: conn, gate: g}
		if g.tls != nil {
			return tls.Server(counted, g.tls), nil
		}
		return counted, nil
	}
}

func (g *gate) shut() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.end = true
	_ = g.Listener.Close()
	for c := range g.open {
		_ = c.Close()
	}
}

// counted leaves the gate's list when it is closed.
type counted struct {
	net.Conn
	gate *gate
}

func (c *counted) Close() error {
	c.gate.mu.Lock()
	delete(c.gate.open, c.Conn)
	c.gate.mu.Unlock()
	return c.Conn.Close()
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
