package web

import (
	"encoding/json"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"testing"
	"time"
)

// asks has a page invite another browser, as the page's own script does.
func (b *browser) asks(look bool) (i Invitation, status int, text string) {
	b.s.t.Helper()
	v, _ := b.visit()
	body, _ := json.Marshal(LinkRequest{Look: look})
	a := b.do("POST", "/api/link", string(body), "Origin", b.base, TokenHeader, v.Token)
	if a.status == http.StatusOK {
		if err := json.Unmarshal([]byte(a.body), &i); err != nil {
			b.s.t.Fatal(err)
		}
	}
	return i, a.status, a.body
}

// hears is what a page is told of its invitation.
func (b *browser) hears(id string) LinkState {
	b.s.t.Helper()
	var i Invited
	if a := b.do("GET", "/api/link?id="+url.QueryEscape(id), ""); a.status != http.StatusOK || json.Unmarshal([]byte(a.body), &i) != nil {
		b.s.t.Fatalf("%d %s", a.status, a.body)
	}
	return i.State
}

// shown reads the picture of an invitation.
func shown(t *testing.T, i Invitation) string {
	t.Helper()
	for _, row := range i.Picture {
		if len(row) != len(i.Picture) || strings.Trim(row, "01") != "" {
			t.Fatalf("the row %q of %d", row, len(i.Picture))
		}
	}
	text, err := ReadQR(len(i.Picture), func(x, y int) bool { return i.Picture[y][x] == '1' })
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// A page that may do all shows a link whose picture says the same; what it opens is what was chosen, and the page hears when it was opened,
// and when it is over.
func TestAPageInvites(t *testing.T) {
	s := newScene(t, withAuthority)
	b := s.in(false)
	for _, look := range []bool{false, true} {
		i, status, text := b.asks(look)
		if status != http.StatusOK || i.Seconds != 120 || i.Reach != ReachEncrypted || i.Authority == "" || !strings.HasPrefix(i.URL, b.base+"/in/") {
			t.Fatalf("%d %s", status, text)
		}
		if got := shown(t, i); got != i.URL {
			t.Errorf("the picture says %q, the link is %q", got, i.URL)
		}
		if i.ID == "" || strings.Contains(i.URL, i.ID) {
			t.Errorf("whoever asks for it by %q could open it", i.ID)
		}
		if got := b.hears(i.ID); got != LinkOut {
			t.Errorf("before it is opened: %s", got)
		}
		guest := s.browser()
		if a := guest.do("GET", strings.TrimPrefix(i.URL, b.base), ""); a.status != http.StatusOK || b.hears(i.ID) != LinkOut {
			t.Errorf("looked at: %d, and then %s", a.status, b.hears(i.ID))
		}
		if a := guest.press(strings.TrimPrefix(i.URL, b.base)); a.status != http.StatusSeeOther {
			t.Fatalf("the link: %d", a.status)
		}
		want := All
		if look {
			want = Look
		}
		if v, _ := guest.visit(); v.Rights != want {
			t.Errorf("look %v: whoever was invited may %s", look, v.Rights)
		}
		if got := b.hears(i.ID); got != LinkUsed {
			t.Errorf("after it was opened: %s", got)
		}
	}
	late, _, _ := b.asks(false)
	s.pass(linkLife + time.Second)
	if got := b.hears(late.ID); got != LinkOver {
		t.Errorf("two minutes later: %s", got)
	}
	early, _, _ := b.asks(false)
	for range maxLinks {
		s.path(false)
	}
	if got := b.hears(early.ID); got != LinkOver {
		t.Errorf("after sixteen newer ones: %s", got)
	}
	for range 2 * maxLinks {
		token, _ := s.links.add(Look)
		s.links.use(token)
	}
	if n := len(s.links.used); n != maxLinks {
		t.Errorf("%d used ones are remembered", n)
	}
}

// Who may only look invites nobody, be it by a link of --look or by a network that is not encrypted, nor hears of other people's links.
func TestWhoMayOnlyLookInvitesNobody(t *testing.T) {
	for name, b := range map[string]*browser{
		"by --look": newScene(t, withAuthority).in(true), "in the clear": newScene(t).in(false), "in the clear, by --look": newScene(t).in(true),
	} {
		for _, look := range []bool{false, true} {
			if _, status, text := b.asks(look); status != http.StatusForbidden || !strings.Contains(text, "may only look") {
				t.Errorf("%s: %d %s", name, status, text)
			}
		}
		if a := b.do("GET", "/api/link?id=x", ""); a.status != http.StatusForbidden {
			t.Errorf("%s: it hears %d %s", name, a.status, a.body)
		}
		if n := len(b.s.links.all); n != 0 {
			t.Errorf("%s: %d links are out", name, n)
		}
	}
	if a := newScene(t).browser().do("POST", "/api/link", "{}"); a.status != http.StatusForbidden {
		t.Errorf("nobody: %d", a.status)
	}
}

// Where a telephone cannot come, there is no picture, but what to set; in a rehearsal nothing can be set.
func TestATelephoneCannotOpenThisMachine(t *testing.T) {
	root := func(netip.AddrPort, netip.AddrPort) (int, bool) { return 0, true }
	for name, c := range map[string]struct {
		setting, listen, do string
	}{
		"an appliance":   {"", "127.0.0.1:7485", `web.listen = "0.0.0.0:7485"`},
		"by IPv6":        {"", "[::1]:8080", `web.listen = "0.0.0.0:8080"`},
		"by a name":      {"", "localhost:7485", `web.listen = "0.0.0.0:7485"`},
		"in a rehearsal": {"--page", "127.0.0.1:0", ""},
	} {
		s := newScene(t, atHome, func(o *DoorOptions) { o.Setting = c.setting })
		s.o.Web.Listen = c.listen // what it says; where the scene listens is another port
		s.users(root)
		i, status, text := s.browser().asks(false)
		if status != http.StatusOK || i.Reach != ReachMachine || i.Picture != nil || i.Do != c.do || !strings.HasPrefix(i.URL, "http://127.0.0.1:") {
			t.Errorf("%s: %d %s", name, status, text)
		}
	}
	// From this machine, for a network that is not encrypted: it may look, and what is to be set so that it may do more.
	s := newScene(t)
	s.Door.mu.Lock()
	s.open.here = "127.0.0.1"
	s.Door.mu.Unlock()
	if i, err := s.invitation(false); err != nil || i.Reach != ReachReadable || shown(t, i) != i.URL || i.Do != "web.authority = true" {
		t.Errorf("%+v %v", i, err)
	}
	// A certificate that cannot be used closes the network, and is a condition: another address would not help.
	s = newScene(t, func(o *DoorOptions) { o.Web.Cert, o.Web.Key = "/none.pem", "/none.key" })
	if i, err := s.invitation(false); err != nil || i.Reach != ReachMachine || i.Picture != nil || i.Do != "" {
		t.Errorf("%+v %v", i, err)
	}
}
