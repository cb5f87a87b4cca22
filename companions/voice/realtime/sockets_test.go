package realtime_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"log/slog"
	"math/big"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"
	"golang.org/x/sys/unix"

	"conch/companions/voice/realtime"
	"conch/coordinator/turn"
)

// Lines as they are: real sockets, TLS, slow ones, and one whose other end goes away without a word. Which session lives
// and which is given up is asserted; how long that took is only told.

// The certificate of these tests is trusted from the beginning: the system's are read once.
func init() {
	dir, err := os.MkdirTemp("", "realtime")
	if err != nil {
		panic(err)
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		panic(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		panic(err)
	}
	certificate = tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
	path := filepath.Join(dir, "ca.pem")
	if err := os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o600); err != nil {
		panic(err)
	}
	_ = os.Setenv("SSL_CERT_FILE", path)
	if _, err := x509.SystemCertPool(); err != nil { // read once, now
		panic(err)
	}
	_ = os.RemoveAll(dir)
}

var certificate tls.Certificate

// lineTest is a client, and a server that answers as the test says.
type lineTest struct {
	t      *testing.T
	c      *realtime.Client
	facts  chan turn.Event
	heard  chan int
	start  time.Time
	mu     sync.Mutex
	under  *net.TCPConn                         // the latest, at the server
	on     func(c *websocket.Conn, kind string) // after what the server does by itself
	pongs  bool
	tls    bool
	limit  int                                                     // bytes a second each way; 0: none
	listen func() (net.Listener, error)                            // nil: on loopback
	dial   func(context.Context, string, string) (net.Conn, error) // nil: the client's own
}

func (l *lineTest) Post(ev turn.Event) { l.facts <- ev }
func (l *lineTest) Audio(_ context.Context, _ turn.ID, pcm []int16) int {
	l.heard <- len(pcm)
	return len(pcm)
}
func (l *lineTest) Now() time.Duration { return time.Since(l.start) }

func (l *lineTest) run() {
	l.facts, l.heard, l.start = make(chan turn.Event, 65536), make(chan int, 65536), time.Now()
	if l.listen == nil {
		l.listen = func() (net.Listener, error) { return net.Listen("tcp", "127.0.0.1:0") }
	}
	ln, err := l.listen()
	if err != nil {
		l.t.Fatal(err)
	}
	scheme, addr := "ws", ln.Addr().String()
	var served net.Listener = &slowListener{ln, l}
	if l.tls {
		scheme, served = "wss", tls.NewListener(served, &tls.Config{Certificates: []tls.Certificate{certificate}})
	}
	ctx, cancel := context.WithCancel(context.Background())
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { l.serve(ctx, w, r) }), ErrorLog: slog.NewLogLogger(slog.DiscardHandler, 0)}
	logTo := slog.DiscardHandler
	if os.Getenv("REALTIME_LOG") != "" {
		logTo = slog.NewTextHandler(os.Stderr, nil)
	}
	l.c, err = realtime.New(realtime.Config{URL: scheme + "://" + addr + "/v1/realtime", Dial: l.dial, Log: slog.New(logTo)})
	if err != nil {
		l.t.Fatal(err)
	}
	var wg sync.WaitGroup
	wg.Go(func() { _ = server.Serve(served) })
	wg.Go(func() { _ = l.c.Run(ctx, l) })
	l.t.Cleanup(func() { cancel(); _ = server.Close(); wg.Wait() })
	l.await("ready", func(ev turn.Event) bool { _, ok := ev.(turn.SessionReady); return ok })
}

func (l *lineTest) serve(ctx context.Context, w http.ResponseWriter, r *http.Request) {
	c, err := websocket.Accept(w, r, &websocket.AcceptOptions{OnPingReceived: func(context.Context, []byte) bool { return l.pongs }})
	if err != nil {
		return
	}
	defer func() { _ = c.CloseNow() }()
	c.SetReadLimit(1 << 24)
	say(c, map[string]any{"type": "session.created"})
	for n := 0; ; n++ {
		_, b, err := c.Read(ctx)
		if err != nil {
			return
		}
		var ev struct{ Type string }
		_ = json.Unmarshal(b, &ev)
		switch ev.Type {
		case "session.update":
			say(c, map[string]any{"type": "session.updated"})
		case "input_audio_buffer.commit":
			if l.on != nil {
				l.on(c, ev.Type)
			}
			say(c, map[string]any{"type": "input_audio_buffer.committed", "item_id": fmt.Sprint("u", n)})
			continue
		}
		if l.on != nil {
			l.on(c, ev.Type)
		}
	}
}

