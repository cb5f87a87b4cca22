package membership

import (
	"crypto/ed25519"
	"crypto/subtle"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"strings"
	"time"

	"conch/companions/round"
	"conch/mqtt"
	"conch/mqtt/broker"
)

// door is who comes in, and what this device shows at others'.
type door struct {
	*book
	loopback string
	knocks   knocks // at the listener
}

// BrokerTLS is for the broker's listener to the network (broker.Network); nil unless this device keeps the room. What it shows and believes is
// looked up for each connection, so that a renewed certificate needs no restart. Whether a device is still a member is not asked
// here but by Admits, whose refusal the device understands.
func (d *door) BrokerTLS() *tls.Config {
	if !d.IsHost() || d.Room().Foreign {
		return nil
	}
	return &tls.Config{
		MinVersion:             tls.VersionTLS13,
		NextProtos:             []string{mqtt.ALPNRoom},
		SessionTicketsDisabled: true,
		ClientAuth:             tls.RequireAnyClientCert, // and VerifyConnection looks at it, by this room's rules
		GetCertificate: func(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
			c, room := d.creds.Load(), d.Room()
			if c == nil || room == nil {
				return nil, ErrNotPaired
			}
			if now := time.Now(); !d.knocks.good(c, hello.ServerName, now) && d.knocks.all(room, d.id.ID()) {
				return d.knocks.nameless(now)
			}
			return &c.pair, nil
		},
		VerifyConnection: func(s tls.ConnectionState) error {
			id, err := d.peer(&s, x509.ExtKeyUsageClientAuth)
			if err == nil && strings.HasSuffix(s.ServerName, knockSuffix) {
				d.knocks.came(id)
			}
			return err
		},
	}
}

// ClientTLS is for the connection to the room's host: it knows the host by its key, not by a name, for it may be at any address.
func (d *door) ClientTLS() (*tls.Config, error) {
	c := d.creds.Load()
	if c == nil {
		return nil, ErrNotPaired
	}
	return &tls.Config{
		MinVersion: tls.VersionTLS13,
		NextProtos: []string{mqtt.ALPNRoom},
		ServerName: newKnock(c),
		GetClientCertificate: func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
			return &c.pair, nil
		},
		InsecureSkipVerify: true, // only the comparison of names: VerifyConnection does all the rest
		VerifyConnection: func(s tls.ConnectionState) error {
			id, err := d.peer(&s, x509.ExtKeyUsageServerAuth)
			if err != nil {
				return err
			}
			if room := d.Room(); room == nil || id != room.Host {
				return ErrOtherHost
			}
			return nil
		},
	}, nil
}

// peer says who is at the other end.
func (d *door) peer(s *tls.ConnectionState, usage x509.ExtKeyUsage) (round.DeviceID, error) {
	c := d.creds.Load()
	if c == nil {
		return "", ErrNotPaired
	}
	if s.Version < tls.VersionTLS13 || len(s.PeerCertificates) == 0 {
		return "", errors.New("membership: no certificate under TLS 1.3")
	}
	id, err := c.verify(d.verifyAt(), s.PeerCertificates[0], usage)
	if err != nil {
		return "", fmt.Errorf("membership: %w", err)
	}
	return id, nil
}

// Loopback is the user and the password with which this device comes to its own broker's plain listener (mqtt.Config). The password is as old as
// this Membership, and nowhere else.
func (d *door) Loopback() (user, password string) { return loopbackUser, d.loopback }

// loopbackUser is there because a password needs one (MQTT 3.1.1, 3.1.2.9).
const loopbackUser = "host"

// Admits says whether a device that has said who it is may use the broker (broker.Config.Admit): the list decides, at every
// connection. A member that was expected is confirmed by coming. At the plain listener there is this device itself, and nobody else who is on
// this computer: it shows what Loopback gives.
func (m *Membership) Admits(p broker.Peer) error {
	room := m.Room()
	if room == nil {
		return ErrNotPaired
	}
	if p.TLS == nil {
		a, ok := p.Remote.(*net.TCPAddr)
		if !ok || !a.IP.IsLoopback() || p.Device != m.id.ID() || subtle.ConstantTimeCompare(p.Password, []byte(m.loopback)) != 1 {
			return fmt.Errorf("%w: without a certificate", ErrStranger)
		}
		return nil
	}
	if len(p.TLS.PeerCertificates) == 0 {
		return fmt.Errorf("%w: without a certificate", ErrStranger)
	}
	key, ok := p.TLS.PeerCertificates[0].PublicKey.(ed25519.PublicKey)
	if !ok || mqtt.Fingerprint(key) != p.Device {
		return ErrNotItsName
	}
	member, ok := room.Member(p.Device)
	if !ok {
		return ErrStranger
	}
	m.came()
	m.post(func() { m.Confirm(member.ID) })
	return nil
}
