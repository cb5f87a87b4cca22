package broker

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"log/slog"
	"net"
	"os/exec"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"conch/companions/round"
	"conch/mqtt"
	"conch/mqtt/mqtttest"
)

func TestTheDoorRoutesByWhatIsSpoken(t *testing.T) {
	a := mqtttest.NewAuthority(t)
	window := make(chan *tls.Config, 1) // holds the open window
	paired := make(chan string, 1)
	b := embedded(t, Config{Network: &Network{
		Listen: "127.0.0.1:0", TLS: a.Server(t, fixed(1)),
		Pairing: func() *tls.Config {
			select {
			case c := <-window:
				window <- c
				return c
			default:
				return nil
			}
		},
		Pair: func(c net.Conn) {
			buf := make([]byte, 16)
			n, _ := c.Read(buf)
			paired <- string(buf[:n]) + " " + c.(*tls.Conn).ConnectionState().NegotiatedProtocol
		},
	}})
	addr := b.NetworkAddr().String()
	d := start(t, mqtt.Config{Identity: fixed(2), Addresses: at(addr), TLS: a.Client(t, fixed(2))}).up()
	if got := b.Clients(); len(got) != 1 || got[0] != d.ID() {
		t.Errorf("%v", got)
	}
	dial := func() (*tls.Conn, error) {
		return tls.Dial("tcp", addr, &tls.Config{InsecureSkipVerify: true, NextProtos: []string{mqtt.ALPNPair}, MinVersion: tls.VersionTLS13})
	}
	if c, err := dial(); err == nil {
		_ = c.Close()
		t.Error("pairing without a window")
	}
	window <- &tls.Config{Certificates: []tls.Certificate{a.Issue(t, fixed(1))}}
	c, err := dial()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Write([]byte("hello")); err != nil {
		t.Fatal(err)
	}
	if got := mqtttest.Await(t, paired, "the pairing"); got != "hello "+mqtt.ALPNPair {
		t.Errorf("%q", got)
	}
	_ = c.Close()
	<-window
	if c, err := dial(); err == nil {
		_ = c.Close()
		t.Error("pairing after the window")
	}
	if got := b.Clients(); len(got) != 1 {
		t.Errorf("%v", got)
	}
}

func TestADoorWithoutCertificatesIsNotOpened(t *testing.T) {
	a := mqtttest.NewAuthority(t)
	for name, conf := range map[string]*tls.Config{"no TLS": nil, "no client's certificate": {Certificates: []tls.Certificate{a.Issue(t, fixed(1))}}} {
		if b, err := New(Config{Network: &Network{Listen: "127.0.0.1:0", TLS: conf}}); err == nil {
			b.Close()
			t.Errorf("%s: open", name)
		}
	}
	b := embedded(t, Config{Network: &Network{Listen: "127.0.0.1:0", TLS: a.Server(t, fixed(1))}})
	_, err := New(Config{Network: &Network{Listen: b.NetworkAddr().String(), TLS: a.Server(t, fixed(1))}})
	if err == nil || !strings.Contains(err.Error(), "choose another one") {
		t.Errorf("%v", err)
	}
}

// Connections that say nothing, from many addresses, and more of them than the door takes: a member comes in all the same.
func TestStrangersDoNotKeepMembersOut(t *testing.T) {
	a := mqtttest.NewAuthority(t)
	b := embedded(t, Config{Network: &Network{Listen: "127.0.0.1:0", TLS: a.Server(t, fixed(1))}})
	addr := b.NetworkAddr().String()
	for i := range 200 {
		from := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 1, byte(1+i/10))}}
		c, err := from.Dial("tcp", addr)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = c.Close() }()
	}
	d := start(t, mqtt.Config{Identity: fixed(2), Addresses: at(addr), TLS: a.Client(t, fixed(2))}).up()
	if n := d.Stats().Connects; n != 1 {
		t.Errorf("%d connections", n)
	}
	b.network.gate.mu.Lock()
	strangers, open := len(b.network.gate.strangers), len(b.network.gate.open)
	b.network.gate.mu.Unlock()
	if strangers > maxStrangers || open > maxStrangers+1 {
		t.Errorf("%d strangers of %d connections", strangers, open)
	}
	// One address alone cannot even use them up.
	for range maxFromOne + 8 {
		c, err := net.Dial("tcp", addr)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = c.Close() }()
	}
	out, _ := exec.Command("openssl", "s_client", "-connect", addr).CombinedOutput()
	if strings.Contains(string(out), "BEGIN CERTIFICATE") {
		t.Errorf("one more of the same address is served: %s", out)
	}
}

// The first address is dead, the second one somebody else's, the third one says nothing.
func TestTheBrokerIsFoundAmongAddresses(t *testing.T) {
	a, other := mqtttest.NewAuthority(t), mqtttest.NewAuthority(t)
	b := embedded(t, Config{Network: &Network{Listen: "127.0.0.1:0", TLS: a.Server(t, fixed(1))}})
	foreign := embedded(t, Config{Network: &Network{Listen: "127.0.0.1:0", TLS: other.Server(t, fixed(1))}})
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = silent.Close() }()
	reached := make(chan string, 4)
	addr := b.NetworkAddr().String()
	start(t, mqtt.Config{
		Identity: fixed(2), TLS: a.Client(t, fixed(2)), OnReached: func(s string) { reached <- s },
		Addresses: func(context.Context) []string {
			return []string{"127.0.0.1:1", foreign.NetworkAddr().String(), silent.Addr().String(), addr}
		},
	}).up()
	if got := mqtttest.Await(t, reached, "where it was"); got != addr {
		t.Errorf("%s; want %s", got, addr)
	}
	d := start(t, mqtt.Config{Identity: fixed(3), TLS: a.Client(t, fixed(3)), Addresses: func(context.Context) []string { return nil }})
	if err := mqtttest.Await(t, d.trouble, "trouble"); !strings.Contains(err.Error(), mqtt.ErrNoAddress.Error()) {
		t.Errorf("%v", err)
	}
	if _, err := mqtt.NewClient(mqtt.Config{Room: "kitchen", Identity: fixed(3), Addresses: at(addr), OnPacket: func(round.DeviceID, round.Packet) {}}); err == nil {
		t.Error("a client that would take any broker")
	}
}

// Whoever has himself refused without end writes little into the log, and what was left out is counted.
func TestRefusalsFillNoLog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		d := &listener{gate: &gate{}, log: slog.New(slog.NewJSONHandler(&log, nil))}
		for range 36000 { // ten a second, an hour long
			d.refused("pairing is closed", &net.TCPAddr{})
			time.Sleep(100 * time.Millisecond)
		}
		lines, all := 0, 0
		for dec := json.NewDecoder(&log); ; {
			var line struct{ More int }
			if dec.Decode(&line) != nil {
				break
			}
			lines, all = lines+1, all+1+line.More
		}
		if lines > 16+120+1 || all < 36000-10*30-1 {
			t.Errorf("%d lines tell of %d of 36000 refusals", lines, all)
		}
	})
}
