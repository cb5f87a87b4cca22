package broker

import (
	"bufio"
	"context"
	"crypto/tls"
	"fmt"
	"os"
	"os/exec"
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
	"conch/mqtt"
	"conch/mqtt/mqtttest"
)

// doors is a broker with both, and how to get through either.
type doors struct {
	b *Broker
	a *mqtttest.Authority
}

func openDoors(t testing.TB) doors {
	a := mqtttest.NewAuthority(t)
	return doors{embedded(t, Config{Clients: 200, Limits: Limits{unlimited: true}, Network: &Network{Listen: "127.0.0.1:0", TLS: a.Server(t, fixed(1))}}), a}
}

func (d doors) config(t testing.TB, id mqtt.Identity, secure bool) mqtt.Config {
	if !secure {
		return mqtt.Config{Identity: id, Room: "plain", URL: d.b.URL(), Bounds: unbounded}
	}
	return mqtt.Config{Identity: id, Room: "secure", Bounds: unbounded, Addresses: at(d.b.NetworkAddr().String()), TLS: d.a.Client(t, id)}
}

func (d doors) raw(t testing.TB, id mqtt.Identity, secure bool) paho.Client {
	o := paho.NewClientOptions().AddBroker(d.b.URL()).SetClientID(string(id.ID())).SetAutoReconnect(false).SetProtocolVersion(4)
	if secure {
		conf, _ := d.a.Client(t, id)()
		o = o.SetTLSConfig(conf)
		o.Servers[0].Scheme, o.Servers[0].Host = "ssl", d.b.NetworkAddr().String()
	}
	c := paho.NewClient(o)
	if tok := c.Connect(); !tok.WaitTimeout(mqtttest.Patience) || tok.Error() != nil {
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

// unbounded is for benchmarks that say one thing after the other.
var unbounded = mqtt.Bounds{Envelopes: fast, Bytes: fast, Presses: fast, All: fast}

var fast = mqtt.Rate{Second: 1e12, AtOnce: 1e12}

// votes are what a device says most.
func votes(id round.DeviceID) round.Votes {
	return round.Votes{Place: round.Place{Epoch: round.Epoch{N: 3, Device: id}, Number: 1, Message: "01J9Z3"}, Votes: []round.Vote{{
		From: "ada", MessageID: "01J9Z3", State: round.StateSpeak, Importance: 7.5, Closing: round.ClosingNone,
		Reason: "a question about <bread> & more", Terms: []round.Term{{Name: "expertise", Value: 5, Why: "bread"}}, Spoke: 4,
	}}}
}

// subscriptions are those of a paired device.
var subscriptions = func() map[string]byte {
	out := map[string]byte{}
	for _, k := range []mqtt.Kind{mqtt.KindPresence, mqtt.KindMessages, mqtt.KindStates, mqtt.KindFloor, mqtt.KindMembers} {
		out[mqtt.TopicRoot+"kitchen/"+string(k)+"/+"] = 0
	}
	return out
}()

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
		_, payload, err := mqtt.Encode("bench", me, "AAAAAAAAAAAAAAAAAAAAAA", 2, votes(me.ID()))
		if err != nil {
			b.Fatal(err)
		}
		pub, sub := d.raw(b, me, secure), d.raw(b, other, secure)
		heard := make(chan struct{}, 1)
		mine := mqtt.Topic("bench", mqtt.KindStates, me.ID())
		if tok := sub.Subscribe(mine, 1, func(paho.Client, paho.Message) { heard <- struct{}{} }); !tok.WaitTimeout(mqtttest.Patience) {
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
		return func() { x.Send(votes(x.ID())); next[round.Votes](y) },
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
			if err := mqtt.Probe(context.Background(), cfg); err != nil {
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
	dir := keepPair(t, d.a)
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
	cmd.Env = append(os.Environ(), fmt.Sprintf("CONCH_BROKER_HELPER=crowd %d %v %s %s", n, secure, addr, dir))
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
	if !mqtttest.Await(t, ready, "the crowd") || len(d.b.Clients()) != n {
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
	conf, err := readPair(f[3])
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	conf.MinVersion = tls.VersionTLS13
	for range n {
		id, err := mqtt.NewIdentity()
		if err != nil {
			return 1
		}
		scheme := "tcp://"
		if f[1] == "true" {
			scheme = "ssl://"
		}
		o := paho.NewClientOptions().AddBroker(scheme + f[2]).SetClientID(string(id.ID())).SetProtocolVersion(4).SetTLSConfig(conf)
		c := paho.NewClient(o)
		if tok := c.Connect(); !tok.WaitTimeout(mqtttest.Patience) || tok.Error() != nil {
			fmt.Fprintln(os.Stderr, tok.Error())
			return 1
		}
		for _, tok := range []paho.Token{
			c.SubscribeMultiple(subscriptions, func(paho.Client, paho.Message) {}),
			c.Publish(mqtt.Topic("kitchen", mqtt.KindStates, id.ID()), 1, false, make([]byte, 600)),
		} {
			if !tok.WaitTimeout(mqtttest.Patience) || tok.Error() != nil {
				fmt.Fprintln(os.Stderr, tok.Error())
				return 1
			}
		}
	}
	fmt.Println("there")
	select {}
}
