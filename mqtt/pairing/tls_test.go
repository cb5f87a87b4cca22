package pairing

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"io"
	"math/big"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"conch/mqtt"
)

// patience is how long a test waits for what must happen; nothing is measured by it.
const patience = 30 * time.Second

// listen opens a port of loopback.
func listen(t testing.TB) net.Listener {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// door opens a window with its own port, and returns where.
func (h *host) door(t testing.TB) string {
	t.Helper()
	l := listen(t)
	ended := make(chan error, 1)
	go func() { ended <- ServeTLS(context.Background(), l, h.id, &Door{}, h.Window) }()
	t.Cleanup(func() {
		h.Close()
		if err := <-ended; err != nil {
			t.Errorf("ServeTLS: %v", err)
		}
	})
	return l.Addr().String()
}

// dial joins through a door, and tries again while it is busy.
func (g *guest) dial(t testing.TB, addr string) (Party, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for {
		ch, err := DialTLS(ctx, addr, g.id)
		if err != nil {
			return Party{}, err
		}
		p, err := g.enter(ctx, ch)
		if !errors.Is(err, ErrBusy) || ctx.Err() != nil {
			return p, err
		}
		select {
		case <-time.After(50 * time.Millisecond):
		case <-ctx.Done():
		}
	}
}

// TestTLS is a pairing over TLS on loopback; when it is over, nobody listens any more.
func TestTLS(t *testing.T) {
	h, g := open(t, nil), newGuest(t, "bedroom")
	addr := h.door(t)
	p, err := g.dial(t, addr)
	if err != nil || p.Device != h.id.ID() || len(g.kept) != 1 || g.kept[0] != "welcome bedroom" {
		t.Fatalf("%v, %v, %q", p, err, g.kept)
	}
	if err := <-h.ran; err != nil || len(h.stored) != 1 || !h.stored[0].Key.Equal(g.id.PublicKey()) {
		t.Fatalf("%v; stored %v", err, h.stored)
	}
	for deadline := time.Now().Add(patience); ; { // the listener closes with the window, not before its last word
		ch, err := DialTLS(t.Context(), addr, g.id)
		if err != nil {
			break
		}
		_ = ch.Close()
		if time.Now().After(deadline) {
			t.Fatal("a closed window still listens")
		}
	}
}

// TestBinding: both ends of a session have the same binding and the other's key; no two sessions have the same.
func TestBinding(t *testing.T) {
	a, b := identity(t), identity(t)
	seen := map[string]bool{}
	for range 3 {
		j, w := session(t, a, b)
		if string(j.Binding()) != string(w.Binding()) || len(j.Binding()) != bindingSize || seen[string(j.Binding())] {
			t.Errorf("bindings %x, %x", j.Binding(), w.Binding())
		}
		seen[string(j.Binding())] = true
		if !j.Peer().Equal(b.PublicKey()) || !w.Peer().Equal(a.PublicKey()) {
			t.Error("another's key")
		}
	}
}

// session is a TLS session between two devices, closed with the test.
func session(t testing.TB, joiner, window mqtt.Identity) (Channel, Channel) {
	t.Helper()
	l := listen(t)
	defer func() { _ = l.Close() }()
	type result struct {
		ch  Channel
		err error
	}
	accepted := make(chan result, 1)
	go func() {
		conn, err := l.Accept()
		if err != nil {
			accepted <- result{err: err}
			return
		}
		ch, err := Accept(tls.Server(conn, TLS(window)))
		accepted <- result{ch, err}
	}()
	j, err := DialTLS(t.Context(), l.Addr().String(), joiner)
	r := <-accepted
	if err != nil || r.err != nil {
		t.Fatal(err, r.err)
	}
	t.Cleanup(func() { _ = j.Close(); _ = r.ch.Close() })
	return j, r.ch
}

// TestRelayTLS: two real sessions, and somebody between them who has the keys of neither.
func TestRelayTLS(t *testing.T) {
	h, g, mallory := open(t, nil), newGuest(t, "bedroom"), identity(t)
	addr := h.door(t)
	toWindow, err := DialTLS(t.Context(), addr, mallory)
	if err != nil {
		t.Fatal(err)
	}
	j, toJoiner := session(t, g.id, mallory)
	pass := func(from, to Channel) {
		for {
			f, err := from.Receive(t.Context())
			if err != nil {
				_ = to.Close()
				return
			}
			_ = to.Send(f)
		}
	}
	go pass(toJoiner, toWindow)
	go pass(toWindow, toJoiner)
	if _, err := g.enter(t.Context(), j); !errors.Is(err, ErrProtocol) {
		t.Errorf("relayed: %v", err)
	}
	if len(h.kinds()) > 0 || len(h.admitted) > 0 || len(g.kept) > 0 {
		t.Errorf("events %v, admitted %v, kept %v", h.kinds(), h.admitted, g.kept)
	}
	if _, err := g.dial(t, addr); err != nil {
		t.Fatal(err)
	}
}

// TestSlowloris: connections that never finish a handshake, that do and then say nothing, and that send a byte now and then, more
// of each than there are places: an honest joiner still gets in.
func TestSlowloris(t *testing.T) {
	h, g := open(t, nil), newGuest(t, "bedroom")
	addr := h.door(t)
	for range 3 * maxHandshakes {
		conn, err := net.Dial("tcp", addr)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = conn.Close() }()
		_, _ = conn.Write([]byte{22, 3, 1}) // the beginning of a record
	}
	for range 2 * maxServed {
		conn, err := tls.Dial("tcp", addr, TLS(identity(t)))
		if err != nil {
			continue // its handshake gave way to another
		}
		defer func() { _ = conn.NetConn().Close() }()
		go func() { // a frame of 4 KiB, byte by byte
			_, _ = conn.Write([]byte{0, 0, 16, 0})
			tick := time.NewTicker(100 * time.Millisecond)
			defer tick.Stop()
			for range tick.C {
				if _, err := conn.Write([]byte("x")); err != nil {
					return
				}
			}
		}()
	}
	for {
		_, err := g.dial(t, addr)
		if err == nil {
			break
		}
		if !errors.Is(err, ErrLost) { // a handshake is never refused: the oldest one gives way
			t.Fatal(err)
		}
		select {
		case <-time.After(50 * time.Millisecond):
		case err := <-h.ran:
			t.Fatalf("the window closed before an honest joiner came in: %v", err)
		}
	}
	if err := <-h.ran; err != nil || len(h.admitted) != 1 {
		t.Fatal(err)
	}
}

