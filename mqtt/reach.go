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

// Bounds of the search for a broker that may have moved.
const (
	maxAddresses = 8
	// stagger is what an address gets before the next one is tried as well: one that answers nothing must not hold up the others
	// (RFC 8305, 5: 100 ms to 2 s).
	stagger = 250 * time.Millisecond
)

// ErrNoAddress says that nobody knows where the broker is.
var ErrNoAddress = errors.New("nobody knows where the device is that keeps the room")

// target is where the client goes: to a URL, or to whichever address turns out to be the room's.
func (c *Config) target() (target, error) {
	if c.Addresses == nil {
		return parseURL(c.URL)
	}
	if c.TLS == nil {
		return target{}, errors.New("mqtt: a client that looks for its broker needs TLS, to know it when it is found")
	}
	return target{url: &url.URL{Scheme: "mqtts", Host: "room"}, tls: true, name: "room " + c.Room}, nil
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
