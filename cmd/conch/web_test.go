package main

import (
	"encoding/json"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"strings"
	"testing"

	"conch/device/web"
)

// A link of the command opens the page in a browser, once; the list has it, and after revoke it does not count, a restart later neither.
func TestALinkOpensThePage(t *testing.T) {
	t.Parallel()
	a, stop := startAppliance(t, "kitchen", "Ada", "CONCH_WEB_LISTEN=127.0.0.1:"+unusedPort(t))
	link := func() string {
		t.Helper()
		out, status := a.conch(t, "web", "link")
		if status != 0 || !strings.HasPrefix(out, "http://127.0.0.1:") || !strings.Contains(out, "opens the page, once, within 120 s; on this machine alone (web.listen)\n") {
			t.Fatalf("status %d: %s", status, out)
		}
		return strings.SplitN(out, "\n", 2)[0]
	}
	jar, _ := cookiejar.New(nil)
	client := &http.Client{Jar: jar, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	defer client.CloseIdleConnections()
	press := func(link string) int {
		t.Helper()
		u, err := url.Parse(link)
		if err != nil {
			t.Fatal(err)
		}
		req, _ := http.NewRequestWithContext(t.Context(), http.MethodPost, link, nil)
		req.Header.Set("Origin", "http://"+u.Host)
		resp, err := client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		return resp.StatusCode
	}
	first := link()
	if status := press(first); status != http.StatusSeeOther {
		t.Fatalf("the link: %d", status)
	}
	if status := press(first); status != http.StatusForbidden {
		t.Errorf("the link again: %d", status)
	}
	if out, _ := a.conch(t, "web", "sessions"); !strings.Contains(out, "ID ") || !strings.Contains(out, " all  local  127.0.0.1  Go-http-client/1.1\n") {
		t.Errorf("%s", out)
	}
	var list web.Sessions
	if out, status := a.conch(t, "web", "sessions", "--json"); status != 0 || json.Unmarshal([]byte(out), &list) != nil || len(list.Sessions) != 1 {
		t.Fatalf("status %d: %s", status, out)
	}
	id := list.Sessions[0].ID
	stop()
	a.start(t)
	if out, _ := a.conch(t, "web", "sessions"); !strings.Contains(out, id) {
		t.Errorf("after a restart: %s", out)
	}
	for _, c := range []struct {
		args   string
		status int
		want   string
	}{
		{"web sessions revoke", 2, "conch: web sessions revoke: say which: an id, or --all"},
		{"web sessions revoke x --all", 2, "say which"},
		{"web sessions revoke nosuch", 2, "conch: there is no such session; conch web sessions lists them"},
		{"web sessions revoke " + id, 0, "1 session ended"},
		{"web sessions revoke " + id, 2, "there is no such session"},
		{"web sessions revoke --all", 0, "0 sessions ended"},
		{"web sessions", 0, "Nobody: no browser was let in by a link"},
		{"web link --look", 0, "opens the page to look at, once"},
		{"web link --look --json", 0, `"rights": "look"`},
		{"web", 2, "conch web"},
	} {
		if out, status := a.conch(t, strings.Fields(c.args)...); status != c.status || !strings.Contains(out, c.want) {
			t.Errorf("%s: status %d: %s", c.args, status, out)
		}
	}
	for _, name := range []string{"state/web-sessions.json", "log"} {
		text, err := os.ReadFile(a.path(name))
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range jar.Cookies(&url.URL{Scheme: "http", Host: "127.0.0.1"}) {
			if strings.Contains(string(text), c.Value) {
				t.Errorf("the cookie stands in %s", name)
			}
		}
		if token := first[strings.LastIndex(first, "/")+1:]; strings.Contains(string(text), token) {
			t.Errorf("the link stands in %s", name)
		}
	}
}

// Where there is no page, there is nothing to open, and that is said.
func TestNoPageToOpen(t *testing.T) {
	t.Parallel()
	a, _ := startAppliance(t, "kitchen", "Ada", "CONCH_WEB_LISTEN=")
	if out, status := a.conch(t, "web", "link"); status != 1 || !strings.Contains(out, "there is no page on this device: web.listen is empty") {
		t.Errorf("status %d: %s", status, out)
	}
	if out, status := a.conch(t, "web", "sessions"); status != 0 || !strings.HasPrefix(out, "Nobody") {
		t.Errorf("status %d: %s", status, out)
	}
}

// What is printed says from where a link can be opened, and what it is good for.
func TestLinkText(t *testing.T) {
	t.Parallel()
	l := web.Link{URL: "https://192.168.7.5:7485/in/x", Others: []string{"https://kitchen.local:7485/in/x"}, Seconds: 120, Rights: web.All, Reach: web.ReachEncrypted,
		Authority: "AA:BB", Explained: "http://192.168.7.5:7485/authority"}
	if got, want := linkText(l), "https://192.168.7.5:7485/in/x\nor https://kitchen.local:7485/in/x\nopens the page, once, within 120 s\n"+
		"where the browser does not know its certificate: http://192.168.7.5:7485/authority\nSHA-256 AA:BB\n"; got != want {
		t.Errorf("%s", got)
	}
	l = web.Link{URL: "http://192.168.7.5:7485/in/\x1b[31mx", Seconds: 120, Rights: web.All, Reach: web.ReachReadable}
	if got := linkText(l); strings.Contains(got, "\x1b") || !strings.Contains(got, "opens the page to look at, once, within 120 s; it is not encrypted: web.authority = true") {
		t.Errorf("%s", got)
	}
}
