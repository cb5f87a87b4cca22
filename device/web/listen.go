package web

import (
	"bytes"
	"cmp"
	"crypto/tls"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"

	"conch/device/config"
	"conch/device/redact"
	"conch/device/system"
)

// opened is where the page listens.
type opened struct {
	local   uint16         // port on this machine; 0: none
	here    string         // its address there; empty: 127.0.0.1
	network netip.AddrPort // elsewhere; not valid: nowhere, unspecified: at all addresses
}

// Listen opens web.listen, and besides it this machine's own 127.0.0.1. Over a network it answers encrypted where there is a certificate,
// on the same port, and says where else it is to whoever does not encrypt. The default address gives way where it is taken. No listener:
// there is to be no page. An error says what to do.
func (d *Door) Listen() (list []net.Listener, err error) {
	at := d.o.Web.Listen
	if at == "" {
		return nil, nil
	}
	host, port, err := net.SplitHostPort(at)
	if err != nil {
		return nil, fmt.Errorf("web.listen: %w (HOST:PORT, as in %s)", err, config.DefaultWebListen)
	}
	if host == "localhost" {
		host = "127.0.0.1"
	}
	first, err := net.Listen("tcp", net.JoinHostPort(host, port))
	if system.Is(err, syscall.EADDRINUSE) && at == config.DefaultWebListen {
		first, err = net.Listen("tcp", net.JoinHostPort(host, "0"))
	}
	if err != nil {
		return nil, d.notOpened(at, err)
	}
	list = append(list, first)
	bound := addrPort(first.Addr())
	open := opened{local: bound.Port()}
	if bound.Addr().IsLoopback() {
		open.here = bound.Addr().String() // ::1, or 127.0.1.1, by which Debian calls a host: nothing answers at 127.0.0.1 then
	} else {
		open.network = bound
	}
	if !bound.Addr().IsLoopback() && !bound.Addr().IsUnspecified() {
		own, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(int(bound.Port()))))
		if err != nil {
			_ = first.Close()
			return nil, d.notOpened("127.0.0.1:"+strconv.Itoa(int(bound.Port())), err)
		}
		list = append(list, own)
	}
	d.mu.Lock()
	d.open = open
	d.mu.Unlock()
	for i, l := range list {
		list[i] = doorway{l, d}
	}
	return list, nil
}

// notOpened says why a page cannot listen, and what to do.
func (d *Door) notOpened(at string, err error) error {
	setting := cmp.Or(d.o.Setting, "web.listen")
	do := "set " + setting + " to an address of this device, as in " + config.DefaultWebListen
	switch {
	case system.Is(err, syscall.EADDRINUSE):
		do = "something else listens there, and ss -ltnp says what: end it, or set " + setting + " to another port"
	case system.Is(err, syscall.EADDRNOTAVAIL):
		do = "this device has no such address: set " + setting + " to one that it has, or to 0.0.0.0 for all of them"
	case system.Is(err, syscall.EACCES):
		do = "ports below 1024 are the system's: set " + setting + " to another one"
	}
	return fmt.Errorf("web: the page cannot be opened at %s: %w (%s)", at, err, do)
}

// Server serves next behind the door, at what Listen gives. What a handler writes over a long time needs deadlines of its own: there is
// none here.
func (d *Door) Server(next http.Handler) *http.Server {
	return &http.Server{
		Handler: redact.Handler(d.Wrap(next)), ReadHeaderTimeout: headerTime, IdleTimeout: idleTime, MaxHeaderBytes: maxHeader, ConnContext: d.withConnection,
		ErrorLog: slog.NewLogLogger(d.o.Log.Handler(), slog.LevelDebug), // of those who hang up, mostly
	}
}

// doorway counts who comes in, and finds out who encrypts.
type doorway struct {
	net.Listener
	d *Door
}

func (l doorway) Accept() (net.Conn, error) {
	for {
		c, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		if release, ok := l.d.admit(addrPort(c.RemoteAddr()).Addr()); ok {
			gone := make(chan struct{})
			return &sniffed{Conn: c, certs: l.d.certs, gone: gone, release: sync.OnceFunc(func() { close(gone); release() })}, nil
		}
		_ = c.Close()
	}
}

// admit counts a connection, or says that it is one too many. The network cannot take those of this machine.
func (d *Door) admit(from netip.Addr) (release func(), ok bool) {
	if from.IsLoopback() {
		return d.local.add("", maxLocal, maxLocal)
	}
	key := limitKey(from)
	if d.callers.take(key, d.o.Now()) > 0 {
		return nil, false
	}
	return d.network.add(key, maxNetwork, maxOfOneAddress)
}

// sniffed is a connection that is encrypted if its first byte says so. The server's first read finds out, within the server's bounds.
type sniffed struct {
	net.Conn
	certs   *certs // nil: nothing is encrypted
	release func()
	gone    chan struct{} // closed with it

	begun bool // by the goroutine that reads
	plain io.Reader
	tls   atomic.Pointer[tls.Conn]
}

// handshake is the first byte of TLS (RFC 8446, 5.1), and of no request.
const handshake = 22

