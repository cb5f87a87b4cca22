package broker

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	paho "github.com/eclipse/paho.mqtt.golang"
	"go.uber.org/goleak"

	"conch/companions/round"
	"conch/mqtt"
	"conch/mqtt/mqtttest"
)

func TestMain(m *testing.M) {
	helper := os.Getenv("CONCH_BROKER_HELPER")
	if arg, ok := strings.CutPrefix(helper, "crowd "); ok {
		os.Exit(crowd(arg))
	}
	if dir, ok := strings.CutPrefix(helper, "keep "); ok {
		os.Exit(runKeeper(dir))
	}
	goleak.VerifyTestMain(m)
}

const subackFailed = 0x80

// device is a client as a test sees it.
type device struct {
	*mqtt.Client
	t       testing.TB
	packets chan round.Packet
	links   chan bool
	trouble chan error
}

// start runs a client until the test ends.
func start(t testing.TB, cfg mqtt.Config) *device {
	t.Helper()
	if cfg.Identity.PrivateKey() == nil {
		cfg.Identity = identity(t)
	}
	if cfg.Room == "" {
		cfg.Room = "kitchen"
	}
	d := &device{t: t, packets: make(chan round.Packet, 4096), links: make(chan bool, 64), trouble: make(chan error, 64)}
	cfg.OnPacket = func(_ round.DeviceID, p round.Packet) { d.packets <- p }
	cfg.OnLink = func(up bool) { d.links <- up }
	cfg.OnTrouble = func(err error) { d.trouble <- err }
	c, err := mqtt.NewClient(cfg)
	if err != nil {
		t.Fatal(err)
	}
	d.Client = c
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { _ = d.Run(ctx) })
	t.Cleanup(func() { cancel(); running.Wait() })
	return d
}

// embedded starts a broker.
func embedded(t testing.TB, cfg Config) *Broker {
	t.Helper()
	b, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.Close)
	return b
}

func identity(t testing.TB) mqtt.Identity {
	t.Helper()
	id, err := mqtt.NewIdentity()
	if err != nil {
		t.Fatal(err)
	}
	return id
}

var (
	fixedMu  sync.Mutex
	fixedIDs = map[byte]mqtt.Identity{}
)

// fixed is an identity that is the same in the whole run.
func fixed(n byte) mqtt.Identity {
	fixedMu.Lock()
	defer fixedMu.Unlock()
	if _, ok := fixedIDs[n]; !ok {
		fixedIDs[n], _ = mqtt.NewIdentity()
	}
	return fixedIDs[n]
}

func at(addr string) func(context.Context) []string {
	return func(context.Context) []string { return []string{addr} }
}

// up waits for the link.
func (d *device) up() *device {
	d.t.Helper()
	d.link(true)
	return d
}

func (d *device) link(want bool) {
	d.t.Helper()
	for {
		if mqtttest.Await(d.t, d.links, "the link") == want {
			return
		}
	}
}

// next waits for a packet of the type T, however many others come meanwhile.
func next[T round.Packet](d *device) (p T) {
	d.t.Helper()
	late := time.After(mqtttest.Patience)
	for {
		select {
		case g := <-d.packets:
			if p, ok := g.(T); ok {
				return p
			}
		case <-late:
			d.t.Fatalf("waited in vain for a %T; %+v", p, d.Stats())
		}
	}
}

// cards lets a device's companions be known.
func cards(id round.CompanionID) round.Beat {
	return round.Beat{Name: "test", Digest: "d", Budget: 300, Cards: []round.Card{{ID: id, Name: string(id)}}}
}

// meet makes two devices know each other: both have heard of the other's cards.
func meet(t testing.TB, x, y *device) {
	t.Helper()
	go func() {
		tick := time.NewTicker(50 * time.Millisecond)
		defer tick.Stop()
		ctx := t.Context()
		for {
			x.Send(cards("ada"))
			y.Send(cards("ben"))
			select {
			case <-tick.C:
			case <-ctx.Done():
				return
			}
		}
	}()
	next[round.Beat](x)
	next[round.Beat](y)
}

// raw is a client that nobody here wrote.
func raw(t testing.TB, url, id string) paho.Client {
	t.Helper()
	c := paho.NewClient(paho.NewClientOptions().AddBroker(url).SetClientID(id).SetAutoReconnect(false).SetProtocolVersion(4))
	if tok := c.Connect(); !tok.WaitTimeout(mqtttest.Patience) || tok.Error() != nil {
		t.Fatalf("connect %s: %v", id, tok.Error())
	}
	t.Cleanup(func() { c.Disconnect(100) })
	return c
}

// keepPair writes down what another process needs to be a member.
func keepPair(t testing.TB, a *mqtttest.Authority) (dir string) {
	t.Helper()
	dir = t.TempDir()
	pair := a.Issue(t, identity(t))
	key, err := x509.MarshalPKCS8PrivateKey(pair.PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	for name, block := range map[string]*pem.Block{
		"ca": {Type: "CERTIFICATE", Bytes: a.Cert.Raw}, "cert": {Type: "CERTIFICATE", Bytes: pair.Certificate[0]}, "key": {Type: "PRIVATE KEY", Bytes: key},
	} {
		if err := os.WriteFile(filepath.Join(dir, name), pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// readPair is that in the other process.
func readPair(dir string) (*tls.Config, error) {
	file := func(name string) string { return filepath.Join(dir, name) }
	pair, err := tls.LoadX509KeyPair(file("cert"), file("key"))
	if err != nil {
		return nil, err
	}
	ca, err := os.ReadFile(file("ca"))
	if err != nil {
		return nil, err
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(ca) {
		return nil, errors.New("no authority in " + file("ca"))
	}
	return &tls.Config{MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{pair}, RootCAs: pool, ServerName: "room"}, nil
}
