package web

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/coder/websocket"

	"conch/device/config"
)

// scene is a door, and a page behind it, at a real port. What comes there seems to come over a network, unless the scene is at home.
type scene struct {
	*Door
	t       *testing.T
	at      string // where it listens in truth
	port    string
	host    string // of the page
	changed atomic.Int32
	now     atomic.Int64 // seconds that have passed
	begun   time.Time
	who     atomic.Pointer[peers]
}

// peers finds whose socket is at the other end.
type peers func(remote, local netip.AddrPort) (int, bool)

// users has another way of it from now on.
func (s *scene) users(f peers) { s.who.Store(&f) }

// here and there are the addresses of the page and of whoever calls from the network.
const (
	here  = "192.168.7.5"
	there = "192.168.7.9"
)

// far has connections come from there.
type far struct{ net.Listener }

func (l far) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return farConn{c}, nil
}

type farConn struct{ net.Conn }

func moved(a net.Addr, to string) net.Addr {
	return net.TCPAddrFromAddrPort(netip.AddrPortFrom(netip.MustParseAddr(to), uint16(a.(*net.TCPAddr).Port)))
}
func (c farConn) RemoteAddr() net.Addr { return moved(c.Conn.RemoteAddr(), there) }
func (c farConn) LocalAddr() net.Addr  { return moved(c.Conn.LocalAddr(), here) }
func (c farConn) CloseWrite() error    { return c.Conn.(*net.TCPConn).CloseWrite() }

// atHome is on this machine, whoever listens there.
func atHome(o *DoorOptions) { o.Web.Listen = "127.0.0.1:0" }

func nobody(netip.AddrPort, netip.AddrPort) (int, bool) { return 0, false }

// newScene begins one; without change it is at here, over a network, not encrypted. No user of this machine is known there.
func newScene(t *testing.T, change ...func(*DoorOptions)) *scene {
	t.Helper()
	s := &scene{t: t, host: here, begun: time.Now()}
	o := DoorOptions{
		Web: config.Web{Listen: "0.0.0.0:0", Talk: true}, Device: "kitchen", Names: func() []string { return []string{"kitchen", "kitchen.local"} }, Self: 4242, Group: -1, AuthorityDir: t.TempDir(),
		Now: func() time.Time { return s.begun.Add(time.Duration(s.now.Load()) * time.Second) },
	}
	for _, f := range change {
		f(&o)
	}
	d, err := NewDoor(o)
	if err != nil {
		t.Fatal(err)
	}
	s.users(nobody)
	s.Door, d.peer = d, func(remote, local netip.AddrPort) (int, bool) { return (*s.who.Load())(remote, local) }
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s.at = l.Addr().String()
	_, s.port, _ = net.SplitHostPort(s.at)
	if strings.HasPrefix(o.Web.Listen, "127.") {
		s.host = "127.0.0.1"
	} else {
		l = far{l}
	}
	d.open = opened{local: addrPort(l.Addr()).Port()}
	if s.host == here {
		d.open.network = netip.AddrPortFrom(netip.MustParseAddr(here), d.open.local)
	}
	srv := d.Server(s.behind())
	done := make(chan struct{})
	go func() { _ = srv.Serve(doorway{l, d}); close(done) }()
	t.Cleanup(func() { _ = srv.Close(); <-done })
	return s
}

func (s *scene) pass(d time.Duration) { s.now.Add(int64(d / time.Second)) }

// behind is what the door stands before.
func (s *scene) behind() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, r *http.Request) {
		body, _ := json.Marshal(VisitFrom(r.Context()))
		w.Header().Set("Content-Length", strconv.Itoa(len(body))) // of fixed length: its token is no secret to this visitor
		_, _ = w.Write(body)
	})
	mux.HandleFunc("POST /api/change", func(w http.ResponseWriter, r *http.Request) {
		s.changed.Add(1)
		_, _ = io.Copy(w, r.Body)
	})
	mux.Handle("/api/link", New(Options{Door: s.Door}).mux())
	mux.HandleFunc("GET /events", func(w http.ResponseWriter, r *http.Request) {
		release, err := s.Stream(VisitFrom(r.Context()))
		defer release()
		if err != nil {
			http.Error(w, err.Error(), http.StatusTooManyRequests)
			return
		}
		fmt.Fprint(w, "data: {}\n\n")
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	})
	mux.HandleFunc("GET /seat", New(Options{Door: s.Door, Stage: chairs{}}).talk)
	mux.HandleFunc("GET /talk", func(w http.ResponseWriter, r *http.Request) {
		v := VisitFrom(r.Context())
		release, err := s.Socket(v)
		defer release()
		if err != nil {
			http.Error(w, err.Error(), http.StatusTooManyRequests)
			return
		}
		c, err := websocket.Accept(w, r, &websocket.AcceptOptions{InsecureSkipVerify: true}) // the door has looked
		if err != nil {
			return
		}
		defer c.CloseNow()
		_, first, err := c.Read(r.Context())
		if err != nil || !v.TokenIs(string(first)) {
			return
		}
		s.changed.Add(1)
		_ = c.Write(r.Context(), websocket.MessageText, []byte("welcome"))
		_, _, _ = c.Read(r.Context())
	})
	return mux
}

