package main

import (
	"encoding/json"
	"errors"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"conch/device/config"
	"conch/device/control"
	"conch/mqtt/mqtttest"
)

// control is the appliance's socket.
func (m *manager) control() *control.Remote {
	m.t.Helper()
	cfg := config.Default()
	cfg.State.Runtime = filepath.Join(m.dir, "conch")
	r, err := control.Dial(cfg)
	if err != nil {
		m.t.Fatal(err)
	}
	return r
}

// ask is one request that must be granted.
func (m *manager) ask(method, path string, in, out any) {
	m.t.Helper()
	if err := m.control().Do(m.t.Context(), method, path, in, out); err != nil {
		m.t.Fatalf("%s %s: %v", method, path, err)
	}
}

// unusedPort is one that nobody has right now.
func unusedPort(t *testing.T) string {
	t.Helper()
	port, err := mqtttest.FreePort("127.0.0.1")
	if err != nil {
		t.Fatal(err)
	}
	return port
}

// Two services that pair become members of a room without an end of either: the same process says RELOADING=1, and READY=1 when
// it is there again, is fed in between, has written its log to the last line, and answers what was asked at the other.
func TestServicesPairAndBeginAnew(t *testing.T) {
	t.Parallel()
	var all []*manager
	for _, who := range []struct{ name, companion string }{{"kitchen", "Ada"}, {"hall", "Ben"}} {
		m := serve(t, 10*time.Second, "CONCH_DEVICE_NAME="+who.name, "CONCH_DEVICE_COMPANION="+who.companion, "CONCH_ROOM_PORT="+unusedPort(t), "CONCH_ROOM_DISCOVERY=off")
		m.until("ready", func() bool { return m.count("READY=1") == 1 })
		all = append(all, m)
	}
	kitchen, hall := all[0], all[1]
	var opened control.PairOpened
	kitchen.ask("POST", "/room/pair", struct{}{}, &opened)
	_, port, err := net.SplitHostPort(firstOf(opened.Addresses))
	if err != nil || len(opened.Code) != 6 {
		t.Skipf("this machine has no address besides loopback, at which the hall would find the kitchen again (%v)", opened.Addresses)
	}
	var line control.PairingLine
	hall.ask("POST", "/room/join", control.JoinRequest{Code: opened.Code, Host: "127.0.0.1:" + port}, &line)
	if line.State != control.PairingPaired || line.Peer != "kitchen" || !line.Restarts {
		t.Errorf("the hall: %+v", line)
	}
	for _, m := range all {
		m.until("ready again", func() bool { return m.count("READY=1") == 2 })
		said := strings.Join(m.heard(), "\n")
		if reload := strings.Index(said, "RELOADING=1\nMONOTONIC_USEC="); reload < 0 || !strings.Contains(said[reload:], "WATCHDOG=1") || m.count("STOPPING=1") > 0 {
			t.Errorf("beginning anew is told as %q", said)
		}
		if log := m.logged(); !strings.Contains(log, "event=device.restart") {
			t.Error("the log does not say that it begins anew")
		}
		if strings.Contains(m.logged(), opened.Code) {
			t.Error("the code is in the log")
		}
	}
	var room control.RoomStatus
	for _, m := range all { // the hall last
		m.until("in the room", func() bool {
			room = control.RoomStatus{}
			return m.control().Do(t.Context(), "GET", "/room", nil, &room) == nil && room.Connected && len(room.Members) == 2 && len(room.Members[1].Cards) == 1
		})
	}
	var a control.Answer
	kitchen.ask("POST", "/ask", map[string]any{"text": "Ben, what time is it", "to": []string{"Ben"}}, &a)
	if a.Who != "Ben" || a.Place != "hall" {
		t.Errorf("the answer: %+v", a)
	}
	text, _ := json.Marshal(room.Paired)
	if room.Paired == nil || len(room.Paired.Members) != 2 || room.Paired.Members[0].Name != "hall" || !room.Paired.Members[1].Host {
		t.Errorf("the hall's room: %s", text)
	}

	for _, m := range all { // while they run
		m.until("the ledger is written", func() bool {
			_, err := os.Stat(filepath.Join(m.dir, "state", "conch", "ledger.jsonl"))
			return err == nil
		})
		onlyTheOwners(t, filepath.Join(m.dir, "state", "conch"))
	}

	// Out again: the hall is itself anew, once more, and alone.
	hall.ask("POST", "/room/leave", struct{}{}, nil)
	hall.until("ready a third time", func() bool { return hall.count("READY=1") == 3 })
	if s := hall.status(); s.Paired != nil {
		t.Errorf("after leaving it is in %+v", s.Paired)
	}
	kitchen.until("the kitchen knows", func() bool { return len(kitchen.status().Paired.Members) == 1 })
	for _, m := range all {
		if code := m.end(); code != 0 {
			t.Errorf("it ends with status %d", code)
		}
		onlyTheOwners(t, filepath.Join(m.dir, "state", "conch"))
	}

	// What an older conch has left open, or somebody who copied a backup, is closed at the next start.
	dir := filepath.Join(kitchen.dir, "state", "conch")
	for _, wide := range []string{"ledger.jsonl", "volume.json"} {
		if err := os.WriteFile(filepath.Join(dir, wide), nil, 0o644); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(filepath.Join(dir, wide), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	again := serveIn(t, kitchen.dir, 10*time.Second, "CONCH_ROOM_DISCOVERY=off", "CONCH_ROOM_PORT="+unusedPort(t))
	again.until("ready", func() bool { return again.count("READY=1") == 1 })
	onlyTheOwners(t, dir)
	again.end()
}

// onlyTheOwners says what in a state directory others could open. The programs of these tests run under umask 022 (TestMain).
func onlyTheOwners(t *testing.T, dir string) {
	t.Helper()
	seen := 0
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := e.Info()
		if errors.Is(err, fs.ErrNotExist) { // it was being written
			return nil
		}
		if err != nil {
			return err
		}
		want := fs.FileMode(0o600)
		if e.IsDir() {
			want = 0o700
		}
		if seen++; info.Mode().Perm() != want {
			t.Errorf("%s has mode %04o; want %04o", path, info.Mode().Perm(), want)
		}
		return nil
	})
	if err != nil || seen < 5 {
		t.Errorf("%d files looked at, %v; this proves nothing", seen, err)
	}
}

func firstOf(all []string) string {
	if len(all) == 0 {
		return ""
	}
	return all[0]
}
