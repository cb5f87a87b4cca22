package doctor

import (
	"context"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"conch/device/config"
	"conch/mqtt"
	"conch/mqtt/broker"
	"conch/mqtt/membership"
)

// pairedDirs are the state directories of two devices that have paired, and the host's own view. The host is at address.
func pairedDirs(t *testing.T, address string) (host *membership.Membership, hostID mqtt.Identity, hostDir, memberDir string) {
	t.Helper()
	open := func() (string, mqtt.Identity, *membership.Membership) {
		dir := t.TempDir()
		id, err := mqtt.OpenIdentity(dir)
		if err != nil {
			t.Fatal(err)
		}
		m, err := membership.Open(dir, id, membership.Clock{})
		if err != nil {
			t.Fatal(err)
		}
		return dir, id, m
	}
	party := func(id mqtt.Identity, name string) membership.Party {
		return membership.Party{Device: id.ID(), Key: id.PublicKey(), Name: name}
	}
	hostDir, hostID, host = open()
	memberDir, memberID, member := open()
	host.ReachableAt(func() []string { return []string{address} })
	if err := host.Found("home", "kitchen", false); err != nil {
		t.Fatal(err)
	}
	welcome, err := host.Admit(t.Context(), party(memberID, "bedroom"))
	if err != nil {
		t.Fatal(err)
	}
	if err := member.Accept(party(hostID, "kitchen"), welcome); err != nil {
		t.Fatal(err)
	}
	return host, hostID, hostDir, memberDir
}

// examine is the doctor, of a device with that state.
func examine(t *testing.T, dir string, set map[string]string) Diagnosis {
	t.Helper()
	flags := map[string]string{"state.dir": dir, "state.runtime": shortDir(t), "audio.backend": "null", "button.source": "none", "room.discovery": "off", "room.port": "0"}
	for k, v := range set {
		flags[k] = v
	}
	return Examine(t.Context(), Options{LoadOptions: config.LoadOptions{Environ: []string{"HOME=" + dir}, Flags: flags}})
}

func TestDoctorOfARoomOnDisk(t *testing.T) {
	_, _, host, member := pairedDirs(t, "127.0.0.1:1")
	says(t, examine(t, t.TempDir(), nil), "paired", Note, "in no paired room", "", "five seconds")

	d := examine(t, host, nil)
	says(t, d, "paired", OK, "room home (r", "", "")
	says(t, d, "paired", OK, "2 devices, called kitchen", "", "")
	says(t, d, "certificate", OK, "good until ", "", "")
	says(t, d, "host", OK, "this device keeps the room", "", "")
	troubles(t, d)

	d = examine(t, member, nil)
	says(t, d, "host", Bad, "kitchen, which keeps the room, does not answer at 127.0.0.1:1: ", "it is off", "switch kitchen on")
	troubles(t, d)

	path := filepath.Join(member, "room", "room.json")
	if err := os.Chmod(path, 0o644); err != nil {
		t.Fatal(err)
	}
	d = examine(t, member, nil)
	says(t, d, "paired", Bad, path+": others can read it", "changed the rights", "chmod -R go= ")
	troubles(t, d)
	if err := os.WriteFile(path, []byte(`{"v":1`), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, 0o600); err != nil {
		t.Fatal(err)
	}
	d = examine(t, member, nil)
	says(t, d, "paired", Bad, path+": damaged", "a backup that was restored in part", "restore all three")
	troubles(t, d)

	if err := os.Remove(filepath.Join(host, "room", "ca.key")); err != nil {
		t.Fatal(err)
	}
	says(t, examine(t, host, nil), "paired", Bad, "ca.key is missing", "belong together", "pair again")
}

