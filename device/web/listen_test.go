package web

import (
	"bufio"
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"conch/device/config"
)

func door(t *testing.T, web config.Web) *Door {
	t.Helper()
	d, err := NewDoor(DoorOptions{Web: web, Names: func() []string { return []string{"kitchen.local"} }, Self: -1, Group: -1, AuthorityDir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func closeAll(list []net.Listener) {
	for _, l := range list {
		_ = l.Close()
	}
}

// The default gives way where its port is taken; what somebody has chosen is refused with what to do.
func TestAPortThatIsTaken(t *testing.T) {
	taken, err := net.Listen("tcp", config.DefaultWebListen)
	if err == nil {
		defer taken.Close() // else somebody else has it, which does as well
	}
	d := door(t, config.Web{Listen: config.DefaultWebListen})
	list, err := d.Listen()
	if err != nil || len(list) != 1 || len(d.Pages()) != 1 || !strings.HasPrefix(d.Pages()[0], "http://127.0.0.1:") || strings.Contains(d.Pages()[0], ":7485/") {
		t.Errorf("%v %v", d.Pages(), err)
	}
	closeAll(list)
	own, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer own.Close()
	for at, want := range map[string]string{
		own.Addr().String(): "set web.listen to another port",
		"203.0.113.77:7485": "this device has no such address",
		"127.0.0.1":         "HOST:PORT",
	} {
		if list, err := door(t, config.Web{Listen: at}).Listen(); err == nil || list != nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v %v", at, list, err)
		}
	}
	if list, err := door(t, config.Web{}).Listen(); list != nil || err != nil {
		t.Errorf("no page: %v %v", list, err)
	}
}

// What is wrong with a page is over without a restart: a port that is taken, a certificate that does not fit.
func TestWhatIsMendedOpens(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	dir := t.TempDir()
	w := config.Web{Listen: taken.Addr().String(), Cert: filepath.Join(dir, "cert.pem"), Key: filepath.Join(dir, "key.pem")}
	troubles := make(chan error)
	ctx, cancel := context.WithCancel(t.Context())
	s := New(Options{Door: door(t, w), Log: slog.New(slog.DiscardHandler), Patient: true, Trouble: func(err error) {
		select {
		case troubles <- err:
		case <-ctx.Done():
		}
	}})
	s.again = time.Millisecond
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }() // awaited below
	until := func(what string, is func(error) bool) {
		t.Helper()
		for limit := time.After(10 * time.Second); ; {
			select {
			case err := <-troubles:
				if is(err) {
					return
				}
			case <-limit:
				t.Fatalf("it is never told: %s", what)
			}
		}
	}
	until("taken", func(err error) bool { return errors.Is(err, syscall.EADDRINUSE) })
	_ = taken.Close()
	until("the certificate", func(err error) bool { return err != nil && strings.HasPrefix(err.Error(), "web.cert: ") })
	own(t, dir, same)
	until("mended", func(err error) bool { return err == nil })
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// Where the page listens to the network it is on this machine as well, and a link leads to where others are.
func TestWhereItListens(t *testing.T) {
	loop := door(t, config.Web{Listen: "localhost:0"})
	list, err := loop.Listen()
	if err != nil || len(loop.Pages()) != 1 {
		t.Errorf("%v %v", err, loop.Pages())
	}
	closeAll(list)
	if l, err := loop.Link(false); err != nil || l.Reach != ReachMachine || len(l.Others) != 0 {
		t.Errorf("%+v %v", l, err)
	}
	for _, at := range []string{"127.0.1.1", "::1"} { // other names of this machine: the page is said to be where it is
		d := door(t, config.Web{Listen: net.JoinHostPort(at, "0")})
		list, err := d.Listen()
		if err != nil && at == "::1" {
			t.Logf("%s: %v", at, err) // a machine without IPv6
			continue
		}
		if err != nil || len(list) != 1 || len(d.Pages()) != 1 || d.Pages()[0] != "http://"+list[0].Addr().String()+"/" {
			t.Errorf("%s: %v %v", at, d.Pages(), err)
		}
		if l, err := d.Link(false); err != nil || !strings.HasPrefix(l.URL, "http://"+list[0].Addr().String()+"/in/") || l.Reach != ReachMachine {
			t.Errorf("%s: %+v %v", at, l, err)
		}
		closeAll(list)
	}
	all := door(t, config.Web{Listen: "0.0.0.0:0"})
	list, err = all.Listen()
	if err != nil || len(list) != 1 || !strings.HasPrefix(all.Pages()[0], "http://127.0.0.1:") {
		t.Fatalf("%v %v", err, all.Pages())
	}
	closeAll(list)
	l, err := all.Link(false)
	if err != nil || l.Reach != ReachReadable || strings.Contains(l.URL, "127.0.0.1") || !strings.Contains(strings.Join(append(l.Others, l.URL), " "), "http://kitchen.local:") {
		t.Errorf("%+v %v", l, err)
	}
	// An authority speaks for a house: a link to an address of the public would be one to a warning.
	for at, want := range map[string]string{"203.0.113.7": "kitchen.local", "192.168.7.5": "192.168.7.5"} {
		d := door(t, config.Web{Listen: "0.0.0.0:0", Authority: true})
		d.open = opened{local: 7485, network: netip.AddrPortFrom(netip.MustParseAddr(at), 7485)}
		if l, err := d.Link(false); err != nil || !strings.HasPrefix(l.URL, "https://"+want+":7485/in/") || len(l.Others) != 0 {
			t.Errorf("%s: %+v %v", at, l, err)
		}
	}
	own := slices.DeleteFunc(ownAddresses(), func(a netip.Addr) bool { return !ofAHouse(a) || a.IsLinkLocalUnicast() })
	if len(own) == 0 {
		t.Skip("this machine has no address of a house besides loopback")
	}
	one := door(t, config.Web{Listen: net.JoinHostPort(own[0].String(), "0"), Authority: true})
	list, err = one.Listen()
	if err != nil || len(list) != 2 {
		t.Fatalf("%v %v", err, list)
	}
	defer closeAll(list)
	if l, err := one.Link(false); err != nil || !strings.HasPrefix(l.URL, "https://"+net.JoinHostPort(own[0].String(), "")) || l.Reach != ReachEncrypted {
		t.Errorf("%+v %v", l, err)
	}
}

// wire is one end of a connection without a kernel, so that time can be virtual.
type wire struct {
	net.Conn
	remote, local netip.AddrPort
}

func (w wire) RemoteAddr() net.Addr { return net.TCPAddrFromAddrPort(w.remote) }
func (w wire) LocalAddr() net.Addr  { return net.TCPAddrFromAddrPort(w.local) }

// wires is a listener of them.
type wires struct {
	c    chan net.Conn
	done chan struct{}
}

func (w wires) Accept() (net.Conn, error) {
	select {
	case c := <-w.c:
		return c, nil
	case <-w.done:
		return nil, net.ErrClosed
	}
}
func (w wires) Close() error   { close(w.done); return nil }
func (w wires) Addr() net.Addr { return &net.TCPAddr{} }

// Whoever sends a byte now and then is hung up on: while the header comes within five seconds, the body within ten; so is a handshake that
// does not come to its end. A page that is let in, and waits, stays.
func TestSlowLoris(t *testing.T) {
	head := "POST /in/" + strings.Repeat("a", 26) + " HTTP/1.1\r\nHost: " + here + ":7485\r\nOrigin: http://" + here + ":7485\r\n"
	for name, c := range map[string]struct {
		text  string // dripped, a byte a second, for ever
		whole string // sent before
		tls   bool
		most  time.Duration
		says  string
	}{
		"header":         {head + "X-More: " + strings.Repeat("x", 1000), "", false, headerTime, ""},
		"nothing":        {"", "", false, headerTime, ""},
		"body":           {strings.Repeat("x", 1000), head + "Content-Length: 1000\r\n\r\n", false, bodyTime, "could not be read"},
		"body in chunks": {strings.Repeat("1\r\nx\r\n", 1000), head + "Transfer-Encoding: chunked\r\n\r\n", false, bodyTime, "could not be read"},
		"handshake":      {strings.Repeat("\x01", 1000), "\x16\x03\x01\x02\x00", true, headerTime, ""},
		"no handshake":   {"", "\x16", true, headerTime, ""},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			synctest.Test(t, func(t *testing.T) {
				d, err := NewDoor(DoorOptions{Web: config.Web{Listen: "0.0.0.0:7485", Authority: c.tls}, AuthorityDir: dir, Group: -1})
				if err != nil {
					t.Fatal(err)
				}
				in := wires{make(chan net.Conn), make(chan struct{})}
				srv := d.Server(http.NotFoundHandler())
				go func() { _ = srv.Serve(doorway{in, d}) }()
				defer srv.Close()
				us, them := net.Pipe()
				in.c <- wire{them, netip.MustParseAddrPort(there + ":5000"), netip.MustParseAddrPort(here + ":7485")}
				begun := time.Now()
				said := make(chan string, 1)
				go func() { text, _ := io.ReadAll(us); said <- string(text); us.Close() }()
				_, _ = io.WriteString(us, c.whole)
				var drips sync.WaitGroup
				defer drips.Wait()
				drips.Go(func() {
					for _, b := range []byte(c.text) {
						time.Sleep(time.Second)
						if _, err := us.Write([]byte{b}); err != nil {
							return
						}
					}
				})
				answer := <-said
				if passed := time.Since(begun); passed > c.most+2*time.Second || !strings.Contains(answer, c.says) {
					t.Errorf("after %v: %q", passed, answer)
				}
				if d.network.all != 0 {
					t.Errorf("%d connections are counted", d.network.all)
				}
			})
		})
	}
}

