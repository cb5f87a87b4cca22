package web

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// A user of this machine who may use conch needs no link; everybody else does, and is told so.
func TestWhoNeedsALink(t *testing.T) {
	for name, c := range map[string]struct {
		uid   int
		known bool
		group int
		host  string
		in    bool
	}{
		"root":                     {0, true, -1, "127.0.0.1", true},
		"conch itself":             {4242, true, -1, "127.0.0.1", true},
		"by the name localhost":    {4242, true, -1, "localhost", true},
		"another user":             {4243, true, -1, "127.0.0.1", false},
		"a user who is not listed": {987654321, true, 4242, "127.0.0.1", false},
		"nobody knows who":         {0, false, -1, "127.0.0.1", false},
		"by a name that may lead elsewhere in a moment": {4242, true, -1, "kitchen.local", false},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScene(t, atHome, func(o *DoorOptions) { o.Group = c.group })
			s.users(func(netip.AddrPort, netip.AddrPort) (int, bool) { return c.uid, c.known })
			s.host = c.host
			b := s.browser()
			v, status := b.visit()
			if got := status == http.StatusOK; got != c.in {
				t.Fatalf("status %d; let in: %v, want %v", status, got, c.in)
			}
			if !c.in {
				return
			}
			if v.Rights != All || v.Token == "" || !v.Loopback || v.Secure || v.Talk != TalkYes {
				t.Errorf("%+v", v)
			}
			if status := b.change(v.Token); status != http.StatusOK || s.changed.Load() != 1 {
				t.Errorf("change: status %d, %d times", status, s.changed.Load())
			}
		})
	}
}

// On the network nothing is served without a session: not the page, not its events, not what it does.
func TestNoCookie(t *testing.T) {
	s := newScene(t)
	b := s.browser()
	a := b.do("GET", "/", "")
	if a.status != http.StatusForbidden || !strings.Contains(a.body, `content="0; url=/in"`) {
		t.Errorf("page: %d %s", a.status, a.body)
	}
	if a := b.do("GET", "/in", ""); a.status != http.StatusForbidden || !strings.Contains(a.body, "conch web link") {
		t.Errorf("after it: %d %s", a.status, a.body)
	}
	if status, _ := b.stream(); status != http.StatusForbidden {
		t.Errorf("events: %d", status)
	}
	if status := b.change("", "Origin", b.base); status != http.StatusForbidden {
		t.Errorf("change: %d", status)
	}
	if _, status, err := b.socket("Origin", b.base); err == nil || status != http.StatusForbidden {
		t.Errorf("socket: %d %v", status, err)
	}
	if s.changed.Load() != 0 {
		t.Error("something was changed")
	}
}

// A browser that follows a link of a chat leaves a strict cookie at home; the page sends it on, and it comes back with it.
func TestComingFromElsewhere(t *testing.T) {
	s := newScene(t)
	b := s.in(false)
	if a := b.do("GET", "/in", ""); a.status != http.StatusSeeOther || a.header.Get("Location") != "/" {
		t.Errorf("status %d to %s", a.status, a.header.Get("Location"))
	}
}

