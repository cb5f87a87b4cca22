package pairing

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net"
	"os"
	"slices"
	"sync"
	"time"

	"conch/companions/round"
	"conch/mqtt"
)

// ALPN is the protocol's name in a TLS handshake.
const ALPN = "conch-pair/1"

// exporterLabel is what binds a run to its TLS session (RFC 8446, 7.5): somebody in the middle has two sessions.
const exporterLabel = "EXPORTER-conch-pairing"

// Bounds of a TLS channel.
const (
	handshakeLimit = 5 * time.Second
	writeLimit     = 3 * time.Second
	lingerLimit    = 500 * time.Millisecond // for the other end to read what was said last
	bindingSize    = 32
	maxHandshakes  = 16 // at a time, in ServeTLS; the oldest gives way
)

// selfSigned is a certificate that says nothing but whose key this is: nobody vouches for anybody before the pairing. Its dates
// mean nothing, for a device may not know what day it is.
func selfSigned(id mqtt.Identity) (*tls.Certificate, error) {
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1),
		Subject:      pkix.Name{CommonName: string(id.ID())},
		NotBefore:    time.Date(1970, 1, 1, 0, 0, 0, 0, time.UTC),
		NotAfter:     time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC), // no end is known: RFC 5280, 4.1.2.5
		KeyUsage:     x509.KeyUsageDigitalSignature,
		ExtKeyUsage:  []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, id.PublicKey(), id.PrivateKey())
	if err != nil {
		return nil, fmt.Errorf("pairing: make this device's certificate: %w", err)
	}
	return &tls.Certificate{Certificate: [][]byte{der}, PrivateKey: id.PrivateKey()}, nil
}

// TLS are both sides' settings: TLS 1.3, this protocol only, the identity's own certificate, and one of the same kind from the other.
// Trust is decided by verify alone: there is no authority yet.
func TLS(id mqtt.Identity) *tls.Config { return tlsFor(id, ALPN) }

// KeepTLS is TLS for two members of a room that settle which of them keeps it (membership.Meet).
func KeepTLS(id mqtt.Identity) *tls.Config { return tlsFor(id, mqtt.ALPNKeep) }

// CallTLS is TLS for two members of a room who speak with one another; is decides, by its key, whether it is the other one.
func CallTLS(id mqtt.Identity, is func(round.DeviceID) error) *tls.Config {
	conf := tlsFor(id, mqtt.ALPNCall)
	conf.VerifyConnection = func(s tls.ConnectionState) error {
		key, err := verify(s)
		if err != nil {
			return err
		}
		return is(mqtt.Fingerprint(key))
	}
	return conf
}

func tlsFor(id mqtt.Identity, protocol string) *tls.Config {
	cert := sync.OnceValues(func() (*tls.Certificate, error) { return selfSigned(id) })
	return &tls.Config{
		MinVersion:             tls.VersionTLS13,
		NextProtos:             []string{protocol},
		GetCertificate:         func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return cert() },
		GetClientCertificate:   func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return cert() },
		ClientAuth:             tls.RequireAnyClientCert,
		InsecureSkipVerify:     true, // verify looks at what there is to look at
		SessionTicketsDisabled: true,
		VerifyConnection:       func(s tls.ConnectionState) error { _, err := verify(s); return err },
	}
}

// verify takes a connection only if the other end has shown to own an Ed25519 key, under the name that follows from it.
func verify(s tls.ConnectionState) (ed25519.PublicKey, error) {
	if s.Version != tls.VersionTLS13 {
		return nil, fmt.Errorf("%w: TLS %#x; must be 1.3", ErrProtocol, s.Version)
	}
	if !slices.Contains([]string{ALPN, mqtt.ALPNKeep, mqtt.ALPNCall}, s.NegotiatedProtocol) {
		return nil, fmt.Errorf("%w: ALPN %.40q; must be %s", ErrProtocol, s.NegotiatedProtocol, ALPN)
	}
	if len(s.PeerCertificates) != 1 {
		return nil, fmt.Errorf("%w: %d certificates; must be one", ErrProtocol, len(s.PeerCertificates))
	}
	cert := s.PeerCertificates[0]
	key, ok := cert.PublicKey.(ed25519.PublicKey)
	if !ok {
		return nil, fmt.Errorf("%w: the certificate's key is no Ed25519 key", ErrProtocol)
	}
	if err := cert.CheckSignature(cert.SignatureAlgorithm, cert.RawTBSCertificate, cert.Signature); err != nil {
		return nil, fmt.Errorf("%w: the certificate is not signed by its own key", ErrProtocol)
	}
	if id := mqtt.Fingerprint(key); cert.Subject.CommonName != string(id) {
		return nil, fmt.Errorf("%w: the certificate names %.40q; its key is that of %s", ErrProtocol, cert.Subject.CommonName, id)
	}
	return key, nil
}

