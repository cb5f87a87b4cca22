package pairing

import (
	"context"
	"crypto/tls"
	"errors"
	"net"

	"conch/mqtt"
)

// ALPN is the protocol's name in a TLS handshake.
const ALPN = "conch-pair/1"

// ServerTLS are the settings of a window's side: TLS 1.3, this protocol only, the identity's own certificate, and one
// of the same kind from the other.
func ServerTLS(id mqtt.Identity) *tls.Config { return nil }

// DialTLS connects to a window at host:port.
func DialTLS(ctx context.Context, addr string, id mqtt.Identity) (Channel, error) {
	return nil, errors.New("pairing: not yet")
}

// Accept makes the window's end of a channel. It does the handshake if nobody has, within a bounded time.
func Accept(conn *tls.Conn) (Channel, error) { return nil, errors.New("pairing: not yet") }

// ServeTLS accepts joiners on l for w until the window is closed or ctx ends, then closes l. Connections are bounded, those before
// the handshake's end as well.
func ServeTLS(ctx context.Context, l net.Listener, id mqtt.Identity, w *Window) error {
	return errors.New("pairing: not yet")
}