// A request that was read in time may be answered for as long as it takes: nothing of the door ends it.
func TestALongAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, err := NewDoor(DoorOptions{Web: config.Web{Listen: "127.0.0.1:7485"}, Self: 7, Group: -1})
		if err != nil {
			t.Fatal(err)
		}
		d.peer = func(netip.AddrPort, netip.AddrPort) (int, bool) { return 7, true }
		in := wires{make(chan net.Conn), make(chan struct{})}
		srv := d.Server(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			select {
			case <-time.After(3 * time.Minute):
				_, _ = io.WriteString(w, "answered")
			case <-r.Context().Done():
				_, _ = io.WriteString(w, "given up")
			}
		}))
		go func() { _ = srv.Serve(doorway{in, d}) }()
		defer srv.Close()
		us, them := net.Pipe()
		in.c <- wire{them, netip.MustParseAddrPort("127.0.0.1:5000"), netip.MustParseAddrPort("127.0.0.1:7485")}
		defer us.Close()
		_, _ = io.WriteString(us, "POST /api/ask HTTP/1.1\r\nHost: localhost:7485\r\nOrigin: http://localhost:7485\r\nX-Conch-Token: "+d.token([]byte("local-7"))+
			"\r\nContent-Length: 2\r\n\r\nxy")
		resp, err := http.ReadResponse(bufio.NewReader(us), nil)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		text, _ := io.ReadAll(resp.Body)
		if resp.StatusCode != http.StatusOK || string(text) != "answered" {
			t.Errorf("%d %s", resp.StatusCode, text)
		}
	})
}

