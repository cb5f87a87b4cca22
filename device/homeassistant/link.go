package homeassistant

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
	"time"

	paho "github.com/eclipse/paho.mqtt.golang"

	"conch/device/config"
	"conch/device/redact"
)

// Limits of a connection. Our choices: a broker of the house answers in milliseconds, and Home Assistant shows within 22 s that a device
// was unplugged.
const (
	keepAlive      = 15 * time.Second
	pingTimeout    = 5 * time.Second
	connectTimeout = 5 * time.Second
	writeTimeout   = 5 * time.Second
	ackTimeout     = 10 * time.Second
	echoTimeout    = 5 * time.Second        // until what was said last has come back
	lastWords      = time.Second            // for saying that it goes
	hangUp         = 100 * time.Millisecond // that a broker may take to
	quiesce        = 250                    // ms that a proper disconnect may take
	subackFailed   = 0x80                   // MQTT 3.1.1, 3.9.3
)

// What can be wrong with the way to the broker.
var (
	errUnreachable = errors.New("cannot be reached")
	errRefused     = errors.New("refuses this device")
	errNotTrusted  = errors.New("has no certificate that this device trusts")
	errNoBroker    = errors.New("does not answer like an MQTT broker")
	errSettings    = errors.New("a setting cannot be used")
	errCut         = errors.New("takes this device, and then hangs up")
	errSlow        = errors.New("has not answered in time")
)

// link is one connection. One that is lost is thrown away with all that waits in it.
type link struct {
	client paho.Client
	takes  limits
	lost   chan error // 1: why
}

// target is a broker's address, taken apart.
type target struct {
	url     *url.URL
	addr    string
	tls, ws bool
}

func parseBroker(raw string) (target, error) {
	u, err := url.Parse(raw)
	if err != nil || u.Hostname() == "" || u.User != nil {
		return target{}, fmt.Errorf("%w: homeassistant.broker is no mqtt://HOST:PORT", errSettings)
	}
	t, port := target{url: u}, "1883"
	switch u.Scheme {
	case "mqtt", "tcp":
	case "mqtts", "ssl", "tls":
		t.tls, port = true, "8883"
	case "ws":
		t.ws, port = true, "80"
	case "wss":
		t.ws, t.tls, port = true, true, "443"
	default:
		return target{}, fmt.Errorf("%w: homeassistant.broker does not begin with mqtt:// or mqtts://, but with %s://", errSettings, u.Scheme)
	}
	if p := u.Port(); p != "" {
		port = p
	}
	t.addr = net.JoinHostPort(u.Hostname(), port)
	return t, nil
}

// way is how a broker is reached, and who says so.
func way(c config.HomeAssistant) (t target, password string, conf *tls.Config, err error) {
	if t, err = parseBroker(c.Broker); err != nil {
		return t, "", nil, err
	}
	if c.PasswordFile != "" {
		text, err := os.ReadFile(c.PasswordFile) // anew each time: it may have been mended
		if err != nil {
			return t, "", nil, fmt.Errorf("%w: %w", errSettings, err)
		}
		password = strings.TrimRight(string(text), "\r\n")
		redact.Add(password)
	}
	conf, err = tlsConfig(c.CAFile, t)
	return t, password, conf, err
}

// dial makes one connection. on is called with what arrives, on the library's goroutine, and must not wait. will is kept by the broker.
func dial(ctx context.Context, c config.HomeAssistant, takes limits, clientID string, will message, on func(paho.Message)) (*link, error) {
	t, password, conf, err := way(c)
	if err != nil {
		return nil, err
	}
	l := &link{takes: takes, lost: make(chan error, 1)}
	o := paho.NewClientOptions()
	o.AddBroker(t.url.String())
	o.SetClientID(clientID)
	o.SetUsername(c.User)
	o.SetPassword(password)
	o.SetProtocolVersion(4)   // 3.1.1, and no second attempt with 3.1
	o.SetCleanSession(true)   // what somebody wanted while we were away is not wanted any more
	o.SetAutoReconnect(false) // a new link tells everything anew
	o.SetConnectRetry(false)
	o.SetOrderMatters(true) // the handler never waits
	o.SetKeepAlive(keepAlive)
	o.SetPingTimeout(pingTimeout)
	o.SetWriteTimeout(writeTimeout)
	o.SetConnectTimeout(connectTimeout)
	o.SetMessageChannelDepth(0)
	if will.topic != "" {
		o.SetWill(will.topic, redact.Text(will.payload), takes.qos, will.retained && takes.keeps)
	}
	o.SetDefaultPublishHandler(func(_ paho.Client, m paho.Message) { on(m) })
	o.SetConnectionLostHandler(func(_ paho.Client, err error) {
		if err == nil {
			err = net.ErrClosed
		}
		select {
		case l.lost <- err:
		default:
		}
	})
	o.SetCustomOpenConnectionFn(func(*url.URL, paho.ClientOptions) (net.Conn, error) {
		conn, err := open(ctx, t, conf)
		if err != nil {
			return nil, err
		}
		context.AfterFunc(ctx, func() { _ = conn.SetReadDeadline(time.Now().Add(lastWords + quiesce*time.Millisecond)) })
		return newPatient(conn), nil
	})
	l.client = paho.NewClient(o)
	if err := wait(ctx, l.client.Connect(), 2*connectTimeout); err != nil {
		l.client.Disconnect(0)
		return nil, err
	}
	if !l.client.IsConnectionOpen() { // refused with a code that the library has no error for
		l.client.Disconnect(0)
		return nil, errRefused
	}
	return l, nil
}

func open(ctx context.Context, t target, conf *tls.Config) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, connectTimeout)
	defer cancel()
	if t.ws {
		return paho.NewWebsocket(t.url.String(), conf, connectTimeout, nil, nil)
	}
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", t.addr)
	if err != nil || !t.tls {
		return conn, err
	}
	secure := tls.Client(conn, conf)
	if err := secure.HandshakeContext(ctx); err != nil {
		_ = conn.Close()
		return nil, err
	}
	return secure, nil
}

func tlsConfig(file string, t target) (*tls.Config, error) {
	if !t.tls {
		return nil, nil
	}
	conf := &tls.Config{ServerName: t.url.Hostname(), MinVersion: tls.VersionTLS12}
	if file == "" {
		return conf, nil
	}
	pem, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errSettings, err)
	}
	conf.RootCAs = x509.NewCertPool()
	if !conf.RootCAs.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("%w: no certificate is in %s", errSettings, file)
	}
	return conf, nil
}

// wait waits for the library, and for no longer than that.
func wait(ctx context.Context, t paho.Token, limit time.Duration) error {
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-t.Done():
		return t.Error()
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return errSlow
	}
}

// publish returns when the broker has it.
func (l *link) publish(ctx context.Context, m message, limit time.Duration) error {
	return wait(ctx, l.client.Publish(m.topic, l.takes.qos, m.retained && l.takes.keeps, redact.Text(m.payload)), limit)
}

// subscribe asks for what is said under the filters, once at most.
func (l *link) subscribe(ctx context.Context, filters ...string) error {
	all := map[string]byte{}
	for _, f := range filters {
		all[f] = 0
	}
	t := l.client.SubscribeMultiple(all, nil)
	if err := wait(ctx, t, ackTimeout); err != nil {
		return err
	}
	if s, ok := t.(*paho.SubscribeToken); ok {
		for f, code := range s.Result() {
			if code == subackFailed {
				return fmt.Errorf("%w: it may not read %s", errRefused, f)
			}
		}
	}
	return nil
}

func (l *link) close() { l.client.Disconnect(quiesce) }