func say(c *websocket.Conn, ev any) {
	b, _ := json.Marshal(ev)
	_ = c.Write(context.Background(), websocket.MessageText, b)
}

// answer is one of so many seconds of speech, as fast as the line takes it.
func answer(c *websocket.Conn, id string, seconds int) {
	say(c, map[string]any{"type": "response.created", "response": map[string]any{"id": id}})
	delta := base64.StdEncoding.EncodeToString(make([]byte, 9600)) // 200 ms
	for range 5 * seconds {
		say(c, map[string]any{"type": "response.output_audio.delta", "response_id": id, "item_id": "i", "delta": delta})
	}
	say(c, map[string]any{"type": "response.done", "response": map[string]any{"id": id, "status": "completed"}})
}

// ask commits an utterance and asks for the answer.
func (l *lineTest) ask(id turn.ID, pcm int) {
	l.c.Do(turn.ClearInput{Turn: id})
	l.c.Append(id, make([]int16, pcm))
	l.c.Do(turn.CommitInput{Turn: id})
	l.c.Do(turn.CreateResponse{Turn: id})
}

// await waits for a fact; losing the session meanwhile fails the test, unless it is what is waited for.
func (l *lineTest) await(what string, is func(turn.Event) bool) {
	l.t.Helper()
	patience := time.After(90 * time.Second)
	for {
		select {
		case ev := <-l.facts:
			if is(ev) {
				l.t.Logf("%s after %v", what, time.Since(l.start).Round(100*time.Millisecond))
				return
			}
			if e, ok := ev.(turn.SessionLost); ok {
				l.t.Fatalf("the session was lost (%s) after %v, while waiting for: %s", e.Say, time.Since(l.start).Round(100*time.Millisecond), what)
			}
		case <-patience:
			l.t.Fatalf("not %s", what)
		}
	}
}

func answered(id turn.ID) func(turn.Event) bool {
	return func(ev turn.Event) bool {
		e, ok := ev.(turn.ResponseDone)
		return ok && e.Turn == id && e.Status == turn.ResponseCompleted
	}
}

func lost(ev turn.Event) bool  { _, ok := ev.(turn.SessionLost); return ok }
func ready(ev turn.Event) bool { _, ok := ev.(turn.SessionReady); return ok }

// slowListener makes connections of so many bytes a second each way, with small buffers, as behind a bad radio.
type slowListener struct {
	net.Listener
	*lineTest
}

func (l *slowListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	t := c.(*net.TCPConn)
	l.mu.Lock()
	l.under = t
	l.mu.Unlock()
	if l.limit > 0 {
		_ = t.SetReadBuffer(16 << 10)
		_ = t.SetWriteBuffer(16 << 10)
		c = &slowConn{Conn: c, limit: l.limit}
	}
	return c, nil
}

type slowConn struct {
	net.Conn
	limit int
}

func (c *slowConn) wait(n int) { time.Sleep(time.Duration(n) * time.Second / time.Duration(c.limit)) } // a line that is slow

func (c *slowConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b[:min(len(b), 4096)])
	c.wait(n)
	return n, err
}

func (c *slowConn) Write(b []byte) (int, error) {
	for at := 0; at < len(b); at += 4096 {
		n := min(4096, len(b)-at)
		if _, err := c.Conn.Write(b[at : at+n]); err != nil {
			return at, err
		}
		c.wait(n)
	}
	return len(b), nil
}