// A handler that is not behind Server knows nobody: it is closed, not open.
func TestWithoutItsServer(t *testing.T) {
	d := door(t, config.Web{Listen: "127.0.0.1:0"})
	d.peer = func(netip.AddrPort, netip.AddrPort) (int, bool) { return 0, true }
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	srv := &http.Server{Handler: d.Wrap(http.NotFoundHandler())}
	done := make(chan struct{})
	go func() { _ = srv.Serve(l); close(done) }()
	defer func() { srv.Close(); <-done }()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	req, _ := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+l.Addr().String()+"/", nil)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	http.DefaultClient.CloseIdleConnections()
	if resp.StatusCode != http.StatusMisdirectedRequest {
		t.Errorf("%d", resp.StatusCode)
	}
	if v := VisitFrom(t.Context()); v != (Visit{}) || v.TokenIs("") {
		t.Errorf("%+v", v)
	}
}

// A host that is called otherwise while conch runs is reached by its new name, and no more by the old one.
func TestTheHostIsRenamed(t *testing.T) {
	d := door(t, config.Web{Listen: "127.0.0.1:7485"})
	for _, row := range []struct {
		now, asked string
		ok         bool
	}{{"kitchen.local", "kitchen.local", true}, {"kitchen.local", "hall.local", false}, {"hall.local", "Hall.local", true}, {"hall.local", "kitchen.local", false}} {
		d.o.Names = func() []string { return []string{row.now} }
		r := httptest.NewRequest(http.MethodGet, "http://"+row.asked+":7485/", http.NoBody)
		if _, _, ok := d.hostOf(r, arrival{port: 7485}); ok != row.ok {
			t.Errorf("%s, now %s: %v", row.asked, row.now, ok)
		}
	}
}