func (s *sniffed) encrypted() bool { return s.tls.Load() != nil }

func (s *sniffed) Read(p []byte) (int, error) {
	if !s.begun {
		if err := s.begin(); err != nil {
			return 0, err
		}
	}
	if t := s.tls.Load(); t != nil {
		return t.Read(p)
	}
	return s.plain.Read(p)
}

func (s *sniffed) begin() error {
	s.plain = s.Conn
	if s.certs == nil {
		s.begun = true
		return nil
	}
	var first [1]byte
	if _, err := io.ReadFull(s.Conn, first[:]); err != nil {
		return err
	}
	s.begun = true
	s.plain = io.MultiReader(bytes.NewReader(first[:]), s.Conn)
	if first[0] == handshake {
		s.tls.Store(tls.Server(readAhead{s.Conn, s.plain}, s.certs.config()))
	}
	return nil
}

func (s *sniffed) Write(p []byte) (int, error) {
	if t := s.tls.Load(); t != nil {
		return t.Write(p)
	}
	return s.Conn.Write(p)
}

func (s *sniffed) Close() error {
	s.release()
	if t := s.tls.Load(); t != nil {
		return t.Close()
	}
	return s.Conn.Close()
}

// CloseWrite is asked for by the server that has refused something, so that the answer is read.
func (s *sniffed) CloseWrite() error {
	if t := s.tls.Load(); t != nil {
		return t.CloseWrite()
	}
	if c, ok := s.Conn.(interface{ CloseWrite() error }); ok {
		return c.CloseWrite()
	}
	return nil
}

// readAhead is a connection of which something was read already.
type readAhead struct {
	net.Conn
	from io.Reader
}

func (c readAhead) Read(p []byte) (int, error) { return c.from.Read(p) }

// Pages are the addresses of the page, that of this machine first. None: it is not open.
func (d *Door) Pages() []string {
	d.mu.Lock()
	open := d.open
	d.mu.Unlock()
	if open.local == 0 {
		return nil
	}
	list := []string{base("http", cmp.Or(open.here, "127.0.0.1"), open.local)}
	if open.network.IsValid() && d.Check() == nil {
		scheme := "http"
		if d.certs != nil {
			scheme = "https"
		}
		for _, host := range d.hosts(open.network.Addr()) {
			list = append(list, base(scheme, host, open.network.Port()))
		}
	}
	return list
}

func base(scheme, host string, port uint16) string {
	return scheme + "://" + net.JoinHostPort(host, strconv.Itoa(int(port))) + "/"
}

// linkBases are where a link leads to: to the network, where the page is there.
func (d *Door) linkBases() []string {
	all := d.Pages()
	if len(all) > 1 {
		return all[1:]
	}
	return all
}

func (d *Door) reach() Reach {
	switch all := d.Pages(); {
	case len(all) < 2:
		return ReachMachine
	case d.certs == nil:
		return ReachReadable
	}
	return ReachEncrypted
}

// hosts are what browsers of the network can call this page, the surest first. With a certificate it is only what that counts for.
func (d *Door) hosts(at netip.Addr) []string {
	if own := d.certs.own(); len(own) > 0 {
		return own
	}
	addresses, names := []netip.Addr{at}, d.o.Names()
	if at.IsUnspecified() {
		addresses = ownAddresses()
	}
	if d.certs != nil {
		addresses = slices.DeleteFunc(addresses, func(a netip.Addr) bool { return !ofAHouse(a) })
		names = houseNames(names)
	}
	var list []string
	for _, a := range addresses {
		if !at.IsUnspecified() || a.Is4() || at.Is6() && !a.IsLinkLocalUnicast() { // that of a link is none without its zone
			list = append(list, a.String())
		}
	}
	for _, name := range names {
		if at.IsUnspecified() && strings.Contains(name, ".") || len(list) == 0 {
			list = append(list, name)
		}
	}
	return list
}

// maxAddresses of a device are looked at.
const maxAddresses = 16

// ownAddresses are those of this device, but for loopback; those of a house first, and those of IPv4.
func ownAddresses() (list []netip.Addr) {
	all, err := net.InterfaceAddrs()
	if err != nil {
		return nil
	}
	for _, one := range all {
		n, ok := one.(*net.IPNet)
		if !ok {
			continue
		}
		if a, ok := netip.AddrFromSlice(n.IP); ok && !a.Unmap().IsLoopback() && len(list) < maxAddresses {
			list = append(list, a.Unmap())
		}
	}
	slices.SortStableFunc(list, func(a, b netip.Addr) int { return rank(a) - rank(b) })
	return list
}

func rank(a netip.Addr) int {
	r := 0
	if !a.IsPrivate() {
		r++
	}
	if a.Is6() {
		r += 2
	}
	if a.IsLinkLocalUnicast() {
		r += 4
	}
	return r
}

// Check says what is wrong with the certificate, and what to do; nil: nothing, or none is needed. The page is on this machine alone until
// that is mended, which a later Check sees. It costs two looks at files.
func (d *Door) Check() error { return d.certs.check() }