func TestLines(t *testing.T) {
	cases := []struct {
		name string
		run  func(t *testing.T)
	}{
		{"slow down", func(t *testing.T) { // the pong stands behind eight seconds of speech
			l := &lineTest{t: t, pongs: true, limit: 100_000}
			l.on = func(c *websocket.Conn, kind string) {
				if kind == "response.create" {
					answer(c, "r1", 14)
				}
			}
			l.run()
			l.ask("t-1", 24000)
			l.await("answered", answered("t-1"))
		}},
		{"slow up", func(t *testing.T) { // what was said is eight seconds on the line, and the ping behind it
			l := &lineTest{t: t, pongs: true, limit: 100_000}
			l.on = func(c *websocket.Conn, kind string) {
				if kind == "response.create" {
					answer(c, "r1", 1)
				}
			}
			l.run()
			l.ask("t-1", 8*24000)
			l.await("answered", answered("t-1"))
		}},
		{"slow, TLS", func(t *testing.T) {
			l := &lineTest{t: t, pongs: true, limit: 100_000, tls: true}
			l.on = func(c *websocket.Conn, kind string) {
				if kind == "response.create" {
					answer(c, "r1", 14)
				}
			}
			l.run()
			l.ask("t-1", 24000)
			l.await("answered", answered("t-1"))
		}},
		{"busy", func(t *testing.T) { // it reads nothing and says nothing for six seconds
			l := &lineTest{t: t, pongs: true}
			l.on = func(c *websocket.Conn, kind string) {
				switch kind {
				case "input_audio_buffer.commit":
					time.Sleep(6 * time.Second) // a server that is busy
				case "response.create":
					answer(c, "r1", 1)
				}
			}
			l.run()
			l.ask("t-1", 24000)
			l.await("answered", answered("t-1"))
		}},
		{"no pongs", func(t *testing.T) {
			l := &lineTest{t: t}
			l.on = func(c *websocket.Conn, kind string) {
				if kind == "response.create" {
					answer(c, "r1", 1)
				}
			}
			l.run()
			time.Sleep(11 * time.Second) // longer than a ping is waited for
			l.ask("t-1", 24000)
			l.await("answered", answered("t-1"))
		}},
		{"black hole", func(t *testing.T) {
			l, island := newIsland(t)
			l.run()
			island(t, "addr", "del")
			l.await("noticed", lost)
			island(t, "addr", "add")
			l.await("back", ready)
		}},
		{"black hole while it is asked", func(t *testing.T) {
			l, island := newIsland(t)
			l.on = func(c *websocket.Conn, kind string) {
				if kind == "response.create" {
					answer(c, "r1", 1)
				}
			}
			l.run()
			island(t, "addr", "del")
			l.ask("t-1", 24000)
			l.await("noticed", lost)
			island(t, "addr", "add")
			l.await("back", ready)
			l.await("answered", answered("t-1")) // what was said is sent again
		}},
		{"half open", func(t *testing.T) { // the other end has forgotten the connection, and could not say so
			l, island := newIsland(t)
			l.run()
			island(t, "addr", "del")
			l.mu.Lock()
			_ = l.under.SetLinger(0)
			_ = l.under.Close()
			l.mu.Unlock()
			island(t, "addr", "add")
			l.await("noticed", lost)
			l.await("back", ready)
		}},
	}
	var wg sync.WaitGroup
	for _, c := range cases { // they wait most of the time
		wg.Go(func() { t.Run(c.name, c.run) })
	}
	wg.Wait()
}

const islandAddress = "10.99.99.9"

// newIsland has the server listen in a network of its own, whose address can be taken away: nothing goes either way then,
// and nobody is told.
func newIsland(t *testing.T) (*lineTest, func(t *testing.T, args ...string)) {
	t.Helper()
	ip, err := exec.LookPath("ip")
	if err != nil {
		t.Skip("no ip command (package iproute2)")
	}
	jobs := make(chan func())
	up := make(chan error)
	go func() {
		runtime.LockOSThread() // never unlocked: the thread is in another network and ends with the goroutine
		if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
			up <- err
			return
		}
		up <- nil
		for f := range jobs {
			f()
		}
	}()
	if err := <-up; errors.Is(err, unix.EPERM) {
		t.Skip("no right to make a network namespace")
	} else if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { close(jobs) })
	there := func(f func()) {
		done := make(chan struct{})
		jobs <- func() { defer close(done); f() }
		<-done
	}
	do := func(t *testing.T, args ...string) {
		t.Helper()
		if args[0] == "addr" {
			args = append(args, islandAddress+"/32", "dev", "lo")
		}
		there(func() {
			if out, err := exec.Command(ip, args...).CombinedOutput(); err != nil { // inherits the thread's network
				t.Errorf("ip %v: %v: %s", args, err, out)
			}
		})
	}
	do(t, "link", "set", "lo", "up")
	do(t, "addr", "add")
	return &lineTest{
		t: t, pongs: true,
		listen: func() (ln net.Listener, err error) {
			there(func() { ln, err = net.Listen("tcp", islandAddress+":0") })
			return ln, err
		},
		dial: func(ctx context.Context, network, addr string) (c net.Conn, err error) {
			there(func() { c, err = (&net.Dialer{Timeout: time.Second}).DialContext(ctx, network, addr) })
			return c, err
		},
	}, do
}