// DialTLS connects to a window at host:port. ErrNoWindow: somebody is there, and has none open.
func DialTLS(ctx context.Context, addr string, id mqtt.Identity) (Channel, error) {
	return dialTLS(ctx, addr, TLS(id))
}

// DialKeeper connects to a device that may keep the room, at host:port; knock is a server name that it takes (membership.KeeperKnock).
func DialKeeper(ctx context.Context, addr, knock string, id mqtt.Identity) (Channel, error) {
	conf := KeepTLS(id)
	conf.ServerName = knock
	return dialTLS(ctx, addr, conf)
}

func dialTLS(ctx context.Context, addr string, conf *tls.Config) (Channel, error) {
	ctx, cancel := context.WithTimeout(ctx, handshakeLimit)
	defer cancel()
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("%w: reach %s: %w", ErrLost, addr, err)
	}
	c := tls.Client(conn, conf)
	if err := c.HandshakeContext(ctx); err != nil {
		_ = conn.Close()
		if ctx.Err() != nil {
			return nil, fmt.Errorf("%w: %s: %w", ErrSlow, addr, err)
		}
		return nil, fmt.Errorf("%w: %s: %w", ErrNoWindow, addr, err)
	}
	return newTLSChannel(c)
}

// Accept makes the window's end of a channel, and closes conn if it cannot. It does the handshake if nobody has, within a
// bounded time; conn's settings must be TLS's.
func Accept(conn *tls.Conn) (Channel, error) {
	ctx, cancel := context.WithTimeout(context.Background(), handshakeLimit)
	defer cancel()
	if err := conn.HandshakeContext(ctx); err != nil {
		_ = conn.Close()
		return nil, fmt.Errorf("%w: %w", ErrProtocol, err)
	}
	return newTLSChannel(conn)
}

// tlsChannel is a Channel over a TLS connection: each frame with its length before it, in four bytes.
type tlsChannel struct {
	conn    *tls.Conn
	binding []byte
	peer    ed25519.PublicKey
	close   func() error // once
}

func newTLSChannel(conn *tls.Conn) (Channel, error) {
	state := conn.ConnectionState()
	peer, err := verify(state) // again: the settings may have been another's
	if err != nil {
		_ = conn.Close()
		return nil, err
	}
	binding, err := state.ExportKeyingMaterial(exporterLabel, nil, bindingSize)
	if err != nil {
		_ = conn.Close()
		return nil, fmt.Errorf("pairing: bind to the TLS session: %w", err)
	}
	c := &tlsChannel{conn: conn, binding: binding, peer: peer}
	c.close = sync.OnceValue(c.linger)
	return c, nil
}

func (c *tlsChannel) Binding() []byte         { return c.binding }
func (c *tlsChannel) Peer() ed25519.PublicKey { return c.peer }
func (c *tlsChannel) Close() error            { return c.close() }

func (c *tlsChannel) Send(frame []byte) error {
	if len(frame) > maxSealed {
		return fmt.Errorf("%w: a frame of %d bytes; at most %d", ErrProtocol, len(frame), maxSealed)
	}
	b := binary.BigEndian.AppendUint32(make([]byte, 0, 4+len(frame)), uint32(len(frame)))
	if err := c.conn.SetWriteDeadline(time.Now().Add(writeLimit)); err != nil {
		return err
	}
	_, err := c.conn.Write(append(b, frame...))
	return err
}

func (c *tlsChannel) Receive(ctx context.Context) ([]byte, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if err := c.conn.SetReadDeadline(time.Time{}); err != nil {
		return nil, err
	}
	woken := make(chan struct{})
	stop := context.AfterFunc(ctx, func() { defer close(woken); _ = c.conn.SetReadDeadline(time.Unix(1, 0)) })
	frame, err := readFrame(c.conn)
	if !stop() {
		<-woken // so that its deadline is not the next frame's
		if err != nil && errors.Is(err, os.ErrDeadlineExceeded) {
			return nil, ctx.Err()
		}
	}
	return frame, err
}

// readFrame takes the next frame from a stream, and no more of it. One that is announced too long is not read.
func readFrame(r io.Reader) ([]byte, error) {
	var head [4]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return nil, err
	}
	n := binary.BigEndian.Uint32(head[:])
	if n > maxSealed {
		return nil, fmt.Errorf("%w: a frame of %d bytes; at most %d", ErrProtocol, n, maxSealed)
	}
	frame := make([]byte, n)
	if _, err := io.ReadFull(r, frame); err != nil {
		return nil, err
	}
	return frame, nil
}

// linger ends the connection. To close it with something unread would reset it, and what was said last be lost: so the other
// end is given a moment to close first.
func (c *tlsChannel) linger() error {
	_ = c.conn.SetDeadline(time.Now().Add(lingerLimit))
	if c.conn.CloseWrite() == nil {
		_, _ = io.CopyN(io.Discard, c.conn, maxSealed)
	}
	return c.conn.NetConn().Close()
}
