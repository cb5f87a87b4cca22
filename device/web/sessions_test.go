package web

import (
	"bytes"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"conch/device/config"
	"conch/device/control"
)

// disk keeps what a door saves.
type disk struct {
	data   []byte
	writes int
	full   error
}

func (k *disk) with(o *DoorOptions) {
	o.Load = func() ([]byte, error) { return k.data, nil }
	o.Save = func(b []byte) error {
		if k.full != nil {
			return k.full
		}
		k.data, k.writes = bytes.Clone(b), k.writes+1
		return nil
	}
}

// Sessions count after a restart, and so do their tokens; of what opens them only the hash is on disk.
func TestSessionsAreKept(t *testing.T) {
	var k disk
	s := newScene(t, k.with)
	b := s.browser()
	secret := strings.SplitN(strings.SplitN(b.press(s.path(true)).header.Get("Set-Cookie"), "=", 2)[1], ";", 2)[0]
	v, _ := b.visit()
	if len(secret) != 43 || bytes.Contains(k.data, []byte(secret)) || bytes.Contains(k.data, []byte(v.Token)) {
		t.Errorf("secret %q, on disk %s", secret, k.data)
	}
	again := newScene(t, k.with)
	a := again.browser().do("GET", "/", "", "Cookie", "conch-"+again.port+"="+secret)
	var w Visit
	if err := json.Unmarshal([]byte(a.body), &w); err != nil || a.status != http.StatusOK || w != v {
		t.Errorf("%d %+v; before %+v", a.status, w, v)
	}
	if _, err := again.sessions.revoke(v.Session); err != nil {
		t.Fatal(err)
	}
	third := newScene(t, k.with)
	if a := third.browser().do("GET", "/", "", "Cookie", "conch-"+third.port+"="+secret); a.status != http.StatusForbidden {
		t.Errorf("revoked, after a restart: %d", a.status)
	}
}

// A session lives thirty days from its last use; that it was used is written once a day, and the cookie is renewed then.
func TestSessionsAreRenewed(t *testing.T) {
	var k disk
	s := newScene(t, k.with)
	b := s.in(true)
	before := k.writes
	renewed := 0
	for range 40 * 24 {
		s.pass(time.Hour)
		a := b.do("GET", "/", "")
		if a.status != http.StatusOK {
			t.Fatal(a.status)
		}
		if c := a.header.Get("Set-Cookie"); c != "" {
			renewed++
			if !strings.Contains(c, "Max-Age=2592000") || !strings.Contains(c, "HttpOnly") {
				t.Fatal(c)
			}
		}
	}
	if writes := k.writes - before; writes != 40 || renewed != 40 {
		t.Errorf("in 40 days of visits each hour: %d writes, %d cookies", writes, renewed)
	}
	s.pass(sessionLife)
	if _, status := b.visit(); status != http.StatusOK {
		t.Errorf("after thirty days: %d", status)
	}
	s.pass(sessionLife + time.Second)
	if _, status := b.visit(); status != http.StatusForbidden || len(s.sessions.rows()) != 0 {
		t.Errorf("a second more: %d", status)
	}
}

// There are 64 at most: who was here longest ago goes, and what it has open ends.
func TestSessionsAreBounded(t *testing.T) {
	s := newScene(t)
	b := s.in(true)
	_, ended := b.stream()
	for range maxSessions {
		s.pass(time.Second)
		if _, _, err := s.sessions.begin(All, wayPlain, "x", there); err != nil {
			t.Fatal(err)
		}
	}
	within(t, "its stream ends", ended)
	if _, status := b.visit(); status != http.StatusForbidden || len(s.sessions.rows()) != maxSessions {
		t.Errorf("%d, %d sessions", status, len(s.sessions.rows()))
	}
}