// TestLastWordArrives: what was said before the end is heard, although the other end was still sending.
func TestLastWordArrives(t *testing.T) {
	for range 20 {
		j, w := session(t, identity(t), identity(t))
		go func() { _ = w.Send([]byte("busy")); _ = w.Close() }()
		for range 8 {
			if j.Send(make([]byte, MaxFrame)) != nil {
				break
			}
		}
		if f, err := j.Receive(t.Context()); err != nil || string(f) != "busy" {
			t.Fatalf("%q, %v", f, err)
		}
		if _, err := j.Receive(t.Context()); !errors.Is(err, io.EOF) {
			t.Fatalf("after the end: %v", err)
		}
	}
}

// TestFramesOverTLS: bounds in both directions, and a wait that ends does not spoil the next frame.
func TestFramesOverTLS(t *testing.T) {
	j, w := session(t, identity(t), identity(t))
	ctx, cancel := context.WithCancel(t.Context())
	waited := make(chan error, 1)
	go func() { _, err := w.Receive(ctx); waited <- err }()
	cancel()
	wantErr(t, <-waited, context.Canceled)
	if err := j.Send(make([]byte, maxSealed)); err != nil {
		t.Fatal(err)
	}
	if f, err := w.Receive(t.Context()); err != nil || len(f) != maxSealed {
		t.Fatalf("%d bytes, %v", len(f), err)
	}
	wantErr(t, j.Send(make([]byte, maxSealed+1)), ErrProtocol)
	if _, err := j.(*tlsChannel).conn.Write([]byte{0, 1, 0, 0}); err != nil { // 64 KiB are announced
		t.Fatal(err)
	}
	_, err := w.Receive(t.Context())
	wantErr(t, err, ErrProtocol)
}

// files writes a certificate and its key for openssl.
func files(t *testing.T, der []byte, key any) (cert, private string) {
	t.Helper()
	dir := t.TempDir()
	cert, private = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	b, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	for path, block := range map[string]*pem.Block{cert: {Type: "CERTIFICATE", Bytes: der}, private: {Type: "PRIVATE KEY", Bytes: b}} {
		if err := os.WriteFile(path, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return cert, private
}

// leaf is a certificate for key that another key has signed.
func leaf(t *testing.T, name string, key ed25519.PublicKey, by ed25519.PrivateKey) []byte {
	t.Helper()
	template := &x509.Certificate{SerialNumber: big.NewInt(7), Subject: pkix.Name{CommonName: name}, NotAfter: time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC)}
	parent := &x509.Certificate{SerialNumber: big.NewInt(8), Subject: pkix.Name{CommonName: "a CA"}}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, key, by)
	if err != nil {
		t.Fatal(err)
	}
	return der
}

