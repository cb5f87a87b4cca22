package mqtt

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	paho "github.com/eclipse/paho.mqtt.golang"

	"conch/companions/round"
	"conch/device/benchtest"
)

// doors is a broker with both, and how to get through either.
type doors struct {
	b *Broker
	a *authority
}

func openDoors(t testing.TB) doors {
	a := newAuthority(t)
	return doors{embedded(t, BrokerConfig{Clients: 200, Network: &Network{Listen: "127.0.0.1:0", TLS: a.server(t)}}), a}
}

func (d doors) config(t testing.TB, id Identity, secure bool) Config {
	if !secure {
		return Config{Identity: id, Room: "plain", URL: d.b.URL()}
	}
	return Config{Identity: id, Room: "secure", Addresses: at(d.b.NetworkAddr().String()), TLS: d.a.client(t, id)}
}

func (d doors) raw(t testing.TB, id Identity, secure bool) paho.Client {
	o := paho.NewClientOptions().AddBroker(d.b.URL()).SetClientID(string(id.id)).SetAutoReconnect(false).SetProtocolVersion(4)
	if secure {
		conf, _ := d.a.client(t, id)()
		o = o.SetTLSConfig(conf)
		o.Servers[0].Scheme, o.Servers[0].Host = "ssl", d.b.NetworkAddr().String()
	}
	c := paho.NewClient(o)
	if tok := c.Connect(); !tok.WaitTimeout(patience) || tok.Error() != nil {
		t.Fatalf("connect: %v", tok.Error())
	}
	t.Cleanup(func() { c.Disconnect(100) })
	d.b.network.gate.mu.Lock()
	defer d.b.network.gate.mu.Unlock()
	if through := len(d.b.network.gate.open) > 0; through != secure {
		t.Fatalf("TLS is %v, and through that door went %d", secure, len(d.b.network.gate.open))
	}
	return c
}

// compare takes turns between two ways of one thing, so that whatever else the machine does meets both.
// The ratio is that of the medians.
func compare(b *testing.B, what string, n int, plain, secure func()) (ratio float64) {
	b.Helper()
	p, s := make([]time.Duration, n), make([]time.Duration, n)
	for i := range n {
		began := time.Now()
		plain()
		p[i] = time.Since(began)
		began = time.Now()
		secure()
		s[i] = time.Since(began)
	}
	slices.Sort(p)
	slices.Sort(s)
	at := func(d []time.Duration, q int) time.Duration { return d[(n-1)*q/100].Round(time.Microsecond) }
	fmt.Printf("%s, plain and TLS 1.3 in turn, %d each, %d CPUs: plain p50 %v p99 %v max %v; TLS p50 %v p99 %v max %v (p50 x%.2f, p99 x%.2f)\n",
		what, n, runtime.NumCPU(), at(p, 50), at(p, 99), at(p, 100), at(s, 50), at(s, 99), at(s, 100),
		float64(at(s, 50))/float64(at(p, 50)), float64(at(s, 99))/float64(at(p, 99)))
	return float64(at(s, 50)) / float64(at(p, 50))
}

// BenchmarkTLSAgainstPlain compares the broker's two doors: the library's own way from publish to receive, then a vote and a hush from Send to
// OnPacket, then the time until a connection stands (TCP, TLS with both certificates, CONNECT to CONNACK).
func BenchmarkTLSAgainstPlain(b *testing.B) {
	const n = 1000
	d := openDoors(b)
	library := func(secure bool) func() {
		me, other := identity(b), identity(b)
		_, payload, err := Encode("bench", me, testSession, 2, samples(me.ID())[8])
		if err != nil {
			b.Fatal(err)
		}
		pub, sub := d.raw(b, me, secure), d.raw(b, other, secure)
		heard := make(chan struct{}, 1)
		mine := topic("bench", kindStates, me.ID())
		if tok := sub.Subscribe(mine, 1, func(paho.Client, paho.Message) { heard <- struct{}{} }); !tok.WaitTimeout(patience) {
			b.Fatal("no suback")
		}
		return func() { pub.Publish(mine, 1, false, payload); <-heard }
	}
	compare(b, "publish to receive, QoS 1, library alone", n, library(false), library(true))
	devices := func(secure bool) (vote, hush func()) {
		x := start(b, d.config(b, identity(b), secure)).up()
		y := start(b, d.config(b, identity(b), secure)).up()
		x.Send(cards("ada"))
		next[round.Beat](y)
		epoch := uint64(0)
		return func() { x.Send(samples(x.ID())[8]); next[round.Votes](y) },
			func() {
				epoch++
				x.Send(round.Press{Epoch: round.Epoch{N: epoch, Device: x.ID()}})
				next[round.Press](y)
			}
	}
	plainVote, plainHush := devices(false)
	secureVote, secureHush := devices(true)
	benchtest.Times(b, "a vote over TLS, against a plain one", compare(b, "vote, Send to OnPacket", n, plainVote, secureVote), 1, 2)
	benchtest.Times(b, "a hush over TLS, against a plain one", compare(b, "hush, Send to OnPacket", n, plainHush, secureHush), 1, 2)
	connect := func(secure bool) func() {
		cfg := d.config(b, identity(b), secure)
		return func() {
			if err := Probe(context.Background(), cfg); err != nil {
				b.Fatal(err)
			}
		}
	}
	compare(b, "connect, and one subscription", 200, connect(false), connect(true))
}

