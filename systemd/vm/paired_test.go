package vm

import (
	"encoding/json"
	"strings"
	"testing"
	"time"
)

// second is another device in the guest: another user's, without a card and a button, found by its address.
const second = `install -d -o nobody /run/second /run/second/state /run/second/run
cat >/run/second/conch.toml <<'END'
[device]
name = "second"
companion = "Ben"
[button]
source = "none"
[audio]
backend = "null"
[state]
dir = "/run/second/state"
runtime = "/run/second/run"
[room]
port = 7484
END
systemd-run --quiet --unit=second --uid=nobody conch run --config /run/second/conch.toml`

// TestPaired: the button held for five seconds opens a window of the service in its sandbox; another device joins, the service
// begins anew in the same process and unit, listens where it should, and both are a room. Then it leaves, and nothing listens.
func TestPaired(t *testing.T) {
	b := ready(t)
	b.well(2 * time.Minute)
	b.run(second)
	was := b.pid()
	listens := func() string { return b.try("ss -Hltnup | grep '\"conch\"' | grep -v '127.0.0.1:'").Out }
	if open := listens(); open != "" {
		t.Errorf("before anything was paired it listens beyond loopback:\n%s", open)
	}
	b.hand(2*time.Minute, "press\nwait 5300ms\nrelease")
	window := b.window(time.Minute)
	b.eventually(time.Minute, "the other device answers", func() bool {
		return b.try("runuser -u nobody -- conch room list --config /run/second/conch.toml 2>&1 | grep -q alone").Code == 0
	})
	joined := b.run("runuser -u nobody -- conch room join " + window.Code + " --host 127.0.0.1:7483 --config /run/second/conch.toml")
	t.Logf("%s", strings.TrimSpace(joined))
	took := b.eventually(2*time.Minute, "both are there", func() bool {
		return strings.Count(b.try("conch room list").Out, " here ") == 2
	})
	t.Logf("a room after %.1f s:\n%s", took.Seconds(), b.run("conch room list"))
	b.active(time.Minute)
	p := b.properties("NRestarts", "MainPID")
	if p["NRestarts"] != "0" || p["MainPID"] != was {
		t.Errorf("it did not begin anew by itself: %v, it was process %s", p, was)
	}
	open := listens()
	t.Logf("open now:\n%s", open)
	if !strings.Contains(open, ":7483") || !strings.Contains(open, ":5353") {
		t.Errorf("the room is not reachable, or does not say where it is:\n%s", open)
	}
	if r := b.try("conch ask Ben, what time is it"); !strings.Contains(r.Out, "Ben (second): It is") {
		t.Errorf("the other device does not answer: exit status %d\n%s", r.Code, r.Text())
	}
	b.run("conch room leave --yes")
	b.eventually(2*time.Minute, "nothing is open", func() bool { return listens() == "" })
	b.well(2 * time.Minute)
	b.answers()
}

// window is the one that the button has opened: asked for another, the service tells of the same.
func (b *box) window(limit time.Duration) (w struct{ Code string }) {
	b.t.Helper()
	b.eventually(limit, "the button has opened a window", func() bool {
		return b.try("journalctl -u conch -o cat --no-pager -b | grep -q 'event=pairing.state state=open'").Code == 0
	})
	b.run("conch room pair --json >/run/pair.json 2>&1 </dev/null &")
	b.eventually(limit, "the window's code", func() bool {
		line, _, _ := strings.Cut(b.try("cat /run/pair.json").Out, "\n")
		return json.Unmarshal([]byte(line), &w) == nil && w.Code != ""
	})
	return w
}
