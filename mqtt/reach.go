package mqtt

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/url"
	"time"
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

// Bounds of the search for a broker that may have moved.
const (
	maxAddresses = 8
	// stagger is what an address gets before the next one is tried as well: one that answers nothing must not hold up the others
	// (RFC 8305, 5: 100 ms to 2 s).
	stagger = 250 * time.Millisecond
)

// ErrNoAddress says that nobody knows where the broker is.
var ErrNoAddress = errors.New("nobody knows where the device is that keeps the room")

// targets are where the client goes: to one URL after the other, or to whichever address turns out to be the room's.
func (c *Config) targets() ([]target, error) {
	if c.Addresses != nil {
		if c.TLS == nil {
			return nil, errors.New("mqtt: a client that looks for its broker needs TLS, to know it when it is found")
		}
		return []target{{url: &url.URL{Scheme: "mqtts", Host: "room"}, tls: true, name: "room " + c.Room}}, nil
	}
	var all []target
	for _, raw := range append([]string{c.URL}, c.More...) {
		t, err := parseURL(raw)
		if err != nil {
			return nil, err
		}
		all = append(all, t)
	}
	return all, nil
}

// qos is the best that is asked of the broker for what is published. A cluster keeps what is sent under QoS 1 on most of its nodes before it acknowledges
// or hands it on; when one of them dies that stands still for all, long enough for every device to be taken for dead (TestRoomOnACluster).
// Nothing is lost by 0 but with a connection, and then with the session as well, for none is kept.
func (c *Config) qos() byte {
	if len(c.More) > 0 {
		return 0
	}
	return 1
}

// reach tries the addresses and gives the first connection that is the broker's, and where it leads.
func (c *Config) reach(ctx context.Context, conf *tls.Config) (net.Conn, string, error) {
	addrs := c.Addresses(ctx)
	addrs = addrs[:min(len(addrs), maxAddresses)]
	if len(addrs) == 0 {
		return nil, "", fmt.Errorf("%w; it is asked for again", ErrNoAddress)
	}
	type result struct {
		conn net.Conn
		addr string
		err  error
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	results := make(chan result, len(addrs))
	next := time.NewTimer(0)
	defer next.Stop()
	begun, ended := 0, 0
	var errs []error
	for ended < len(addrs) {
		select {
		case <-next.C:
			if begun == len(addrs) {
				continue
			}
			addr := addrs[begun]
			begun++
			go func() {
				conn, err := dialTLS(ctx, addr, conf)
				results <- result{conn, addr, err}
			}()
			next.Reset(stagger)
		case r := <-results:
			ended++
			if r.err != nil {
				errs = append(errs, fmt.Errorf("%s: %w", r.addr, r.err))
				if ended == begun {
					next.Reset(0) // nothing is under way
				}
				continue
			}
			cancel()
			for ; ended < begun; ended++ {
				if r := <-results; r.conn != nil {
					_ = r.conn.Close()
				}
			}
			return r.conn, r.addr, nil
		}
	}
	return nil, "", errors.Join(errs...)
}

func dialTLS(ctx context.Context, addr string, conf *tls.Config) (net.Conn, error) {
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", addr)
	if err != nil {
		return nil, err
	}
	secure := tls.Client(quicken(conn), conf)
	if err := secure.HandshakeContext(ctx); err != nil {
		_ = conn.Close()
		return nil, err
	}
	return secure, nil
}