// TestOpenSSL: OpenSSL's client is turned away without a certificate, with a stranger's, with TLS 1.2 and without this protocol's
// name; with a device's own certificate it gets through the door, and its HTTP ends that run. The window loses no try by any of it.
func TestOpenSSL(t *testing.T) {
	openssl, err := exec.LookPath("openssl")
	if err != nil {
		t.Skipf("%v; on Debian: apt-get install openssl", err)
	}
	h := open(t, nil)
	l := listen(t)
	served := make(chan error, 1)
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			ch, err := Accept(tls.Server(conn, TLS(h.id)))
			if err != nil {
				served <- err
				continue
			}
			served <- errors.Join(errThrough, h.Serve(context.Background(), ch))
		}
	}()
	defer func() { _ = l.Close() }()

	me, other := identity(t), identity(t)
	own, err := selfSigned(me)
	if err != nil {
		t.Fatal(err)
	}
	mine, myKey := files(t, own.Certificate[0], me.PrivateKey())
	foreign, foreignKey := files(t, leaf(t, string(me.ID()), me.PublicKey(), other.PrivateKey()), me.PrivateKey())
	borrowed, borrowedKey := files(t, leaf(t, string(h.id.ID()), me.PublicKey(), me.PrivateKey()), me.PrivateKey())
	ec, ecKey := filepath.Join(t.TempDir(), "ec.pem"), filepath.Join(t.TempDir(), "ec.key")
	if out, err := exec.Command(openssl, "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "3000",
		"-subj", "/CN="+string(me.ID()), "-out", ec, "-keyout", ecKey).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for _, c := range []struct {
		name    string
		args    []string
		through bool
	}{
		{"no certificate", []string{"-tls1_3", "-alpn", ALPN}, false},
		{"another kind of key", []string{"-tls1_3", "-alpn", ALPN, "-cert", ec, "-key", ecKey}, false},
		{"another's name", []string{"-tls1_3", "-alpn", ALPN, "-cert", borrowed, "-key", borrowedKey}, false},
		{"signed by somebody", []string{"-tls1_3", "-alpn", ALPN, "-cert", foreign, "-key", foreignKey}, false},
		{"TLS 1.2", []string{"-tls1_2", "-alpn", ALPN, "-cert", mine, "-key", myKey}, false},
		{"another protocol", []string{"-tls1_3", "-alpn", "mqtt", "-cert", mine, "-key", myKey}, false},
		{"no protocol", []string{"-tls1_3", "-cert", mine, "-key", myKey}, false},
		{"its own certificate", []string{"-tls1_3", "-alpn", ALPN, "-cert", mine, "-key", myKey}, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			defer cancel()
			cmd := exec.CommandContext(ctx, openssl, append([]string{"s_client", "-quiet", "-connect", l.Addr().String()}, c.args...)...)
			in, err := cmd.StdinPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			_, _ = io.WriteString(in, "GET / HTTP/1.1\r\nHost: conch\r\n\r\n")
			select {
			case err = <-served:
			case <-ctx.Done():
				t.Fatal("the window did not decide")
			}
			if !errors.Is(err, ErrProtocol) || errors.Is(err, errThrough) != c.through {
				t.Errorf("%v", err)
			}
			_ = in.Close()
			_ = cmd.Wait()
		})
	}
	if len(h.kinds()) > 0 || len(h.admitted) > 0 {
		t.Errorf("events %v, admitted %v", h.kinds(), h.admitted)
	}
	h.works(t)
}

var errThrough = errors.New("it came through the door")

// TestBadServer: a joiner shows its confirmation to nobody who has not shown to own the key of a device's name, by TLS 1.3, for this protocol.
func TestBadServer(t *testing.T) {
	id := identity(t)
	for name, change := range map[string]func(*tls.Config){
		"TLS 1.2":          func(c *tls.Config) { c.MinVersion, c.MaxVersion = tls.VersionTLS12, tls.VersionTLS12 },
		"another protocol": func(c *tls.Config) { c.NextProtos = []string{"mqtt"} },
		"no protocol":      func(c *tls.Config) { c.NextProtos = nil },
		"another's name": func(c *tls.Config) {
			c.GetCertificate = nil
			c.Certificates = []tls.Certificate{{Certificate: [][]byte{leaf(t, string(identity(t).ID()), id.PublicKey(), id.PrivateKey())}, PrivateKey: id.PrivateKey()}}
		},
	} {
		l := listen(t)
		conf := TLS(id)
		change(conf)
		done := make(chan struct{})
		go func() {
			defer close(done)
			if conn, err := l.Accept(); err == nil {
				c := tls.Server(conn, conf)
				_ = c.Handshake()
				_, _ = io.Copy(io.Discard, c)
				_ = conn.Close()
			}
		}()
		if ch, err := DialTLS(t.Context(), l.Addr().String(), identity(t)); !errors.Is(err, ErrNoWindow) {
			t.Errorf("%s: %v, %v", name, ch, err)
		}
		_ = l.Close()
		<-done
	}
	l := listen(t)
	addr := l.Addr().String()
	_ = l.Close()
	_, err := DialTLS(t.Context(), addr, id)
	wantErr(t, err, ErrLost)
}