// What cannot be read is no session, and no end of the page.
func TestBrokenSessions(t *testing.T) {
	for name, data := range map[string]string{
		"garbage": "x", "another kind": `{"sessions":3}`, "huge": strings.Repeat(" ", maxKept+1),
		"nothing in it": `{}`, "null": `null`, "a null": `{"sessions":[null]}`, "no hash": `{"sessions":[{"id":"a"}]}`, "half a hash": `{"sessions":[{"id":"a","hash":"YWJj"}]}`,
	} {
		k := disk{data: []byte(data)}
		var o DoorOptions
		k.with(&o)
		d, err := NewDoor(o)
		if d == nil || len(d.sessions.rows()) != 0 {
			t.Errorf("%s: %v", name, err)
		}
		if bad := name == "garbage" || name == "another kind" || name == "huge"; (err != nil) != bad || bad && !strings.Contains(err.Error(), "needs another link") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if d, err := NewDoor(DoorOptions{Load: func() ([]byte, error) { return nil, errors.New("no disk") }}); d == nil || err == nil || !strings.Contains(err.Error(), "no disk") {
		t.Errorf("%v", err)
	}
}

func FuzzSessions(f *testing.F) {
	f.Add([]byte(`{"key":"AAAA","sessions":[{"id":"a","hash":"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=","seen":"2026-01-01T00:00:00Z","rights":"all","way":"tls"}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		s, _ := newSessions(data, time.Now, nil, slog.New(slog.DiscardHandler))
		if len(s.rows()) > maxSessions || len(s.key) != secretSize {
			t.Errorf("%d sessions, a key of %d bytes", len(s.rows()), len(s.key))
		}
		if _, _, err := s.begin(All, wayTLS, "", ""); err != nil {
			t.Error(err)
		}
		s.forget(func(*session) bool { return true })
	})
}

// asked is what the control socket answers.
func asked(t *testing.T, d *Door, method, path, body string, out any) (status int, text string) {
	t.Helper()
	mux := http.NewServeMux()
	d.Mux(mux)
	w := httptest.NewRecorder()
	mux.ServeHTTP(w, httptest.NewRequest(method, path, strings.NewReader(body)))
	if out != nil && w.Code == http.StatusOK {
		if err := json.Unmarshal(w.Body.Bytes(), out); err != nil {
			t.Fatal(err)
		}
	}
	return w.Code, w.Body.String()
}

func TestControlSocket(t *testing.T) {
	var k disk
	s := newScene(t, k.with)
	var l Link
	if status, text := asked(t, s.Door, "POST", "/web/link", `{"look":true}`, &l); status != http.StatusOK || l.Seconds != 120 || l.Rights != Look || l.Reach != ReachReadable ||
		!strings.HasPrefix(l.URL, "http://"+here+":"+s.port+"/in/") {
		t.Fatalf("%d %s", status, text)
	}
	b := s.browser()
	evil := "Mozilla\x1b\u009b31m \u202eevil " + strings.Repeat("x", 2000)
	if a := b.do("POST", strings.TrimPrefix(l.URL, b.base), "", "Origin", b.base, "User-Agent", evil[:7]+evil[8:]); a.status != http.StatusSeeOther {
		t.Fatal(a.status)
	}
	v, _ := b.visit()
	var list Sessions
	asked(t, s.Door, "GET", "/web/sessions", "", &list)
	if len(list.Sessions) != 1 || list.Sessions[0].ID != v.Session || list.Sessions[0].Rights != Look || list.Sessions[0].Address != there || list.Sessions[0].Way != "plain" {
		t.Fatalf("%+v", list)
	}
	if agent := list.Sessions[0].Agent; len([]rune(agent)) > maxAgent || strings.ContainsAny(agent, "\x1b\u202e") || !strings.HasPrefix(agent, "Mozilla") {
		t.Errorf("%q", agent)
	}
	if status, text := asked(t, s.Door, "DELETE", "/web/sessions/nosuch", "", nil); status != http.StatusBadRequest || !strings.Contains(text, "conch web sessions lists them") {
		t.Errorf("%d %s", status, text)
	}
	k.full = errors.New("the disk is full")
	var r Revoked
	if status, text := asked(t, s.Door, "DELETE", "/web/sessions/"+v.Session, "", &r); status != http.StatusOK || r.Revoked != 1 || r.Unkept != "the disk is full" {
		t.Errorf("%d %s", status, text)
	}
	if status, text := asked(t, s.Door, "DELETE", "/web/sessions", "", &r); status != http.StatusOK || r.Revoked != 0 {
		t.Errorf("%d %s", status, text)
	}
	for _, path := range []string{"/web/sessions", "/web/sessions/x"} {
		if status, text := asked(t, nil, "DELETE", path, "", nil); status != http.StatusServiceUnavailable || !strings.Contains(text, "web.listen is empty") {
			t.Errorf("no page: %d %s", status, text)
		}
	}
	if status, _ := asked(t, nil, "POST", "/web/link", "{}", nil); status != http.StatusServiceUnavailable {
		t.Errorf("no page: %d", status)
	}
	if status, _ := asked(t, nil, "GET", "/web/sessions", "", &list); status != http.StatusOK || len(list.Sessions) != 0 {
		t.Errorf("no page: %d %v", status, list)
	}
	closed, _ := NewDoor(DoorOptions{Web: config.Web{Listen: "127.0.0.1:0"}})
	if _, err := closed.Link(false); !errors.Is(err, ErrNoPage) || errors.Is(err, control.ErrRefused) {
		t.Errorf("before it listens: %v", err)
	}
}
