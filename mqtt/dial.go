package mqtt

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	paho "github.com/eclipse/paho.mqtt.golang"
	"github.com/eclipse/paho.mqtt.golang/packets"
)

// target is the broker's address, taken apart once.
type target struct {
	url  *url.URL
	addr string // host:port
	tls  bool
	ws   bool
	name string // in messages, where the URL says nothing
}

func (t target) String() string {
	if t.name != "" {
		return t.name
	}
	return t.url.Redacted()
}

// parseURL accepts what people write: mqtt:// and tcp://, mqtts://, ssl:// and tls://, ws:// and wss://.
func parseURL(raw string) (target, error) {
	u, err := url.Parse(raw)
	if err != nil {
		return target{}, errors.New("mqtt: the broker's url cannot be read; want for instance mqtt://broker.local:1883")
	}
	t := target{url: u}
	port := "1883"
	switch u.Scheme {
	case "mqtt", "tcp":
	case "mqtts", "ssl", "tls":
		t.tls, port = true, "8883"
	case "ws":
		t.ws, port = true, "80"
	case "wss":
		t.ws, t.tls, port = true, true, "443"
	default:
		return target{}, fmt.Errorf("mqtt: broker %q: must begin with mqtt://, tcp://, mqtts://, ssl://, ws:// or wss://", u.Redacted())
	}
	if u.User != nil {
		return target{},
			fmt.Errorf("mqtt: broker %q: user and password do not belong into the url, where they would be logged; use the settings for them", u.Redacted())
	}
	if u.Hostname() == "" {
		return target{}, fmt.Errorf("mqtt: broker %q: the host is missing", u.Redacted())
	}
	if p := u.Port(); p != "" {
		port = p
	}
	t.addr = net.JoinHostPort(u.Hostname(), port)
	return t, nil
}

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
	return strings.TrimRight(string(b), "\r\n"), nil
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

func newPatient(conn net.Conn) *patient {
	return &patient{Conn: newLimited(conn, maxPacket), limit: writeTimeout, over: make(chan struct{})}
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
