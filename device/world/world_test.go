package world

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"conch/coordinator/turn"
	"conch/device/condition"
	"conch/device/config"
	"conch/device/provider"
	"conch/device/system"
)

// The clock is set, the network comes: what is told apart, and what is no change.
func TestWorldSeesJumpsAndNetworks(t *testing.T) {
	start := time.Date(1970, 1, 1, 0, 0, 10, 0, time.UTC)
	var w memory
	for i, c := range []struct {
		mono      time.Duration
		wall      time.Duration // after start
		addresses int
		jumped    time.Duration
		connected bool
	}{
		{0, 0, 0, 0, false}, // the first look compares with nothing
		{2 * time.Second, 2 * time.Second, 0, 0, false},
		{4 * time.Second, 4*time.Second + 30*time.Second, 0, 0, false},        // a clock that is being disciplined
		{6 * time.Second, 6*time.Second + 30*time.Second, 1, 0, true},         // an address
		{8 * time.Second, 8*time.Second + 30*time.Second, 3, 0, true},         // more of them
		{10 * time.Second, 10*time.Second + 30*time.Second, 2, 0, false},      // fewer
		{12 * time.Second, 12*time.Second + 30*time.Second, -1, 0, false},     // nobody knows
		{14 * time.Second, 14*time.Second + 30*time.Second, 2, 0, false},      // known again: not new
		{16 * time.Second, 30 * 365 * 24 * time.Hour, 2, 1, false},            // set
		{18 * time.Second, 30*365*24*time.Hour + 2*time.Second, 2, 0, false},  // and right since
		{20 * time.Second, 29*365*24*time.Hour + 4*time.Second, 2, -1, false}, // set back
	} {
		jumped, connected := w.compare(seen{wall: start.Add(c.wall), mono: c.mono, addresses: c.addresses})
		if jumped > 0 != (c.jumped > 0) || jumped < 0 != (c.jumped < 0) || connected != c.connected {
			t.Errorf("look %d: jumped by %s, connected: %v", i, jumped, connected)
		}
	}
}

// Addresses are asked for when the kernel says that they changed, and seldom besides.
func TestAddressesAreSeldomCounted(t *testing.T) {
	var w memory
	counted := 0
	const looks = 600 // 20 minutes
	for i := range looks {
		changed := i == 100
		if w.count(changed) {
			counted++
		} else if i < 2 || changed {
			t.Errorf("look %d, changed: %v: not counted", i, changed)
		}
		w.known = true
	}
	if least, most := looks/recount, looks/recount+4; counted < least || counted > most {
		t.Errorf("counted %d times in %d looks; want %d to %d", counted, looks, least, most)
	}
}

// A network that flaps once a second for a minute: at once at first, then rarely, and once more when it has come to rest.
func TestWorldNudgesWithinBounds(t *testing.T) {
	var w memory
	var nudged []time.Duration
	for now := time.Second; now < 2*time.Minute; now += time.Second {
		if w.may(now, now <= time.Minute) {
			nudged = append(nudged, now)
		}
	}
	if len(nudged) < 5 || nudged[2] != 3*time.Second || nudged[len(nudged)-1] < time.Minute {
		t.Errorf("nudges at %v; want three at once, and the last when it is over", nudged)
	}
	for i := nudgeBurst; i < len(nudged); i++ {
		if nudged[i]-nudged[i-nudgeBurst] < nudgeSpan {
			t.Errorf("nudges at %v: more than %d in %s", nudged, nudgeBurst, nudgeSpan)
		}
	}
	if w.may(3*time.Minute, false) || !w.may(4*time.Minute, true) {
		t.Error("a nudge without a change, or none with one")
	}
}

// Key, clock and network are conditions with a remedy each, and end by themselves.
func TestWorldIsJudged(t *testing.T) {
	cfg := config.Default()
	d := New(Options{Config: &cfg, Conditions: condition.NewBook(slog.New(slog.DiscardHandler))})
	d.o.Config.Voice.Kind, d.o.Config.Voice.URL = "realtime", "wss://example.org/v1"
	good := seen{wall: time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC), addresses: 1}
	expect := func(what string, codes ...condition.Code) {
		t.Helper()
		list := d.o.Conditions.List()
		ok := len(list) == len(codes)
		for _, c := range codes {
			ok = ok && d.o.Conditions.Holds(c)
		}
		for _, c := range list {
			ok = ok && c.Text != "" && c.Do != ""
		}
		if !ok {
			t.Errorf("%s: conditions %+v; want %v, each with text and remedy", what, list, codes)
		}
	}
	d.judge(good)
	expect("all is well")
	s := good
	s.key = "config: voice.key: empty"
	d.judge(s)
	expect("a key that cannot be used", condition.KeyBroken)
	s = good
	s.wall = time.Unix(100, 0)
	d.judge(s)
	expect("1970", condition.ClockWrong)
	d.Early(true)
	d.judge(good)
	expect("no certificate is valid yet", condition.ClockWrong)
	d.Early(false)
	s = good
	s.addresses = 0
	d.judge(s)
	expect("no network", condition.NetworkLost)
	d.o.Config.Voice.URL = "ws://127.0.0.1:8080/v1"
	d.judge(s)
	expect("no network, and none is needed")
	s.addresses = -1
	d.o.Config.Voice.URL = "wss://example.org/v1"
	d.judge(s)
	expect("nobody knows")
}