// BenchmarkMemoryPerMember is what one connected device costs the broker.
func BenchmarkMemoryPerMember(b *testing.B) {
	for _, secure := range []bool{false, true} {
		heap, rss := memoryPerMember(b, 128, secure)
		fmt.Printf("128 members at the embedded broker, TLS %v, clients in another process: heap and stacks %.1f KiB each, resident %.1f KiB each\n",
			secure, float64(heap)/1024, float64(rss)/1024)
	}
}

// A room of 128 devices must fit beside everything else on a Zero 2 W (512 MB): 16 MB for all their connections are allowed.
func TestMembersFitIntoMemory(t *testing.T) {
	if heap, rss := memoryPerMember(t, 128, true); heap > 128<<10 {
		t.Errorf("%d bytes a member (%d resident); at most 128 KiB", heap, rss)
	} else {
		t.Logf("%d bytes a member, %d resident", heap, rss)
	}
}

func memoryPerMember(t testing.TB, n int, secure bool) (heap, rss int) {
	t.Helper()
	d := openDoors(t)
	dir := t.TempDir()
	id := identity(t)
	pair := d.a.issue(t, id)
	key, err := x509.MarshalPKCS8PrivateKey(id.key)
	if err != nil {
		t.Fatal(err)
	}
	for name, block := range map[string]*pem.Block{
		"ca": {Type: "CERTIFICATE", Bytes: d.a.cert.Raw}, "cert": {Type: "CERTIFICATE", Bytes: pair.Certificate[0]}, "key": {Type: "PRIVATE KEY", Bytes: key},
	} {
		if err := os.WriteFile(filepath.Join(dir, name), pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	addr := d.b.Addr().String()
	if secure {
		addr = d.b.NetworkAddr().String()
	}
	heap0, rss0 := footprint(t)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), fmt.Sprintf("CONCH_MQTT_HELPER=crowd %d %v %s %s", n, secure, addr, dir))
	cmd.Stderr = os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = cmd.Process.Kill(); _ = cmd.Wait() }()
	ready := make(chan bool, 1)
	go func() { ready <- bufio.NewScanner(out).Scan() }()
	if !await(t, ready, "the crowd") || len(d.b.Clients()) != n {
		t.Fatalf("%d of %d are there", len(d.b.Clients()), n)
	}
	heap1, rss1 := footprint(t)
	return (heap1 - heap0) / n, (rss1 - rss0) / n
}

func footprint(t testing.TB) (heap, rss int) {
	t.Helper()
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	text, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		t.Fatal(err)
	}
	pages, _ := strconv.Atoi(strings.Fields(string(text))[1])
	return int(m.HeapAlloc + m.StackInuse), pages * os.Getpagesize()
}

// crowd is a process with many clients: they have said something and are quiet.
func crowd(arg string) int {
	f := strings.SplitN(arg, " ", 4)
	n, _ := strconv.Atoi(f[0])
	file := func(name string) string { return filepath.Join(f[3], name) }
	conf, err := (&Config{CAFile: file("ca"), CertFile: file("cert"), KeyFile: file("key")}).tlsConfig(target{url: &url.URL{Host: "room"}})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	conf.ServerName, conf.MinVersion = "room", tls.VersionTLS13
	for range n {
		id, err := NewIdentity()
		if err != nil {
			return 1
		}
		scheme := "tcp://"
		if f[1] == "true" {
			scheme = "ssl://"
		}
		o := paho.NewClientOptions().AddBroker(scheme + f[2]).SetClientID(string(id.id)).SetProtocolVersion(4).SetTLSConfig(conf)
		c := paho.NewClient(o)
		if tok := c.Connect(); !tok.WaitTimeout(patience) || tok.Error() != nil {
			fmt.Fprintln(os.Stderr, tok.Error())
			return 1
		}
		for _, tok := range []paho.Token{
			c.SubscribeMultiple(filters("kitchen", false, true), func(paho.Client, paho.Message) {}),
			c.Publish(topic("kitchen", kindStates, id.id), 1, false, make([]byte, 600)),
		} {
			if !tok.WaitTimeout(patience) || tok.Error() != nil {
				fmt.Fprintln(os.Stderr, tok.Error())
				return 1
			}
		}
	}
	fmt.Println("there")
	select {}
}
