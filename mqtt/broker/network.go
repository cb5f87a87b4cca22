package broker

import (
	"context"
	"crypto/ed25519"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"slices"
	"sync"
	"time"

	"conch/companions/round"
	"conch/mqtt"
)

// Network is the broker's listener for other devices. It speaks TLS 1.3 only, and nothing reaches the broker without a client's
// certificate that TLS has accepted; Config.Admit then says whose it must be.
type Network struct {
	Listen string      // host:port; ":port" is every address of the device
	TLS    *tls.Config // must verify the client's certificate (membership.BrokerTLS)

	// Pairing is asked at each handshake that wants to pair; nil, or returning nil: no window is open, and it is refused.
	Pairing func() *tls.Config
	// Pair takes over a connection that wants to pair, a *tls.Conn after its handshake, in a goroutine of its own, and closes it. How many
	// there are is its own to bound, besides the bounds of strangers. It must return soon after the connection has been closed from here.
	Pair func(net.Conn)

	// KeepTLS and Keep are the same for members that come about who keeps the room; nil: nobody settles that here.
	KeepTLS *tls.Config
	Keep    func(net.Conn)

	// Refusals are the lines of the log for those who are refused; zero: 16 at once, and two a minute. Anybody can have himself refused without end.
	Refusals mqtt.Rate
}

var errNoWindow = errors.New("mqtt: pairing is closed")

// listener is what a Network listens with. Its goroutines: one that accepts, and for each connection one that shakes hands (and then
// pairs, if that is what it came for), at most maxStrangers.
type listener struct {
	*gate
	network Network
	room    *tls.Config
	log     *slog.Logger

	ready   chan net.Conn // handshaken, for the broker
	done    chan struct{} // closed by shut
	once    sync.Once
	running sync.WaitGroup

	lines  float64   // that may be logged of refusals at toldAt; under the gate's lock, like the following
	toldAt time.Time // zero: never
	held   int       // refusals that were not logged
}

func listen(n Network, clients int, b *bounds, log *slog.Logger) (*listener, error) {
	if n.TLS == nil || n.TLS.VerifyConnection == nil && n.TLS.ClientAuth != tls.RequireAndVerifyClientCert {
		return nil, errors.New("mqtt: broker: a door to the network needs TLS that verifies the clients' certificates")
	}
	l, err := net.Listen("tcp", n.Listen)
	if err != nil {
		return nil, fmt.Errorf("mqtt: broker: listen on %s for the room's devices: %w (does another program use that port? choose another one)", n.Listen, err)
	}
	d := &listener{
		gate: newGate(l, clients, b), network: n, log: log, ready: make(chan net.Conn),
		done: make(chan struct{}),
	}
	d.room = n.TLS.Clone()
	d.room.MinVersion = tls.VersionTLS13
	d.room.NextProtos = []string{mqtt.ALPNRoom}
	d.room.SessionTicketsDisabled = true // a resumed session is not asked for its certificate
	if d.room.ClientAuth != tls.RequireAndVerifyClientCert {
		d.room.ClientAuth = tls.RequireAnyClientCert
	}
	d.running.Go(d.accept)
	return d, nil
}

// Accept gives the broker connections that have shown a certificate.
func (d *listener) Accept() (net.Conn, error) {
	select {
	case c := <-d.ready:
		return c, nil
	case <-d.done:
		return nil, net.ErrClosed
	}
}

// Close is the library's way to close a listener.
func (d *listener) Close() error {
	d.shut()
	return nil
}

func (d *listener) shut() {
	d.once.Do(func() { close(d.done) })
	d.gate.shut()
}

func (d *listener) wait() { d.running.Wait() }

func (d *listener) accept() {
	conf := &tls.Config{MinVersion: tls.VersionTLS13, GetConfigForClient: d.configFor}
	for {
		c, err := d.next()
		if err != nil {
			return
		}
		if !d.bounds.knock(c.from) {
			_ = c.Close()
			continue
		}
		d.running.Go(func() { d.greet(c, conf) })
	}
}

// configFor is what a client gets, by what it wants to speak.
func (d *listener) configFor(hello *tls.ClientHelloInfo) (*tls.Config, error) {
	if slices.Contains(hello.SupportedProtos, mqtt.ALPNKeep) && d.network.KeepTLS != nil && d.network.Keep != nil {
		return d.network.KeepTLS, nil
	}
	if !slices.Contains(hello.SupportedProtos, mqtt.ALPNPair) {
		return d.room, nil
	}
	if d.network.Pairing == nil || d.network.Pair == nil {
		return nil, errNoWindow
	}
	conf := d.network.Pairing()
	if conf == nil {
		return nil, errNoWindow
	}
	conf = conf.Clone()
	conf.MinVersion = tls.VersionTLS13
	conf.NextProtos = []string{mqtt.ALPNPair}
	conf.SessionTicketsDisabled = true
	return conf, nil
}

// refused says so, as far as Network.Refusals allow it.
func (d *listener) refused(why string, remote net.Addr) {
	d.gate.mu.Lock()
	now := time.Now()
	rate := d.network.Refusals
	if rate == (mqtt.Rate{}) {
		rate = mqtt.Rate{Second: 2. / 60, AtOnce: 16}
	}
	d.lines, d.toldAt = min(rate.AtOnce, d.lines+now.Sub(d.toldAt).Seconds()*rate.Second), now
	say, more := d.lines >= 1, d.held
	if say {
		d.lines, d.held = d.lines-1, 0
	} else {
		d.held++
	}
	d.gate.mu.Unlock()
	if say {
		d.log.Warn(eventBroker, "refused", why, "remote", remote.String(), "more", more)
	}
}

// greet shakes hands with one connection and hands it on.
func (d *listener) greet(c *counted, conf *tls.Config) {
	conn := tls.Server(c, conf)
	refuse := func(why string) {
		d.refused(why, c.RemoteAddr())
		_ = c.Close()
	}
	ctx, cancel := context.WithTimeout(context.Background(), strangerPatience)
	defer cancel()
	if err := conn.HandshakeContext(ctx); err != nil {
		refuse(err.Error())
		return
	}
	if p := conn.ConnectionState().NegotiatedProtocol; p == mqtt.ALPNKeep || p == mqtt.ALPNPair {
		_ = c.SetDeadline(time.Time{}) // a run has limits of its own
		if p == mqtt.ALPNKeep {
			d.network.Keep(conn)
		} else {
			d.network.Pair(conn)
		}
		_ = c.Close()
		return
	}
	device := shown(conn)
	if device != "" && !d.bounds.arrive(device, c.from) {
		refuse("kept out for a while: " + string(device))
		return
	}
	select {
	case d.ready <- serve(conn, c, device):
	case <-d.done:
		_ = c.Close()
	}
}

// shown is the device whose key was shown in a handshake.
func shown(c *tls.Conn) round.DeviceID {
	certs := c.ConnectionState().PeerCertificates
	if len(certs) == 0 {
		return ""
	}
	key, ok := certs[0].PublicKey.(ed25519.PublicKey)
	if !ok {
		return ""
	}
	return mqtt.Fingerprint(key)
}