// Looking at a link takes nothing: chats and scanners do. Its button does, once, whoever is quicker.
func TestALinkCountsOnce(t *testing.T) {
	s := newScene(t)
	path := s.path(false)
	for range 5 {
		if a := s.browser().do("GET", path, "", "Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "navigate", "Sec-Fetch-Dest", "document"); a.status != http.StatusOK ||
			!strings.Contains(a.body, `<form method="post" action="`+path+`">`) || a.header.Get("Set-Cookie") != "" || a.header.Get("Referrer-Policy") != "same-origin" {
			t.Fatalf("look: %d %v %s", a.status, a.header, a.body)
		}
	}
	var in, out atomic.Int32
	var all sync.WaitGroup
	for range 8 {
		b := s.browser()
		all.Go(func() {
			switch a, err := b.try("POST", path, "", "Origin", b.base); {
			case err != nil:
				t.Error(err)
			case a.status == http.StatusSeeOther:
				in.Add(1)
			case a.status == http.StatusForbidden:
				out.Add(1)
			}
		})
	}
	all.Wait()
	if in.Load() != 1 || out.Load() != 7 {
		t.Errorf("%d were let in, %d not", in.Load(), out.Load())
	}
}

func TestAnOldLink(t *testing.T) {
	s := newScene(t)
	in, late := s.path(false), s.path(false)
	s.pass(linkLife - time.Second)
	if a := s.browser().press(in); a.status != http.StatusSeeOther {
		t.Errorf("in time: %d", a.status)
	}
	s.pass(time.Second)
	if a := s.browser().press(late); a.status != http.StatusForbidden || !strings.Contains(a.body, "does not count any more") {
		t.Errorf("after two minutes: %d %s", a.status, a.body)
	}
}

// The oldest of too many links counts no more.
func TestLinksAreBounded(t *testing.T) {
	s := newScene(t)
	first := s.path(false)
	for range maxLinks {
		s.path(false)
	}
	if a := s.browser().press(first); a.status != http.StatusForbidden || len(s.links.all) != maxLinks {
		t.Errorf("status %d, %d links", a.status, len(s.links.all))
	}
}

// A page of another site cannot press anything, by a form, by fetch or by a socket; nor a page of another service of this host.
func TestAnotherOrigin(t *testing.T) {
	s := newScene(t, withAuthority)
	b := s.in(false)
	v, _ := b.visit()
	if status := b.change(v.Token); status != http.StatusOK {
		t.Fatalf("its own page: %d", status)
	}
	s.changed.Store(0)
	for name, header := range map[string][]string{
		"another site":              {"Origin", "https://evil.example"},
		"another port of this host": {"Origin", "https://" + here + ":8123"},
		"not encrypted":             {"Origin", strings.Replace(b.base, "https", "http", 1)},
		"a sandboxed frame":         {"Origin", "null"},
		"none":                      {"X-Any", "thing"},
		"two":                       {"Origin", b.base, "Origin", "https://evil.example"},
		"an origin with more":       {"Origin", b.base + ".evil.example"},
		"a user before it":          {"Origin", strings.Replace(b.base, "https://", "https://"+here+":"+s.port+"@", 1) + ".evil.example"},
		"browsers say so":           {"Sec-Fetch-Site", "cross-site"},
		"browsers say otherwise":    {"Origin", b.base, "Sec-Fetch-Site", "same-site"},
	} {
		if status := b.change(v.Token, header...); status != http.StatusForbidden {
			t.Errorf("%s: change: %d", name, status)
		}
		if c, status, err := b.socket(header...); err == nil || status != http.StatusForbidden {
			t.Errorf("%s: socket: %d %v", name, status, err)
			c.CloseNow()
		}
	}
	for name, header := range map[string][]string{
		"a script": {"Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "no-cors", "Sec-Fetch-Dest", "script"},
		"a frame":  {"Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "navigate", "Sec-Fetch-Dest", "iframe"},
		"fetch":    {"Origin", "https://evil.example"},
	} {
		if a := b.do("GET", "/", "", header...); a.status != http.StatusForbidden {
			t.Errorf("%s: %d", name, a.status)
		}
	}
	if a := b.do("OPTIONS", "/api/change", "", "Origin", "https://evil.example", "Access-Control-Request-Method", "POST"); a.status != http.StatusForbidden ||
		a.header.Get("Access-Control-Allow-Origin") != "" {
		t.Errorf("preflight: %d", a.status)
	}
	if a := b.do("POST", s.path(false), "", "Origin", "https://evil.example"); a.status != http.StatusForbidden || a.header.Get("Set-Cookie") != "" {
		t.Errorf("a login from elsewhere: %d", a.status)
	}
	if s.changed.Load() != 0 {
		t.Errorf("%d changes", s.changed.Load())
	}
	if status := b.change(v.Token, "Sec-Fetch-Site", "same-origin"); status != http.StatusOK {
		t.Errorf("without an Origin, by its own page: %d", status)
	}
}

// A cookie alone changes nothing: the token is on the page, which another site cannot read.
func TestNoToken(t *testing.T) {
	s := newScene(t, withAuthority)
	b, other := s.in(false), s.in(false)
	v, _ := b.visit()
	o, _ := other.visit()
	for _, token := range []string{"", "x", o.Token, v.Token + "x", v.Token[1:]} {
		if status := b.change(token); status != http.StatusForbidden || s.changed.Load() != 0 {
			t.Errorf("token %q: %d", token, status)
		}
	}
	c, _, err := b.socket("Origin", b.base)
	if err != nil {
		t.Fatal(err)
	}
	defer c.CloseNow()
	if err := c.Write(t.Context(), 1, []byte(o.Token)); err != nil {
		t.Fatal(err)
	}
	if _, _, err := c.Read(t.Context()); err == nil || s.changed.Load() != 0 {
		t.Error("a socket with another's token is welcome")
	}
	if (Visit{}).TokenIs("") {
		t.Error("no token is a token")
	}
}

// Whoever may look sees, and changes nothing, whatever token it has.
func TestLooking(t *testing.T) {
	s := newScene(t, withAuthority)
	b := s.in(true)
	v, _ := b.visit()
	if v.Rights != Look || v.Talk != TalkNo {
		t.Errorf("%+v", v)
	}
	if status := b.change(v.Token); status != http.StatusForbidden {
		t.Errorf("change: %d", status)
	}
	if _, status, err := b.socket("Origin", b.base); err == nil || status != http.StatusForbidden {
		t.Errorf("socket: %d %v", status, err)
	}
	if status, _ := b.stream(); status != http.StatusOK {
		t.Errorf("events: %d", status)
	}
}

// What is not encrypted is only looked at over a network, whatever the link was.
func TestInTheClear(t *testing.T) {
	s := newScene(t)
	b := s.in(false)
	v, _ := b.visit()
	if v.Rights != Look || v.Talk != TalkInsecure || v.Secure || v.Loopback {
		t.Errorf("%+v", v)
	}
	if status := b.change(v.Token); status != http.StatusForbidden || s.changed.Load() != 0 {
		t.Errorf("change: %d", status)
	}
}

// A cookie that was stolen, or just left behind, opens nothing once it is revoked, and what it has opened ends at once.
func TestAStolenCookieAfterItWasRevoked(t *testing.T) {
	s := newScene(t, withAuthority)
	b, other := s.in(false), s.in(false)
	v, _ := b.visit()
	_, ended := b.stream()
	_, stays := other.stream()
	c, _, err := b.socket("Origin", b.base)
	if err != nil {
		t.Fatal(err)
	}
	defer c.CloseNow()
	if err := c.Write(t.Context(), 1, []byte(v.Token)); err != nil {
		t.Fatal(err)
	}
	if _, _, err := c.Read(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n, err := s.sessions.revoke(v.Session); n != 1 || err != nil {
		t.Fatalf("revoke: %d %v", n, err)
	}
	within(t, "the stream ends", ended)
	late, stop := context.WithTimeout(t.Context(), 10*time.Second)
	defer stop()
	if _, _, err := c.Read(late); err == nil || late.Err() != nil {
		t.Errorf("the socket lives: %v", err)
	}
	if _, status := b.visit(); status != http.StatusForbidden {
		t.Errorf("visit: %d", status)
	}
	if status := b.change(v.Token); status != http.StatusForbidden {
		t.Errorf("change: %d", status)
	}
	if _, status := other.visit(); status != http.StatusOK {
		t.Errorf("another session: %d", status)
	}
	select {
	case <-stays:
		t.Error("another stream has ended")
	default:
	}
	if n, err := s.sessions.revoke(""); n != 1 || err != nil {
		t.Errorf("all: %d %v", n, err)
	}
	within(t, "all streams end", stays)
	if _, err := s.sessions.revoke("nosuch"); !errors.Is(err, ErrNoSession) {
		t.Errorf("no such: %v", err)
	}
}

// Somebody's page may have its own name lead here (DNS rebinding): only our names and addresses are answered, with our port.
func TestAnotherHost(t *testing.T) {
	s := newScene(t, atHome)
	s.users(func(netip.AddrPort, netip.AddrPort) (int, bool) { return 4242, true })
	b := s.browser()
	for host, want := range map[string]int{
		"127.0.0.1:" + s.port: 200, "localhost:" + s.port: 200, "LOCALHOST:" + s.port: 200, "localhost.:" + s.port: 200, "[::1]:" + s.port: 200, "127.9.9.9:" + s.port: 200,
		"evil.example:" + s.port: 421, "127.0.0.1.evil.example:" + s.port: 421, "localhost.evil.example:" + s.port: 421, "127.0.0.1": 421, "localhost:1": 421,
		"kitchen.local.evil.example:" + s.port: 421, "2130706433:" + s.port: 421, "0x7f.1:" + s.port: 421, "": 421,
		"kitchen.local:" + s.port: 403, "kitchen:" + s.port: 403, "192.168.7.5:" + s.port: 403, // ours, but not this machine for sure: a link is needed
	} {
		if host == "" {
			host = " "
		}
		a, err := b.try("GET", "/", "", "Host", host)
		if err != nil || a.status != want {
			if host == " " && (err != nil || a.status == http.StatusBadRequest) {
				continue
			}
			t.Errorf("%s: %d %v; want %d", host, a.status, err, want)
		}
	}
}

// Whoever comes by a proxy of this machine is not of this machine; what a caller says of itself changes nothing on the network.
func TestForwardedHeaders(t *testing.T) {
	s := newScene(t, atHome)
	s.users(func(netip.AddrPort, netip.AddrPort) (int, bool) { return 0, true })
	b := s.browser()
	if _, status := b.visit(); status != http.StatusOK {
		t.Fatalf("without: %d", status)
	}
	for _, name := range []string{"X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto", "Forwarded", "Via", "X-Real-IP", "CF-Connecting-IP", "True-Client-IP"} {
		if a := b.do("GET", "/", "", name, "127.0.0.1"); a.status != http.StatusForbidden {
			t.Errorf("%s: %d", name, a.status)
		}
	}
	far := newScene(t)
	far.users(*s.who.Load())
	for _, header := range [][]string{{"X-Forwarded-For", "127.0.0.1"}, {"X-Forwarded-Proto", "https"}, {"Forwarded", "for=127.0.0.1;proto=https"}, {"X-Real-IP", "127.0.0.1"},
		{"Host", "127.0.0.1:" + far.port}, {"Host", "localhost:" + far.port}} {
		if a := far.browser().do("GET", "/", "", header...); a.status != http.StatusForbidden {
			t.Errorf("%v: %d", header, a.status)
		}
	}
}

// A cookie that was there before the login is none after it, whoever has put it there; the session before ends.
func TestFixation(t *testing.T) {
	s := newScene(t)
	name := "conch-" + s.port
	planted := strings.Repeat("A", 43)
	b := s.browser()
	a := b.do("POST", s.path(false), "", "Origin", b.base, "Cookie", name+"="+planted)
	if a.status != http.StatusSeeOther || strings.Contains(a.header.Get("Set-Cookie"), planted) {
		t.Fatalf("%d %v", a.status, a.header)
	}
	if a := s.browser().do("GET", "/", "", "Cookie", name+"="+planted); a.status != http.StatusForbidden {
		t.Errorf("the planted one: %d", a.status)
	}
	own := name + "=" + a.header.Get("Set-Cookie")[len(name)+1:][:43]
	for cookies, want := range map[string]int{own: 200, own + "; " + name + "=" + planted: 403, name + "=" + planted + "; " + own: 403} {
		if a := s.browser().do("GET", "/", "", "Cookie", cookies); a.status != want {
			t.Errorf("%s: %d; want %d", cookies, a.status, want)
		}
	}
	before, _ := b.visit()
	if a := b.press(s.path(false)); a.status != http.StatusSeeOther {
		t.Fatal(a.status)
	}
	after, _ := b.visit()
	if before.Session == after.Session || before.Token == after.Token || len(s.sessions.rows()) != 1 {
		t.Errorf("%+v, then %+v, %d sessions", before, after, len(s.sessions.rows()))
	}
}

// What has gone over a network in the clear opens nothing that is encrypted; nor the other way round, nor at home.
func TestACookieOnAnotherWay(t *testing.T) {
	s := newScene(t, withAuthority)
	for _, from := range []way{wayPlain, wayTLS, wayLocal} {
		_, secret, err := s.sessions.begin(All, from, "", there)
		if err != nil {
			t.Fatal(err)
		}
		for _, to := range []way{wayPlain, wayTLS, wayLocal} {
			if _, _, ok := s.sessions.find(secret, to); ok != (from == to) {
				t.Errorf("of %s, on %s: %v", from, to, ok)
			}
		}
		if from == wayTLS {
			continue
		}
		b := s.browser()
		for _, name := range []string{"__Host-conch-" + s.port, "conch-" + s.port} {
			if a := b.do("GET", "/", "", "Cookie", name+"="+secret); a.status != http.StatusForbidden {
				t.Errorf("of %s as %s over TLS: %d", from, name, a.status)
			}
		}
	}
	b := s.browser()
	a := b.press(s.path(false))
	cookie := a.header.Get("Set-Cookie")
	for _, want := range []string{"__Host-conch-" + s.port + "=", "; Path=/;", "Max-Age=2592000", "; HttpOnly", "; Secure", "; SameSite=Strict"} {
		if !strings.Contains(cookie, want) {
			t.Errorf("no %s in %s", want, cookie)
		}
	}
	if strings.Contains(cookie, "Domain") {
		t.Errorf("a domain in %s", cookie)
	}
	value := strings.SplitN(strings.TrimPrefix(cookie, "__Host-conch-"+s.port+"="), ";", 2)[0]
	plain := newScene(t)
	plain.sessions.mu.Lock()
	plain.sessions.all = s.sessions.all // the same device, without its certificate
	plain.sessions.mu.Unlock()
	for _, name := range []string{"__Host-conch-", "conch-"} {
		if a := plain.browser().do("GET", "/", "", "Cookie", name+plain.port+"="+value); a.status != http.StatusForbidden {
			t.Errorf("of TLS, in the clear as %s: %d", name, a.status)
		}
	}
	if cookie := plain.browser().press(plain.path(false)).header.Get("Set-Cookie"); strings.Contains(cookie, "Secure") || strings.Contains(cookie, "__Host") {
		t.Errorf("in the clear: %s", cookie)
	}
}

// Ten wrong links in a minute of an address; then none of its wrong ones is answered for a while. A right one opens always, whoever hammers.
func TestGuessing(t *testing.T) {
	s := newScene(t)
	right := s.path(false)
	wrong := func(i int) string { return pathIn + "/" + strings.Repeat(string(rune('a'+i)), 26) }
	for i := range guessBurst {
		if a := s.browser().press(wrong(i)); a.status != http.StatusForbidden {
			t.Fatalf("guess %d: %d", i, a.status)
		}
	}
	a := s.browser().press(wrong(guessBurst))
	if a.status != http.StatusTooManyRequests || a.header.Get("Retry-After") == "" || a.header.Get("Set-Cookie") != "" {
		t.Errorf("the eleventh: %d %v", a.status, a.header)
	}
	if a := s.browser().press(right); a.status != http.StatusSeeOther {
		t.Errorf("the right one: %d %s", a.status, a.body)
	}
	if a := s.browser().press(right); a.status != http.StatusTooManyRequests {
		t.Errorf("the right one again: %d", a.status)
	}
	if s.guesses.empty("192.0.2.1", s.o.Now()) > 0 {
		t.Error("another address pays for it")
	}
	s.pass(7 * time.Second)
	if a := s.browser().press(wrong(0)); a.status != http.StatusForbidden {
		t.Errorf("a while later: %d %s", a.status, a.body)
	}
	for i := range 2 * maxBuckets { // addresses
		s.guesses.take(fmt.Sprint(i), s.o.Now())
	}
	if len(s.guesses.of) > maxBuckets+1 {
		t.Errorf("%d addresses are remembered", len(s.guesses.of))
	}
	s.addresses.set(1, 1)
	right = s.path(false)
	if a := s.browser().press(wrong(1)); a.status != http.StatusTooManyRequests {
		t.Errorf("an address that hammers: %d", a.status)
	}
	if a, b := s.browser().do("GET", right, ""), s.browser().press(right); a.status != http.StatusOK || b.status != http.StatusSeeOther {
		t.Errorf("the right one of an address that hammers: %d, then %d", a.status, b.status)
	}
	seen := map[string]bool{}
	for range 100 {
		token := strings.TrimPrefix(s.path(false), pathIn+"/")
		if !isToken(token) || seen[token] {
			t.Fatalf("%q", token)
		}
		seen[token] = true
	}
	if bits := 5 * len(right[len(pathIn)+1:]); bits < 128 {
		t.Errorf("%d bits", bits)
	}
}

// Cookies are not guessed in a hurry either, and one address's hurry is not another's.
func TestTooManyRequests(t *testing.T) {
	b := newBuckets(addressRate, addressBurst)
	now := time.Now()
	refused := 0
	for range 1000 {
		if b.take("a", now) > 0 {
			refused++
		}
	}
	if refused != 1000-addressBurst || b.take("b", now) > 0 {
		t.Errorf("%d of 1000 refused", refused)
	}
	if b.take("a", now.Add(time.Second)) > 0 {
		t.Error("a second later as well")
	}
	for i := range 10 * maxBuckets {
		b.take(fmt.Sprint(i), now)
	}
	if len(b.of) > maxBuckets+1 {
		t.Errorf("%d buckets", len(b.of))
	}
	s := newScene(t)
	s.addresses.set(1, 3)
	br := s.browser()
	for i, want := range []int{403, 403, 403, 429} {
		if a := br.do("GET", "/", ""); a.status != want {
			t.Errorf("request %d: %d; want %d", i, a.status, want)
		}
	}
	s = newScene(t)
	s.pages.set(1, 3)
	in := s.in(false)
	for i, want := range []int{200, 200, 200, 429} {
		if a := in.do("GET", "/", ""); a.status != want {
			t.Errorf("page %d: %d; want %d", i, a.status, want)
		}
	}
}

func TestOversized(t *testing.T) {
	s := newScene(t, withAuthority)
	b := s.in(false)
	v, _ := b.visit()
	big := strings.Repeat("x", maxBody+1)
	if a := b.do("POST", "/api/change", big, "Origin", b.base, TokenHeader, v.Token); a.status != http.StatusRequestEntityTooLarge || s.changed.Load() != 0 {
		t.Errorf("body: %d", a.status)
	}
	if a := b.do("POST", "/api/change", big[1:], "Origin", b.base, TokenHeader, v.Token); a.status != http.StatusOK || a.body != big[1:] {
		t.Errorf("the largest body: %d, %d bytes", a.status, len(a.body))
	}
	if a := s.browser().do("POST", s.path(false), big, "Origin", b.base); a.status != http.StatusRequestEntityTooLarge {
		t.Errorf("body of a login: %d", a.status)
	}
	if a, err := b.try("GET", "/", "", "X-Large", strings.Repeat("x", 64<<10)); err == nil && a.status != http.StatusRequestHeaderFieldsTooLarge {
		t.Errorf("header: %d", a.status)
	}
	if a := b.do("GET", "/", "", "Cookie", "__Host-conch-"+s.port+"="+strings.Repeat("x", 8<<10)); a.status != http.StatusForbidden {
		t.Errorf("cookie: %d", a.status)
	}
	if a := s.browser().press(pathIn + "/" + strings.Repeat("a", 8<<10)); a.status != http.StatusForbidden {
		t.Errorf("link: %d", a.status)
	}
}

// A hundred pages of one browser: eight have events, the others are told; other browsers have theirs, up to 32 in all.
func TestAHundredPages(t *testing.T) {
	s := newScene(t)
	s.callers.set(1e6, 1e6)
	open := func(b *browser, n int) (ok int) {
		for range n {
			switch status, _ := b.stream(); status {
			case http.StatusOK:
				ok++
			case http.StatusTooManyRequests:
			default:
				t.Fatalf("status %d", status)
			}
		}
		return ok
	}
	if n := open(s.in(true), 100); n != maxStreamsOfOne {
		t.Errorf("%d streams of one", n)
	}
	release, _ := s.Stream(Visit{Session: "one"})
	for i := range maxStreams {
		_, err := s.Stream(Visit{Session: fmt.Sprint(i)})
		if got, want := err == nil, i < maxStreams-maxStreamsOfOne-1; got != want {
			t.Errorf("stream of session %d: %v", i, err)
		}
	}
	release()
	release()
	if _, err := s.Stream(Visit{Session: "two"}); err != nil {
		t.Errorf("after one has ended: %v", err)
	}
	if _, err := s.Stream(Visit{Session: "two"}); !errors.Is(err, ErrStreams) {
		t.Errorf("released twice: %v", err)
	}
	for i := range maxSockets + 1 {
		if _, err := s.Socket(Visit{Session: fmt.Sprint(i)}); errors.Is(err, ErrSockets) != (i == maxSockets) {
			t.Errorf("socket %d: %v", i, err)
		}
	}
}

// The network cannot take the connections of this machine, and one address of it not those of the others.
func TestConnectionsAreBounded(t *testing.T) {
	s := newScene(t)
	s.callers.set(1e6, 1e6)
	one, many := 0, 0
	var all []func()
	for range maxOfOneAddress + 10 {
		if release, ok := s.admit(netip.MustParseAddr(there)); ok {
			one++
			all = append(all, release)
		}
	}
	for i := range maxNetwork {
		if release, ok := s.admit(netip.AddrFrom4([4]byte{10, 0, 0, byte(i)})); ok {
			many++
			all = append(all, release)
		}
	}
	if one != maxOfOneAddress || one+many != maxNetwork {
		t.Errorf("%d of one address, %d of others", one, many)
	}
	if _, ok := s.admit(netip.MustParseAddr("127.0.0.1")); !ok {
		t.Error("this machine is kept out")
	}
	for _, f := range all {
		f()
	}
	if s.network.all != 0 || len(s.network.of) != 0 {
		t.Errorf("%d left, of %v", s.network.all, s.network.of)
	}
	s.callers.set(connectionsRate, connectionsBurst)
	for i := range connectionsBurst + 1 {
		release, ok := s.admit(netip.MustParseAddr("fd00::" + fmt.Sprint(i)))
		if ok != (i < connectionsBurst) {
			t.Fatalf("connection %d of one network: %v", i, ok)
		}
		if ok {
			release()
		}
	}
}

// What browsers are asked for is with every answer.
func TestHeaders(t *testing.T) {
	s := newScene(t, withAuthority)
	b := s.in(false)
	for _, path := range []string{"/", "/in", "/in/x", "/nothing", "/authority"} {
		h := b.do("GET", path, "").header
		for name, want := range map[string]string{
			"X-Content-Type-Options": "nosniff", "Cross-Origin-Opener-Policy": "same-origin", "Cross-Origin-Resource-Policy": "same-origin", "X-Frame-Options": "DENY",
		} {
			if h.Get(name) != want {
				t.Errorf("%s: %s is %q", path, name, h.Get(name))
			}
		}
		csp := h.Get("Content-Security-Policy")
		for _, want := range []string{"default-src 'none'; script-src 'self';", "connect-src 'self' wss://" + here + ":" + s.port + ";", "base-uri 'none'", "frame-ancestors 'none'",
			"require-trusted-types-for 'script'", "form-action 'self'"} {
			if !strings.Contains(csp, want) {
				t.Errorf("%s: no %s in %s", path, want, csp)
			}
		}
		if !strings.HasPrefix(h.Get("Permissions-Policy"), "microphone=(self), camera=()") || h.Get("Strict-Transport-Security") != "" {
			t.Errorf("%s: %v", path, h)
		}
	}
	if h := b.do("GET", "/", "").header; h.Get("Cache-Control") != "no-store" || h.Get("Referrer-Policy") != "no-referrer" {
		t.Errorf("%v", h)
	}
}
