package mqtt

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"math/big"
	"net"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// authority issues certificates for both ends.
type authority struct {
	pool *x509.CertPool
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

func newAuthority(t testing.TB) *authority {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	tmpl := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "room"}, NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true}
	der, err := x509.CreateCertificate(rand.Reader, tmpl, tmpl, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	a := &authority{x509.NewCertPool(), cert, key}
	a.pool.AddCert(cert)
	return a
}

func (a *authority) issue(t testing.TB, id Identity) tls.Certificate {
	t.Helper()
	tmpl := &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: string(id.id)}, NotAfter: time.Now().Add(time.Hour),
		DNSNames: []string{"room"}, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth, x509.ExtKeyUsageServerAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, tmpl, a.cert, id.key.Public(), a.key)
	if err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: id.key}
}

func (a *authority) server(t testing.TB) *tls.Config {
	return &tls.Config{Certificates: []tls.Certificate{a.issue(t, fixed(1))}, ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: a.pool}
}

func (a *authority) client(t testing.TB, id Identity) func() (*tls.Config, error) {
	conf := &tls.Config{Certificates: []tls.Certificate{a.issue(t, id)}, RootCAs: a.pool, ServerName: "room", NextProtos: []string{ALPNRoom}}
	return func() (*tls.Config, error) { return conf, nil }
}

func at(addr string) func(context.Context) []string {
	return func(context.Context) []string { return []string{addr} }
}

func TestTheDoorRoutesByWhatIsSpoken(t *testing.T) {
	a := newAuthority(t)
	window := make(chan *tls.Config, 1) // holds the open window
	paired := make(chan string, 1)
	b := embedded(t, BrokerConfig{Network: &Network{
		Listen: "127.0.0.1:0", TLS: a.server(t),
		Pairing: func() *tls.Config {
			select {
			case c := <-window:
				window <- c
				return c
			default:
				return nil
			}
		},
		Pair: func(c net.Conn) {
			buf := make([]byte, 16)
			n, _ := c.Read(buf)
			paired <- string(buf[:n]) + " " + c.(*tls.Conn).ConnectionState().NegotiatedProtocol
		},
	}})
	addr := b.NetworkAddr().String()
	d := start(t, Config{Identity: fixed(2), Addresses: at(addr), TLS: a.client(t, fixed(2))}).up()
	if got := b.Clients(); len(got) != 1 || got[0] != d.ID() {
		t.Errorf("%v", got)
	}
	dial := func() (*tls.Conn, error) {
		return tls.Dial("tcp", addr, &tls.Config{InsecureSkipVerify: true, NextProtos: []string{ALPNPair}, MinVersion: tls.VersionTLS13})
	}
	if c, err := dial(); err == nil {
		_ = c.Close()
		t.Error("pairing without a window")
	}
	window <- &tls.Config{Certificates: []tls.Certificate{a.issue(t, fixed(1))}}
	c, err := dial()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Write([]byte("hello")); err != nil {
		t.Fatal(err)
	}
	if got := await(t, paired, "the pairing"); got != "hello "+ALPNPair {
		t.Errorf("%q", got)
	}
	_ = c.Close()
	<-window
	if c, err := dial(); err == nil {
		_ = c.Close()
		t.Error("pairing after the window")
	}
	if got := b.Clients(); len(got) != 1 {
		t.Errorf("%v", got)
	}
}

func TestADoorWithoutCertificatesIsNotOpened(t *testing.T) {
	a := newAuthority(t)
	for name, conf := range map[string]*tls.Config{"no TLS": nil, "no client's certificate": {Certificates: []tls.Certificate{a.issue(t, fixed(1))}}} {
		if b, err := NewBroker(BrokerConfig{Network: &Network{Listen: "127.0.0.1:0", TLS: conf}}); err == nil {
			b.Close()
			t.Errorf("%s: open", name)
		}
	}
	b := embedded(t, BrokerConfig{Network: &Network{Listen: "127.0.0.1:0", TLS: a.server(t)}})
	_, err := NewBroker(BrokerConfig{Network: &Network{Listen: b.NetworkAddr().String(), TLS: a.server(t)}})
	if err == nil || !strings.Contains(err.Error(), "choose another one") {
		t.Errorf("%v", err)
	}
}

// Connections that say nothing, from many addresses, and more of them than the door takes: a member comes in all the same.
func TestStrangersDoNotKeepMembersOut(t *testing.T) {
	a := newAuthority(t)
	b := embedded(t, BrokerConfig{Network: &Network{Listen: "127.0.0.1:0", TLS: a.server(t)}})
	addr := b.NetworkAddr().String()
	for i := range 200 {
		from := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 1, byte(1+i/10))}}
		c, err := from.Dial("tcp", addr)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = c.Close() }()
	}
	d := start(t, Config{Identity: fixed(2), Addresses: at(addr), TLS: a.client(t, fixed(2))}).up()
	if n := d.Stats().Connects; n != 1 {
		t.Errorf("%d connections", n)
	}
	b.network.gate.mu.Lock()
	strangers, open := len(b.network.gate.strangers), len(b.network.gate.open)
	b.network.gate.mu.Unlock()
	if strangers > maxStrangers || open > maxStrangers+1 {
		t.Errorf("%d strangers of %d connections", strangers, open)
	}
	// One address alone cannot even use them up.
	for range maxFromOne + 8 {
		c, err := net.Dial("tcp", addr)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = c.Close() }()
	}
	out, _ := exec.Command("openssl", "s_client", "-connect", addr).CombinedOutput()
	if strings.Contains(string(out), "BEGIN CERTIFICATE") {
		t.Errorf("one more of the same address is served: %s", out)
	}
}

// The first address is dead, the second one somebody else's, the third one says nothing.
func TestTheBrokerIsFoundAmongAddresses(t *testing.T) {
	a, other := newAuthority(t), newAuthority(t)
	b := embedded(t, BrokerConfig{Network: &Network{Listen: "127.0.0.1:0", TLS: a.server(t)}})
	foreign := embedded(t, BrokerConfig{Network: &Network{Listen: "127.0.0.1:0", TLS: other.server(t)}})
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = silent.Close() }()
	reached := make(chan string, 4)
	addr := b.NetworkAddr().String()
	start(t, Config{
		Identity: fixed(2), TLS: a.client(t, fixed(2)), OnReached: func(s string) { reached <- s },
		Addresses: func(context.Context) []string {
			return []string{"127.0.0.1:1", foreign.NetworkAddr().String(), silent.Addr().String(), addr}
		},
	}).up()
	if got := await(t, reached, "where it was"); got != addr {
		t.Errorf("%s; want %s", got, addr)
	}
	d := start(t, Config{Identity: fixed(3), TLS: a.client(t, fixed(3)), Addresses: func(context.Context) []string { return nil }})
	if err := await(t, d.trouble, "trouble"); !strings.Contains(err.Error(), ErrNoAddress.Error()) {
		t.Errorf("%v", err)
	}
	if _, err := NewClient(Config{Room: "kitchen", Identity: fixed(3), Addresses: at(addr), OnPacket: d.cfg.OnPacket}); err == nil {
		t.Error("a client that would take any broker")
	}
}
