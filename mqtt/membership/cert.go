package membership

import (
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base32"
	"errors"
	"fmt"
	"math/big"
	"time"

	"conch/companions/round"
	"conch/mqtt"
)

// How long certificates last.
const (
	day       = 24 * time.Hour
	caLife    = 30 * 365 * day
	leafLife  = 2 * 365 * day
	blindLife = 10 * 365 * day // made by a host without a clock: it cannot know when the two years are over
	blindFrom = 3 * 365 * day  // a leaf that lasts longer than this was made like that
)

// credentials are a device's certificates, read once.
type credentials struct {
	ca, leaf *x509.Certificate
	pool     *x509.CertPool
	pair     tls.Certificate
}

// credentials reads the record's certificates and checks that they are this device's and each other's.
func (r *record) credentials(id mqtt.Identity) (*credentials, error) {
	ca, err := parseCert(r.CA)
	if err != nil {
		return nil, fmt.Errorf("the room's certificate: %w", err)
	}
	if !ca.IsCA || ca.CheckSignatureFrom(ca) != nil {
		return nil, errors.New("the room's certificate is none")
	}
	leaf, err := parseCert(r.Cert)
	if err != nil {
		return nil, fmt.Errorf("this device's certificate: %w", err)
	}
	if leaf.CheckSignatureFrom(ca) != nil || !sameKey(leaf, id) || leaf.Subject.CommonName != string(id.ID()) {
		return nil, errors.New("this device's certificate is not over its key, or not of this room")
	}
	c := &credentials{ca: ca, leaf: leaf, pool: x509.NewCertPool()}
	c.pool.AddCert(ca)
	c.pair = tls.Certificate{Certificate: [][]byte{leaf.Raw}, PrivateKey: id.PrivateKey(), Leaf: leaf}
	return c, nil
}

func parseCert(der []byte) (*x509.Certificate, error) {
	if len(der) == 0 || len(der) > maxCert {
		return nil, fmt.Errorf("%d bytes; want 1 to %d", len(der), maxCert)
	}
	return x509.ParseCertificate(der)
}

func newRoomID() string {
	var b [10]byte
	_, _ = rand.Read(b[:]) // never fails (crypto/rand)
	const letters = "abcdefghijklmnopqrstuvwxyz234567"
	return "r" + base32.NewEncoding(letters).WithPadding(base32.NoPadding).EncodeToString(b[:])[:roomIDLen-1]
}

func serial() *big.Int {
	var b [16]byte
	_, _ = rand.Read(b[:])
	b[0] &= 0x7f
	return new(big.Int).SetBytes(b[:])
}

// newCA makes the room's authority.
func newCA(room string, from time.Time) (*ecdsa.PrivateKey, *x509.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, fmt.Errorf("make the room's key: %w", err)
	}
	from = from.UTC().Truncate(time.Second)
	t := &x509.Certificate{
		SerialNumber: serial(), Subject: pkix.Name{CommonName: "conch room " + room},
		NotBefore: from, NotAfter: from.Add(caLife),
		IsCA: true, BasicConstraintsValid: true, MaxPathLenZero: true, KeyUsage: x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, t, t, key.Public(), key)
	if err != nil {
		return nil, nil, fmt.Errorf("make the room's certificate: %w", err)
	}
	ca, err := x509.ParseCertificate(der)
	return key, ca, err
}

// newLeaf makes a device's certificate: for both ends of a connection, since any member may be a client, and the host a server.
func newLeaf(ca *x509.Certificate, caKey *ecdsa.PrivateKey, key ed25519.PublicKey, from, until time.Time) ([]byte, error) {
	if until.After(ca.NotAfter) {
		until = ca.NotAfter
	}
	t := &x509.Certificate{
		SerialNumber: serial(), Subject: pkix.Name{CommonName: string(mqtt.Fingerprint(key))},
		NotBefore: from.UTC().Truncate(time.Second), NotAfter: until.UTC().Truncate(time.Second),
		BasicConstraintsValid: true, KeyUsage: x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth, x509.ExtKeyUsageServerAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, t, ca, key, caKey)
	if err != nil {
		return nil, fmt.Errorf("make a device's certificate: %w", err)
	}
	return der, nil
}

// verify says which device shows a certificate, if it is one of this room's.
//
// Nobody's clock has to be right for that: it is at least as late as the very certificate says that is looked at, for the room's authority
// has signed it. So a certificate is never too new here; it can be too old.
func (c *credentials) verify(now time.Time, peer *x509.Certificate, usage x509.ExtKeyUsage) (round.DeviceID, error) {
	key, ok := peer.PublicKey.(ed25519.PublicKey)
	if !ok || peer.IsCA {
		return "", ErrOtherRoom
	}
	if peer.CheckSignatureFrom(c.ca) != nil {
		return "", ErrOtherRoom
	}
	for _, t := range []time.Time{c.ca.NotBefore, peer.NotBefore} {
		if t.After(now) {
			now = t
		}
	}
	if _, err := peer.Verify(x509.VerifyOptions{Roots: c.pool, CurrentTime: now, KeyUsages: []x509.ExtKeyUsage{usage}}); err != nil {
		return "", err
	}
	id := mqtt.Fingerprint(key)
	if peer.Subject.CommonName != string(id) {
		return "", ErrNotItsName
	}
	return id, nil
}

// due says whether a certificate should be renewed: half of its life is over, or it was made without a clock.
func due(c *x509.Certificate, now time.Time) bool {
	life := c.NotAfter.Sub(c.NotBefore)
	return life > blindFrom || now.Sub(c.NotBefore) > life/2
}
