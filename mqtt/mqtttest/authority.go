package mqtttest

import (
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"math/big"
	"testing"
	"time"

	"conch/companions/round"
)

// Authority issues certificates for both ends.
type Authority struct {
	Cert *x509.Certificate
	pool *x509.CertPool
	key  *ecdsa.PrivateKey
}

// Holder is whose certificate it is, a mqtt.Identity.
type Holder interface {
	ID() round.DeviceID
	PrivateKey() ed25519.PrivateKey
}

// NewAuthority makes one with a key of its own.
func NewAuthority(t testing.TB) *Authority {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	tmpl := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "room"}, NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, tmpl, tmpl, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	a := &Authority{cert, x509.NewCertPool(), key}
	a.pool.AddCert(cert)
	return a
}

// Issue makes a certificate that is good for an hour, for a client and for the server "room".
func (a *Authority) Issue(t testing.TB, id Holder) tls.Certificate {
	t.Helper()
	tmpl := &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: string(id.ID())}, NotAfter: time.Now().Add(time.Hour),
		DNSNames: []string{"room"}, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth, x509.ExtKeyUsageServerAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, tmpl, a.Cert, id.PrivateKey().Public(), a.key)
	if err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: id.PrivateKey()}
}

// Server is the configuration of a broker with that key.
func (a *Authority) Server(t testing.TB, id Holder) *tls.Config {
	return &tls.Config{Certificates: []tls.Certificate{a.Issue(t, id)}, ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: a.pool}
}

// Client is that of a member with that key (mqtt.Config.TLS).
func (a *Authority) Client(t testing.TB, id Holder) func() (*tls.Config, error) {
	conf := &tls.Config{Certificates: []tls.Certificate{a.Issue(t, id)}, RootCAs: a.pool, ServerName: "room", NextProtos: []string{"mqtt"}}
	return func() (*tls.Config, error) { return conf, nil }
}
