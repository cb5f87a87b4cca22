package web_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"

	"conch/device/control"
)

// reader is a page that reads when it is told to.
type reader struct {
	t     *testing.T
	lines *bufio.Scanner
}

// reads opens the events at a socket that takes little.
func (h *house) reads(t *testing.T) *reader {
	t.Helper()
	at := strings.Trim(strings.TrimPrefix(h.url, "http:"), "/")
	d := net.Dialer{Control: func(_, _ string, c syscall.RawConn) (err error) {
		if bad := c.Control(func(fd uintptr) { err = syscall.SetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_RCVBUF, 4096) }); bad != nil {
			return bad
		}
		return err
	}}
	c, err := d.DialContext(t.Context(), "tcp", at)
	if err != nil {
		t.Fatal(err)
	}
	_ = c.SetDeadline(time.Now().Add(patience))
	if _, err := fmt.Fprintf(c, "GET /events HTTP/1.1\r\nHost: %s\r\n\r\n", at); err != nil {
		t.Fatal(err)
	}
	resp, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = c.Close() // first: of a body the rest is read
		_ = resp.Body.Close()
	})
	if resp.StatusCode != http.StatusOK {
		t.Fatalf("the events: %s", resp.Status)
	}
	r := &reader{t: t, lines: bufio.NewScanner(resp.Body)}
	r.lines.Buffer(nil, 1<<20)
	return r
}

// next is the next event.
func (r *reader) next() (kind string, e control.Event) {
	r.t.Helper()
	for r.lines.Scan() {
		name, text, _ := strings.Cut(r.lines.Text(), ": ")
		switch {
		case name == "event":
			kind = text
		case name == "data":
			if err := json.Unmarshal([]byte(text), &e); err != nil {
				r.t.Fatal(err)
			}
		case name == "" && kind != "":
			return kind, e
		}
	}
	r.t.Fatalf("the events end: %v", r.lines.Err())
	return "", e
}

// pictures are the next events, one of each device.
func (r *reader) pictures() map[string]control.Picture {
	r.t.Helper()
	all := map[string]control.Picture{}
	for range places {
		kind, e := r.next()
		var p control.Picture
		if err := json.Unmarshal(e.Data, &p); kind != "picture" || err != nil {
			r.t.Fatalf("%s of %s in place of a picture: %v", kind, e.Device, err)
		}
		all[e.Device] = p
	}
	return all
}

// drown tells of the kitchen until its page has fallen behind, which the feed finds out without waiting for anybody; then it tells of what
// that page misses. It says how much it told.
func (h *house) drown() (told int) {
	h.t.Helper()
	much := strings.Repeat("much ", 6000)
	for h.feeds["kitchen"].Watching() > 0 {
		if told++; told > 20_000 {
			h.t.Fatalf("%d events of %d bytes wait for a page that does not read", told, len(much))
		}
		h.does("kitchen", control.Doing{State: "IDLE", Level: told % 100, Asked: much})
	}
	h.mu.Lock()
	p := h.pictures["kitchen"]
	p.Status.Volume = 33
	h.pictures["kitchen"] = p
	h.mu.Unlock()
	h.question("kitchen", "missed", "what did I miss", "ada")
	h.turn("ada", "t-missed", "This much.", "This much.", 0)
	return told
}

// A page that stops reading costs nobody anything. When it reads again it gets what had waited for it, is told that it fell behind, and gets
// new pictures, with what it missed and how things are now; from then on what happens.
func TestAPageThatFallsBehind(t *testing.T) {
	h := inhabited(t, houseOptions{})
	r := h.reads(t)
	if p := r.pictures()["kitchen"]; p.Status.Volume != 70 || len(p.Recent) != 0 {
		t.Errorf("at first: %+v", p)
	}
	told := h.drown()
	got := 0
	kind, e := r.next()
	for ; kind != "behind"; kind, e = r.next() {
		if e.Kind == control.EventDoing {
			got++
		}
	}
	if got >= told || got < 256 {
		t.Errorf("it was behind, and has got %d of %d events: 256 wait for each", got, told)
	}
	now := r.pictures()
	kitchen := now["kitchen"]
	if kitchen.Status.Volume != 33 || now["hall"].Status.Volume != 70 {
		t.Errorf("the new pictures have the volumes %d and %d", kitchen.Status.Volume, now["hall"].Status.Volume)
	}
	missed := kitchen.Recent
	if len(missed) != 3 || missed[0].Kind != control.EventEntry || missed[2].Kind != control.EventTurn || !strings.Contains(string(missed[2].Data), "This much.") {
		t.Errorf("of what was missed the picture has %+v", missed)
	}
	h.does("kitchen", control.Doing{State: "LISTENING"})
	if kind, e = r.next(); kind != "doing" || !strings.Contains(string(e.Data), "LISTENING") {
		t.Errorf("and then: %s %s", kind, e.Data)
	}
	t.Logf("%d events told, %d read, then new pictures", told, got)
}

// The same in a browser: a page that is busy for seconds is told so, and shows how things are.
func TestABusyPageFallsBehind(t *testing.T) {
	h := build(t, houseOptions{})
	l := desk
	l.before = `(() => {
		const add = EventSource.prototype.addEventListener;
		globalThis.behind = 0;
		EventSource.prototype.addEventListener = function (kind, ...rest) {
			if (kind === 'behind') add.call(this, kind, () => { behind++; });
			return add.call(this, kind, ...rest);
		};
	})()`
	b := h.visit(l)
	js[bool](b, `(setTimeout(() => { const end = performance.now() + 5000; globalThis.busy = true; while (performance.now() < end); }), true)`)
	told := h.drown()
	b.until(`behind === 1`)
	b.until(`document.getElementById('volume').value === '33' && document.getElementById('volume-text').textContent === '33 %'`)
	b.until(bubble("Ada") + `?.querySelector('.heard').textContent === 'This much.'`)
	if n := js[int](b, `document.querySelectorAll('.bubble').length`); n != 2 {
		t.Errorf("what was missed is %d bubbles", n)
	}
	h.does("kitchen", control.Doing{State: "LISTENING"})
	b.until(`document.getElementById('now').textContent === 'kitchen is listening'`)
	t.Logf("%d events told", told)
}
