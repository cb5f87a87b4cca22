package mqtt

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	paho "github.com/eclipse/paho.mqtt.golang"
	"github.com/eclipse/paho.mqtt.golang/packets"

	"conch/device/redact"
)

// tlsConfig reads the files anew for each attempt: certificates are renewed while the device runs.
func (c *Config) tlsConfig(t target) (*tls.Config, error) {
	if c.TLS != nil {
		conf, err := c.TLS()
		if err != nil {
			return nil, fmt.Errorf("%w: %w", ErrTLS, err)
		}
		conf = conf.Clone()
		if conf.ServerName == "" && c.Addresses == nil {
			conf.ServerName = t.url.Hostname()
		}
		return conf, nil
	}
	conf := &tls.Config{ServerName: t.url.Hostname(), MinVersion: tls.VersionTLS12}
	if c.CAFile != "" {
		pem, err := os.ReadFile(c.CAFile)
		if err != nil {
			return nil, fmt.Errorf("%w: read the CA file: %w", ErrSettings, err)
		}
		conf.RootCAs = x509.NewCertPool()
		if !conf.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("%w: CA file %s: no certificate in it", ErrSettings, c.CAFile)
		}
	}
	if c.CertFile != "" || c.KeyFile != "" {
		pair, err := tls.LoadX509KeyPair(c.CertFile, c.KeyFile)
		if err != nil {
			return nil, fmt.Errorf("%w: client certificate: %w", ErrSettings, err)
		}
		conf.Certificates = []tls.Certificate{pair}
	}
	return conf, nil
}

// password reads the secret anew for each attempt.
func (c *Config) password() (string, error) {
	if c.PasswordFile == "" {
		return c.Password, nil
	}
	b, err := os.ReadFile(c.PasswordFile)
	if err != nil {
		return "", fmt.Errorf("%w: read the broker's password: %w", ErrSettings, err)
	}
	secret := strings.TrimRight(string(b), "\r\n")
	redact.Add(secret)
	return secret, nil
}

// dial opens a connection, and says which of the Addresses it leads to. Names are looked up anew each time, so that a broker that moved is found.
func (c *Config) dial(ctx context.Context, t target) (net.Conn, string, error) {
	ctx, cancel := context.WithTimeout(ctx, c.dialTimeout())
	defer cancel()
	var conf *tls.Config
	var err error
	if t.tls {
		if conf, err = c.tlsConfig(t); err != nil {
			return nil, "", err
		}
	}
	if c.Addresses != nil {
		return c.reach(ctx, conf)
	}
	var conn net.Conn
	switch {
	case t.ws:
		conn, err = paho.NewWebsocket(t.url.String(), conf, c.ConnectTimeout, nil, nil)
	case t.tls:
		conn, err = dialTLS(ctx, t.addr, conf)
	default:
		if conn, err = (&net.Dialer{}).DialContext(ctx, "tcp", t.addr); err == nil {
			conn = quicken(conn)
		}
	}
	if err != nil {
		return nil, "", err
	}
	if len(c.More) > 0 {
		return conn, t.String(), nil
	}
	return conn, "", nil
}

// dialTimeout is for all addresses together; the last one begins late.
func (c *Config) dialTimeout() time.Duration {
	if c.Addresses == nil {
		return c.ConnectTimeout
	}
	return c.ConnectTimeout + maxAddresses*stagger
}

// patient gives every write a limit, the acknowledgements' and the pings' too, which the library writes without one, and lets the
// broker hang up once it was told goodbye: a connection that is closed while something is on its way to us is reset by the kernel,
// and a broker that meets that before it has read the goodbye sends the will.
type patient struct {
	net.Conn
	limit time.Duration

	bye  atomic.Bool   // it was told
	over chan struct{} // nothing more comes from it
	once sync.Once
}

// hangUp is how long a broker may take to hang up.
const hangUp = 100 * time.Millisecond

func newPatient(conn net.Conn, door door) *patient {
	l := newLimited(conn, MaxPacket)
	p := &patient{Conn: l, limit: writeTimeout, over: make(chan struct{})}
	l.door, l.acknowledge = door, func(b []byte) error { _, err := p.Write(b); return err }
	return p
}

func (p *patient) Write(b []byte) (int, error) {
	if err := p.SetWriteDeadline(time.Now().Add(p.limit)); err != nil {
		return 0, err
	}
	n, err := p.Conn.Write(b)
	if err == nil && n > 0 && b[0]>>4 == packets.Disconnect {
		p.bye.Store(true)
	}
	return n, err
}

func (p *patient) Read(b []byte) (int, error) {
	n, err := p.Conn.Read(b)
	if err != nil {
		p.once.Do(func() { close(p.over) })
		if p.bye.Load() {
			err = net.ErrClosed // as it should be: no trouble
		}
	}
	return n, err
}

// Close implements net.Conn.
func (p *patient) Close() error {
	if p.bye.Load() {
		timeout := time.NewTimer(hangUp)
		defer timeout.Stop()
		select {
		case <-p.over:
		case <-timeout.C:
		}
	}
	return p.Conn.Close()
}

// Facts of the library.
const (
	writeTimeout = 2 * time.Second // without one a write may take for ever
	pingTimeout  = 2 * time.Second
	quiesce      = 250  // ms that a proper disconnect may take
	subackFailed = 0x80 // MQTT 3.1.1, 3.9.3
)

// options are the library's settings for every session, each with the reason why its default will not do.
func (c *Config) options(t target, clientID, password string, keepAlive time.Duration) *paho.ClientOptions {
	o := paho.NewClientOptions()
	o.AddBroker(t.url.String())
	o.SetClientID(clientID)
	o.SetUsername(c.User)
	o.SetPassword(password)
	o.SetProtocolVersion(4)   // 3.1.1, and no second attempt with 3.1
	o.SetCleanSession(true)   // old votes must not come back
	o.SetAutoReconnect(false) // a new link is a new session with a new will, and nothing that is stale
	o.SetConnectRetry(false)  // Run does it, and says why
	o.SetOrderMatters(true)   // one envelope after the other; the handler never waits
	o.SetKeepAlive(keepAlive)
	o.SetPingTimeout(pingTimeout)   // 10 s by default
	o.SetWriteTimeout(writeTimeout) // none by default
	o.SetConnectTimeout(c.ConnectTimeout)
	o.SetMessageChannelDepth(0)
	return o
}

// connected waits for the library to connect. It keeps to its own limits and then says why it has not; on a machine that is too
// busy for that, no word from it is an error as well.
func connected(t paho.Token, patience time.Duration) error {
	if !t.WaitTimeout(patience) {
		return os.ErrDeadlineExceeded
	}
	return t.Error()
}
