package mqtt

import (
	"crypto/tls"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"conch/companions/round"
	"conch/mqtt/mqtttest"
)

func TestAKilledProcessIsGoneByItsLastWill(t *testing.T) {
	brokers(t, func(t *testing.T, url, _ string) {
		a := start(t, Config{URL: url}).up()
		id, p := process(t, url)
		for {
			if from, _ := next[round.Beat](a); from == id {
				break
			}
		}
		killed := time.Now()
		if err := p.Kill(); err != nil {
			t.Fatal(err)
		}
		if from, _ := next[round.Gone](a); from != id {
			t.Errorf("gone is %s; want %s", from, id)
		}
		fmt.Printf("kill -9 to last will: %v\n", time.Since(killed).Round(10*time.Microsecond))
	})
}

// A frozen process keeps its connection: the broker notices by the keep-alive.
func TestASilentPeerIsGoneByItsLastWill(t *testing.T) {
	t.Parallel()
	b := embedded(t, BrokerConfig{})
	a := start(t, Config{URL: b.URL()}).up()
	id, p := process(t, b.URL())
	for {
		if from, _ := next[round.Beat](a); from == id {
			break
		}
	}
	frozen := time.Now()
	if err := p.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	if from, _ := next[round.Gone](a); from != id {
		t.Errorf("gone is %s; want %s", from, id)
	}
	fmt.Printf("SIGSTOP to last will: %v\n", time.Since(frozen).Round(10*time.Millisecond))
}

func TestABrokerRestarts(t *testing.T) {
	m := mqtttest.Start(t, mqtttest.Options{})
	a, b := pair(t, m.URL())
	for range 3 {
		m.Kill()
		a.link(false)
		b.link(false)
		for i := range 50 { // must not come later
			a.Send(round.Ended{Place: round.Place{Number: 1, Message: round.MessageID(fmt.Sprint("stale", i))}})
		}
		if err := m.Restart(); err != nil {
			t.Fatal(err)
		}
		a.up()
		b.up()
		fresh := round.Message{ID: "fresh", From: round.Human(a.ID()), Text: "back", Number: 1}
		a.Send(fresh)
		for {
			g := mqtttest.Await(t, b.packets, "what was said after the restart")
			if e, ok := g.p.(round.Ended); ok {
				t.Fatalf("%v was delivered after the restart", e)
			}
			if got, ok := g.p.(round.Message); ok && got.ID == fresh.ID && got.Text == fresh.Text {
				break
			}
		}
	}
	if s := a.Stats(); s.Unsent[unsentOffline] < 150 || s.Connects != 4 {
		t.Errorf("%d not sent, %d links; want 150 or more, and 4", s.Unsent[unsentOffline], s.Connects)
	}
}

// What was in flight when the cable was pulled must not come when it is back: the library would send it again.
func TestNothingStaleIsDeliveredAfterACutCable(t *testing.T) {
	t.Parallel()
	m := mqtttest.Start(t, mqtttest.Options{})
	p, err := mqtttest.NewProxy(m.Addr())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	a, b := start(t, Config{URL: p.URL()}).up(), start(t, Config{URL: m.URL()}).up()
	meet(t, map[*device]round.Beat{a: cards("ada"), b: cards("ben")})
	p.Cut()
	for i := range 50 {
		a.Send(round.Ended{Place: round.Place{Number: 1, Message: round.MessageID(fmt.Sprint("stale", i))}})
	}
	a.link(false) // found out by the ping
	p.Heal()
	a.up()
	a.Send(round.Message{ID: "fresh", From: round.Human(a.ID()), Text: "back", Number: 1})
	for {
		g := mqtttest.Await(t, b.packets, "what was said afterwards")
		if e, ok := g.p.(round.Ended); ok {
			t.Fatalf("%v was delivered afterwards", e)
		}
		if _, ok := g.p.(round.Message); ok {
			break
		}
	}
}