// The kernel tells of a link that comes up; seen in a network namespace of this test's own.
func TestNetworkChangesAreNoticed(t *testing.T) {
	ip, err := exec.LookPath("ip")
	if err != nil {
		t.Skip("no ip command (package iproute2)")
	}
	type result struct {
		socket error
		ip     string
	}
	done := make(chan result, 1)
	changes := make(chan struct{}, 1)
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		runtime.LockOSThread() // never unlocked: the thread, which is in another namespace, ends with the goroutine
		if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
			done <- result{socket: err}
			return
		}
		socket, err := system.Network(true)
		if err != nil {
			done <- result{socket: err}
			return
		}
		out, err := exec.Command(ip, "link", "set", "lo", "up").CombinedOutput() // inherits this thread's namespace
		if err != nil {
			done <- result{ip: string(out)}
			_ = socket.Close()
			return
		}
		_ = readNetwork(ctx, socket, changes)
		done <- result{}
	}()
	select {
	case <-changes:
	case r := <-done:
		if errors.Is(r.socket, unix.EPERM) {
			t.Skip("no right to make a network namespace")
		}
		t.Fatalf("%+v", r)
	case <-time.After(20 * time.Second):
		t.Error("the link came up, and nobody said so")
	}
	cancel()
	<-done
}

// A key file that is broken is held against; mended, it is there at once.
func TestBrokenKeyHeals(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "key")
	for name, spoil := range map[string]func() error{
		"missing":     func() error { return nil },
		"empty":       func() error { return os.WriteFile(path, nil, 0o600) },
		"garbage":     func() error { return os.WriteFile(path, []byte("two\nlines"), 0o600) },
		"binary":      func() error { return os.WriteFile(path, []byte{0, 1, 2, 0xff}, 0o600) },
		"a directory": func() error { return os.Mkdir(path, 0o700) },
	} {
		if err := spoil(); err != nil {
			t.Fatal(err)
		}
		cfg, err := config.Load(config.LoadOptions{Flags: map[string]string{"voice.key_file": path}, Environ: []string{}, Keyless: true})
		if err != nil {
			t.Errorf("%s: Load: %v; want that the rest loads", name, err)
			continue
		}
		d := New(Options{Config: cfg})
		if kind, _ := provider.Kind(cfg); kind.Name != "realtime" || cfg.KeyTrouble() == "" || d.Hold() != turn.WordsKeyBroken {
			t.Errorf("%s: voice %s, trouble %q, hold %q; want that it does not pretend", name, kind.Name, cfg.KeyTrouble(), d.Hold())
		}
		_ = os.RemoveAll(path)
		if err := os.WriteFile(path, []byte("sk-good\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		if d.o.Config.KeyTrouble() != "" || d.Hold() != "" || d.o.Config.LiveKey() != "sk-good" {
			t.Errorf("%s: mended, and yet %q", name, d.o.Config.KeyTrouble())
		}
		_ = os.RemoveAll(path)
	}
	if _, err := config.Load(config.LoadOptions{Flags: map[string]string{"voice.key_file": path}, Environ: []string{}}); err == nil {
		t.Error("conch check must refuse a key that cannot be read")
	}
}

// A host is here or elsewhere.
func TestNeedsNetwork(t *testing.T) {
	cfg := config.Default()
	d := New(Options{Config: &cfg})
	d.o.Config.Voice.Kind = "realtime"
	for url, want := range map[string]bool{
		"wss://api.openai.com/v1/realtime": true, "ws://127.0.0.1:8080/": false, "ws://[::1]:8080/": false, "ws://localhost:1/": false, "ws://192.168.1.5/": true,
	} {
		if d.o.Config.Voice.URL = url; d.needsNetwork() != want {
			t.Errorf("%s: needs the network: %v", url, !want)
		}
	}
	d.o.Config.Voice.Kind = "rehearsal"
	if d.needsNetwork() {
		t.Error("a rehearsal voice needs no network")
	}
	if d.o.Config.Room.Broker = "mqtt://broker.lan"; !d.needsNetwork() {
		t.Error("a broker elsewhere needs it")
	}
}
