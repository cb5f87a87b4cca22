package membership

import (
	"bytes"
	"crypto/tls"
	"testing"
	"time"
)

// shown is the certificate that a client is shown which says this server name, and whether it is let in with what it has.
func shown(t *testing.T, host *device, conf *tls.Config) (cert []byte, in bool) {
	t.Helper()
	conf = conf.Clone()
	conf.InsecureSkipVerify, conf.VerifyConnection = true, nil
	conn, err := tls.Dial("tcp", host.network(), conf)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	cert = conn.ConnectionState().PeerCertificates[0].Raw
	_ = conn.SetDeadline(time.Now().Add(300 * time.Millisecond)) // under TLS 1.3 the refusal comes behind the handshake; who is let in hears nothing
	_, err = conn.Read(make([]byte, 1))
	timeout, _ := err.(interface{ Timeout() bool })
	return cert, timeout != nil && timeout.Timeout()
}

// TestStrangersAreShownNoName: who reaches the listener and is no member learns neither device nor room from its certificate, nor a key by which to
// know them again; a recorded knock helps for a moment only; a member whose conch is older comes in while there may be one.
func TestStrangersAreShownNoName(t *testing.T) {
	host, m := room(t, "kitchen")
	kitchen := m[0]
	names := [][]byte{[]byte(host.id.ID()), []byte(host.Room().ID), []byte(kitchen.id.ID()), host.id.PublicKey()}
	named := func(cert []byte) bool {
		for _, n := range names {
			if bytes.Contains(cert, n) {
				return true
			}
		}
		return false
	}
	until(t, "the member has knocked", func() bool { return host.knocks.all(host.Room(), host.id.ID()) })
	member, err := kitchen.ClientTLS()
	if err != nil {
		t.Fatal(err)
	}
	if cert, in := shown(t, host, member); !named(cert) || !in {
		t.Errorf("a member's knock: named %v, let in %v", named(cert), in)
	}

	stranger := &tls.Config{}
	first, in := shown(t, host, stranger)
	if named(first) || in {
		t.Errorf("a stranger: named %v, let in %v", named(first), in)
	}
	forged := &tls.Config{ServerName: member.ServerName[:len(member.ServerName)-7] + "x" + knockSuffix}
	if cert, _ := shown(t, host, forged); named(cert) {
		t.Error("a forged knock is shown the name")
	}
	host.knocks.mu.Lock() // an hour later
	host.knocks.until = time.Now().Add(-time.Second)
	for nonce := range host.knocks.used {
		host.knocks.used[nonce] = time.Now().Add(-time.Hour)
	}
	host.knocks.mu.Unlock()
	if again, _ := shown(t, host, stranger); named(again) || bytes.Equal(again, first) {
		t.Error("a stranger is shown the same certificate an hour later")
	}
	if cert, _ := shown(t, host, &tls.Config{ServerName: member.ServerName}); named(cert) {
		t.Error("a recorded knock is shown the name")
	}

	older := member.Clone()
	older.ServerName = ""
	if cert, _ := shown(t, host, older); named(cert) {
		t.Error("nobody here has an older conch, and the name is shown to who does not knock")
	}
	pair(t, host, fresh(t, Clock{}), "attic") // never came: it may be an older one
	if cert, in := shown(t, host, older); !named(cert) || !in {
		t.Errorf("an older member: named %v, let in %v", named(cert), in)
	}
}