// A room moves with the whole state directory to another machine, and is damaged without its identity.
func TestARoomMovesWithItsState(t *testing.T) {
	_, id, host, _ := pairedDirs(t, "127.0.0.1:1")
	copied := func(what string) string {
		dir := t.TempDir()
		if out, err := exec.Command("cp", "-a", host+"/"+what, dir).CombinedOutput(); err != nil {
			t.Fatalf("cp: %v: %s", err, out)
		}
		return dir
	}
	whole := copied(".")
	says(t, examine(t, whole, nil), "paired", OK, "2 devices, called kitchen", "", "")
	says(t, examine(t, whole, nil), "identity", OK, string(id.ID()), "", "")
	part := copied("room")
	if _, err := mqtt.OpenIdentity(part); err != nil {
		t.Fatal(err)
	}
	says(t, examine(t, part, nil), "paired", Bad, "it belongs to device \""+string(id.ID()), "restored in part", "restore all three")
}

func TestDoctorOfACertificate(t *testing.T) {
	now := time.Date(2028, 1, 1, 12, 0, 0, 0, time.UTC)
	room := &membership.Room{Host: "h", Members: []membership.Member{{ID: "h", Name: "kitchen"}}}
	for _, c := range []struct {
		until time.Time
		level Level
		text  string
	}{
		{now.Add(400 * 24 * time.Hour), OK, "good until 2029-02-04"},
		{now.Add(20 * 24 * time.Hour), Warn, "ends on 2028-01-21, in 20 days"},
		{now.Add(-time.Hour), Bad, "ended on 2028-01-01"},
	} {
		room.CertificateUntil = c.until
		d := Diagnosis{Findings: checkCertificate(room, now)}
		says(t, d, "certificate", c.level, c.text, "", "")
		if c.level != OK {
			says(t, d, "certificate", c.level, "", "renewed by kitchen", "kitchen runs")
		}
	}
	room.CertificateUntil = now
	says(t, Diagnosis{Findings: checkCertificate(room, time.Unix(100, 0))}, "certificate", Note, "what day it is", "", "gets the time")
}

func TestDoctorOfPairingsPort(t *testing.T) {
	l, err := net.Listen("tcp", ":0")
	if err != nil {
		t.Fatal(err)
	}
	taken := map[string]string{"room.port": strconv.Itoa(l.Addr().(*net.TCPAddr).Port)}
	_, _, host, _ := pairedDirs(t, "127.0.0.1:1")
	alone := t.TempDir()
	for dir, level := range map[string]Level{alone: Warn, host: Bad} {
		d := examine(t, dir, taken)
		says(t, d, "port", level, "room.port = "+taken["room.port"], "another program has the port", "set room.port")
		troubles(t, d)
	}
	_ = l.Close()
	says(t, examine(t, alone, taken), "port", OK, "is free for pairing", "", "")
}

func TestDoctorOfDiscovery(t *testing.T) {
	dir := t.TempDir()
	says(t, examine(t, dir, nil), "discovery", Note, "room.discovery = off", "", "conch room join CODE --host NAME")
	says(t, examine(t, dir, map[string]string{"room.discovery": "own"}), "discovery", OK, "works", "", "")
	t.Setenv("DBUS_SYSTEM_BUS_ADDRESS", "unix:path="+filepath.Join(dir, "no-bus"))
	d := examine(t, dir, map[string]string{"room.discovery": "avahi"})
	says(t, d, "discovery", Warn, "avahi does not run here", "multicast DNS does not work", "set room.discovery")
	troubles(t, d)
}

// The host itself is asked: it lets a member in, and says of one that was removed that it is none.
func TestDoctorAsksTheHost(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	_ = l.Close()
	host, _, _, member := pairedDirs(t, address)
	ctx, cancel := context.WithCancel(context.Background())
	broker, err := broker.New(broker.Config{Room: host.Room().Topic(), Admit: host.Admits, Network: &broker.Network{Listen: address, TLS: host.BrokerTLS()}})
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- broker.Run(ctx) }() // awaited below
	defer func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}()
	d := examine(t, member, nil)
	says(t, d, "host", OK, "kitchen lets this device in, in ", "", "")

	id, err := mqtt.ReadIdentity(member)
	if err != nil {
		t.Fatal(err)
	}
	if err := host.Remove(t.Context(), id.ID()); err != nil {
		t.Fatal(err)
	}
	d = examine(t, member, nil)
	says(t, d, "host", Bad, "kitchen says that this device is no longer in the room", "removed it", "pair it again")
	troubles(t, d)
}