func TestTroubleIsSaidInWords(t *testing.T) {
	dir := t.TempDir()
	secret := filepath.Join(dir, "password")
	if err := os.WriteFile(secret, []byte("open sesame\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	trouble := func(t *testing.T, cfg Config, want error) *device {
		t.Helper()
		d := start(t, cfg)
		err := mqtttest.Await(t, d.trouble, "trouble")
		if !errors.Is(err, want) {
			t.Errorf("%v; want %v", err, want)
		}
		t.Log(err)
		d.Send(round.HistoryAsk{})
		if d.Stats().Unsent[unsentOffline] == 0 {
			t.Error("what could not be sent was not counted")
		}
		return d
	}
	t.Run("password", func(t *testing.T) {
		m := mqtttest.Start(t, mqtttest.Options{Users: map[string]string{"conch": "open sesame"}})
		start(t, Config{URL: m.URL(), User: "conch", PasswordFile: secret}).up()
		trouble(t, Config{URL: m.URL(), User: "conch", Password: "open barley"}, ErrNotAuthorized)
		trouble(t, Config{URL: m.URL()}, ErrNotAuthorized)
		trouble(t, Config{URL: m.URL(), User: "conch", PasswordFile: filepath.Join(dir, "none")}, ErrSettings)
	})
	t.Run("access list", func(t *testing.T) {
		m := mqtttest.Start(t, mqtttest.Options{Users: map[string]string{"conch": "open sesame"}, ACL: "user conch\ntopic read conch/v1/#\n"})
		trouble(t, Config{URL: m.URL(), User: "conch", PasswordFile: secret}, ErrNotAuthorized)
	})
	t.Run("the embedded broker's", func(t *testing.T) {
		b := embedded(t, BrokerConfig{Admit: func(_ round.DeviceID, user string, _ *tls.ConnectionState) error {
			if user != "conch" {
				return errors.New("who are you?")
			}
			return nil
		}})
		start(t, Config{URL: b.URL(), User: "conch"}).up()
		trouble(t, Config{URL: b.URL(), User: "mallory"}, ErrNotAuthorized)
	})
	t.Run("nobody listens, then somebody does", func(t *testing.T) {
		m := mqtttest.Start(t, mqtttest.Options{})
		m.Kill()
		d := trouble(t, Config{URL: m.URL()}, ErrUnreachable)
		if err := m.Restart(); err != nil {
			t.Fatal(err)
		}
		d.up()
		if err := mqtttest.Await(t, d.trouble, "the end of the trouble"); err != nil {
			t.Errorf("%v; want nil, once", err)
		}
	})
	t.Run("a broker that takes small messages alone", func(t *testing.T) {
		m := mqtttest.Start(t, mqtttest.Options{Extra: "max_packet_size 1000"})
		d := start(t, Config{URL: m.URL()})
		d.up()
		d.Send(round.Message{ID: "m1", From: round.Human(d.ID()), Text: strings.Repeat("long ", 300), Number: 1})
		if err := mqtttest.Await(t, d.trouble, "trouble"); !errors.Is(err, errWelcomed) || errors.Is(err, ErrNoBroker) {
			t.Errorf("%v; want the broker that welcomed it", err)
		}
	})
	t.Run("no such host", func(t *testing.T) {
		trouble(t, Config{URL: "mqtt://no-such-host.invalid"}, ErrUnreachable)
	})
	t.Run("TLS on a plain port", func(t *testing.T) {
		m := mqtttest.Start(t, mqtttest.Options{})
		d := start(t, Config{URL: "mqtts://" + m.Addr()})
		t.Log(mqtttest.Await(t, d.trouble, "trouble"))
	})
}

// A device behind an address that changes: the name is looked up each time, here by way of the proxy.
func TestTheBrokerMoves(t *testing.T) {
	one, two := mqtttest.Start(t, mqtttest.Options{}), mqtttest.Start(t, mqtttest.Options{})
	p, err := mqtttest.NewProxy(one.Addr())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	a, b := pair(t, p.URL())
	p.SetTarget(two.Addr())
	one.Kill()
	a.link(false)
	b.link(false)
	a.up()
	b.up()
	a.Send(round.Press{Epoch: round.Epoch{N: 2, Device: a.ID()}})
	next[round.Press](b)
}

// Two devices with one identity, as a copied card makes them, say so, and each is alone for long enough to answer a press.
func TestTwoDevicesWithOneIdentity(t *testing.T) {
	b := embedded(t, BrokerConfig{})
	id := identity(t)
	one, other := start(t, Config{URL: b.URL(), Identity: id}), start(t, Config{URL: b.URL(), Identity: id})
	for _, d := range []*device{one, other} {
		for err := error(nil); !errors.Is(err, ErrTaken); {
			err = mqtttest.Await(t, d.trouble, "what two devices with one identity are")
		}
	}
	for len(one.links) > 0 {
		<-one.links
	}
	<-time.After(apart / 2) // of the time that passes, and is measured
	if n := len(one.links); n > 3 {
		t.Errorf("%d changes of the link in %v", n, apart/2)
	}
}