// browser has cookies, and follows no redirect.
type browser struct {
	s    *scene
	c    *http.Client
	base string // of the page
}

func (s *scene) browser() *browser {
	jar, _ := cookiejar.New(nil)
	b := &browser{s: s, base: "http://" + net.JoinHostPort(s.host, s.port)}
	tr := &http.Transport{
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, "tcp", s.at)
		},
		TLSClientConfig: &tls.Config{},
	}
	if s.certs != nil {
		if root := s.certs.authority(); root != nil {
			tr.TLSClientConfig.RootCAs = x509.NewCertPool()
			tr.TLSClientConfig.RootCAs.AddCert(root)
		}
		b.base = strings.Replace(b.base, "http:", "https:", 1)
	}
	b.c = &http.Client{Transport: tr, Jar: jar, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	s.t.Cleanup(tr.CloseIdleConnections)
	return b
}

// answer is what came back.
type answer struct {
	status int
	body   string
	header http.Header
}

// do asks; header is name, value, … and Host sets that.
func (b *browser) do(method, path, body string, header ...string) answer {
	b.s.t.Helper()
	a, err := b.try(method, path, body, header...)
	if err != nil {
		b.s.t.Fatal(err)
	}
	return a
}

func (b *browser) try(method, path, body string, header ...string) (answer, error) {
	at := path
	if strings.HasPrefix(path, "/") {
		at = b.base + path
	}
	req, err := http.NewRequestWithContext(b.s.t.Context(), method, at, strings.NewReader(body))
	if err != nil {
		return answer{}, err
	}
	for i := 0; i < len(header); i += 2 {
		if header[i] == "Host" {
			req.Host = header[i+1]
		}
		req.Header.Add(header[i], header[i+1])
	}
	resp, err := b.c.Do(req)
	if err != nil {
		return answer{}, err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(io.LimitReader(resp.Body, 1<<20))
	return answer{resp.StatusCode, string(text), resp.Header}, err
}

// visit opens the page.
func (b *browser) visit() (v Visit, status int) {
	b.s.t.Helper()
	a := b.do("GET", "/", "")
	_ = json.Unmarshal([]byte(a.body), &v)
	return v, a.status
}

// change asks for something as the page does.
func (b *browser) change(token string, header ...string) int {
	b.s.t.Helper()
	if len(header) == 0 {
		header = []string{"Origin", b.base}
	}
	return b.do("POST", "/api/change", "x", append(header, TokenHeader, token)...).status
}

// path is that of a new link.
func (s *scene) path(look bool) string {
	s.t.Helper()
	l, err := s.Link(look)
	if err != nil {
		s.t.Fatal(err)
	}
	u, err := url.Parse(l.URL)
	if err != nil {
		s.t.Fatal(err)
	}
	return u.Path
}

// press presses the button of a link's page.
func (b *browser) press(path string) answer {
	b.s.t.Helper()
	return b.do("POST", path, "", "Origin", b.base)
}

// in is a browser that was let in.
func (s *scene) in(look bool) *browser {
	s.t.Helper()
	b := s.browser()
	if a := b.press(s.path(look)); a.status != http.StatusSeeOther || a.header.Get("Location") != "/" {
		s.t.Fatalf("let in: status %d: %s", a.status, a.body)
	}
	return b
}

// stream opens the events; ended is closed when they end.
func (b *browser) stream() (status int, ended <-chan struct{}) {
	b.s.t.Helper()
	req, _ := http.NewRequestWithContext(b.s.t.Context(), http.MethodGet, b.base+"/events", nil)
	resp, err := b.c.Do(req)
	if err != nil {
		b.s.t.Fatal(err)
	}
	done := make(chan struct{})
	if resp.StatusCode != http.StatusOK {
		_ = resp.Body.Close()
		close(done)
		return resp.StatusCode, done
	}
	lines := bufio.NewReader(resp.Body)
	if _, err := lines.ReadString('\n'); err != nil {
		b.s.t.Fatal(err)
	}
	var once sync.Once
	b.s.t.Cleanup(func() { _ = resp.Body.Close(); <-done })
	go func() {
		defer once.Do(func() { close(done) })
		_, _ = io.Copy(io.Discard, lines)
	}()
	return resp.StatusCode, done
}

// socket opens that to talk by.
func (b *browser) socket(header ...string) (*websocket.Conn, int, error) {
	h := http.Header{}
	for i := 0; i < len(header); i += 2 {
		h.Add(header[i], header[i+1])
	}
	c, resp, err := websocket.Dial(b.s.t.Context(), b.base+"/talk", &websocket.DialOptions{HTTPClient: b.c, HTTPHeader: h}) //nolint:bodyclose // it has closed it
	status := 0
	if resp != nil {
		status = resp.StatusCode
	}
	return c, status, err
}

// within fails where something does not happen: the bound is for what hangs.
func within(t *testing.T, what string, c <-chan struct{}) {
	t.Helper()
	select {
	case <-c:
	case <-time.After(10 * time.Second):
		t.Errorf("%s: not within ten seconds", what)
	}
}

// set makes buckets of another size.
func (b *buckets) set(rate, burst float64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.rate, b.burst = rate, burst
	clear(b.of)
}
