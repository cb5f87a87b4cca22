package web

import (
	"context"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// way is how a request came. A session counts on the way on which it was begun: a cookie that has gone over a network in the clear opens
// nothing else.
type way string

const (
	wayLocal way = "local" // from this machine
	wayPlain way = "plain" // over a network, readable; or by a proxy, from who knows where
	wayTLS   way = "tls"
)

// arrival is what is known of a request before anybody is let in.
type arrival struct {
	way       way
	encrypted bool
	literal   bool   // it calls this machine localhost, or by a loopback address: browsers ask no name server for these
	host      string // as the browser calls this, with its port where it says one; checked
	port      uint16 // of the page
	address   string // of the caller, without its port
	key       string // by which it is counted
	uid       int    // of a user of this machine
	known     bool   // who may use the control socket as well
}

// origin is what a browser calls a page that came like this.
func (a arrival) origin() string {
	if a.encrypted {
		return "https://" + a.host
	}
	return "http://" + a.host
}

// connection is what all requests of one have in common.
type connection struct {
	remote, local netip.AddrPort
	encrypted     func() bool
	user          func() (uid int, ok bool)
	gone          <-chan struct{} // closed with it
}

type connectionKey struct{}

// withConnection is an http.Server's ConnContext.
func (d *Door) withConnection(ctx context.Context, c net.Conn) context.Context {
	one := d.newConnection(c.RemoteAddr(), c.LocalAddr())
	if s, ok := c.(*sniffed); ok {
		one.encrypted, one.gone = s.encrypted, s.gone
	}
	return context.WithValue(ctx, connectionKey{}, one)
}

func (d *Door) newConnection(remote, local net.Addr) *connection {
	c := &connection{remote: addrPort(remote), local: addrPort(local), encrypted: func() bool { return false }}
	type found struct {
		uid int
		ok  bool
	}
	ask := sync.OnceValue(func() found {
		uid, ok := d.peer(c.remote, c.local)
		return found{uid, ok}
	})
	c.user = func() (int, bool) { f := ask(); return f.uid, f.ok }
	return c
}

// loopback says that both ends are on this machine.
func (c *connection) loopback() bool {
	return c.remote.Addr().IsLoopback() && c.local.Addr().IsLoopback()
}

// arrive looks at how a request came. refused says in words why it cannot have been meant for this page: the name by which it asks is not
// one of ours, as when somebody's page has its own name lead here (DNS rebinding).
func (d *Door) arrive(r *http.Request) (a arrival, refused string) {
	c, ok := r.Context().Value(connectionKey{}).(*connection)
	if !ok {
		return arrival{}, "the page is not served as it has to be"
	}
	a = arrival{way: wayPlain, encrypted: c.encrypted() || r.TLS != nil, port: c.local.Port(), address: c.remote.Addr().String()}
	a.key = limitKey(c.remote.Addr())
	if a.encrypted {
		a.way = wayTLS
	}
	host, literal, ok := d.hostOf(r, a)
	if !ok {
		return a, "this page is not called that: open it by an address of this device, or by " + d.called()
	}
	a.host, a.literal = host, literal
	if !c.loopback() || proxied(r.Header) {
		return a, ""
	}
	if !a.encrypted {
		a.way = wayLocal
	}
	uid, ok := c.user()
	if !ok {
		return a, ""
	}
	a.uid, a.key = uid, "uid "+strconv.Itoa(uid)
	// A name may lead here for a moment only; what is let in without a cookie has to have asked for this very machine.
	a.known = literal && mayUse(uid, d.o.Self, d.o.Group)
	return a, ""
}

// limitKey is by what an address is counted: who has one of IPv6 has 2^64.
func limitKey(a netip.Addr) string {
	if a.Is6() && !a.IsLoopback() && !a.IsLinkLocalUnicast() {
		if p, err := a.Prefix(64); err == nil {
			return p.String()
		}
	}
	return a.String()
}

// forwarding are headers of proxies: who really asks is somewhere behind.
var forwarding = []string{"Forwarded", "Via", "X-Real-Ip", "X-Client-Ip", "X-Cluster-Client-Ip", "X-Original-Host",
	"True-Client-Ip", "Cf-Connecting-Ip", "Client-Ip"}

func proxied(h http.Header) bool {
	for name := range h {
		if strings.HasPrefix(name, "X-Forwarded") || slices.Contains(forwarding, name) {
			return true
		}
	}
	return false
}

// hostOf checks what the browser calls this page.
func (d *Door) hostOf(r *http.Request, a arrival) (host string, literal, ok bool) {
	name, port := r.Host, ""
	if h, p, err := net.SplitHostPort(r.Host); err == nil {
		name, port = h, p
	} else {
		name = strings.TrimSuffix(strings.TrimPrefix(name, "["), "]")
	}
	if port == "" {
		port = "80"
		if a.encrypted {
			port = "443"
		}
	}
	if port != strconv.Itoa(int(a.port)) {
		return "", false, false
	}
	if ip, err := netip.ParseAddr(name); err == nil {
		return r.Host, ip.Unmap().IsLoopback(), ip.Zone() == ""
	}
	name = strings.ToLower(strings.TrimSuffix(name, "."))
	host = strings.ToLower(r.Host)
	switch {
	case name == "localhost":
		return host, true, true
	case slices.ContainsFunc(d.o.Names(), func(n string) bool { return strings.EqualFold(n, name) }), d.certs.names(name):
		return host, false, true
	}
	return "", false, false
}

// called is how this page may be called, for people.
func (d *Door) called() string {
	return strings.Join(append([]string{"localhost"}, d.o.Names()...), ", ") + " with its port"
}

// foreign says why a request comes from somebody else's page; empty: it does not, as far as browsers tell. What changes something, and a
// socket, has to say where it comes from.
func foreign(r *http.Request, a arrival) string {
	const no = "another site's page has asked for this"
	origins := r.Header.Values("Origin")
	site := r.Header.Get("Sec-Fetch-Site")
	switch {
	case len(origins) > 1, len(origins) == 1 && !sameOrigin(origins[0], a):
		return no
	case changes(r) || upgrades(r):
		if len(origins) == 0 && site != "same-origin" {
			return "a request that changes something has to say from where it comes (Origin)"
		}
		if site != "" && site != "same-origin" {
			return no
		}
	case site == "cross-site" || site == "same-site":
		if r.Header.Get("Sec-Fetch-Mode") != "navigate" || r.Header.Get("Sec-Fetch-Dest") != "document" {
			return no // a script, an image or a stream of events of ours in their page
		}
	}
	return ""
}

// sameOrigin compares an Origin with that of this page: scheme, name and port.
func sameOrigin(origin string, a arrival) bool {
	if strings.EqualFold(origin, a.origin()) {
		return true
	}
	// A browser leaves out the scheme's own port in both, other clients in one.
	o, err := url.Parse(origin)
	own, bad := url.Parse(a.origin())
	return err == nil && bad == nil && o.User == nil && o.Path == "" && o.RawQuery == "" && o.Fragment == "" &&
		o.Scheme == own.Scheme && strings.EqualFold(o.Hostname(), own.Hostname()) && portOf(o) == portOf(own)
}

func portOf(u *url.URL) string {
	switch {
	case u.Port() != "":
		return u.Port()
	case u.Scheme == "https":
		return "443"
	}
	return "80"
}

// harden sets what browsers are asked for with everything. There is no Strict-Transport-Security: it would count for all other services of
// this host as well.
func harden(h http.Header, a arrival) {
	sockets := ""
	if a.host != "" && !strings.Contains(a.host, "[") { // a source has no place for an address of IPv6 (CSP 3, 2.3.1)
		sockets = " ws://" + a.host
		if a.encrypted {
			sockets = " wss://" + a.host
		}
	}
	h.Set("Content-Security-Policy", "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'"+sockets+
		"; worker-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'; require-trusted-types-for 'script'")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Frame-Options", "DENY")
	h.Set("Referrer-Policy", "no-referrer")
	if a.encrypted || a.literal { // elsewhere browsers only complain of it
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
	}
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Permissions-Policy", "microphone=(self), camera=(), geolocation=(), display-capture=(), midi=(), usb=(), serial=(), hid=(), "+
		"bluetooth=(), payment=()")
	h.Set("Cache-Control", "no-store")
}
