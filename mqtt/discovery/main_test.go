package discovery

import (
	"bufio"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"conch/companions/round"
)

func TestMain(m *testing.M) {
	if os.Getenv("CONCH_DISCOVERY_HELPER") == "hog" {
		os.Exit(runHog(os.Stdin, os.Stdout))
	}
	if os.Getenv("CONCH_DISCOVERY_HELPER") != "" {
		os.Exit(runHelper(os.Stdin, os.Stdout))
	}
	_ = flag.Set("test.parallel", "6") // each has networks of its own, and waits; a -parallel on the command line comes later and wins
	goleak.VerifyTestMain(m)
}

// patience is how long a test waits for what must happen; nothing is measured by it.
const patience = 20 * time.Second

// order is one line to a device that runs as a process of its own, in a namespace of its own.
type order struct {
	How      string         `json:",omitempty"` // the first order: what to be
	Device   round.DeviceID `json:",omitempty"`
	Announce *Service       `json:",omitempty"`
	Nothing  bool           `json:",omitempty"` // announce nothing
	Browse   time.Duration  `json:",omitempty"`
	Until    round.DeviceID `json:",omitempty"` // browse until it is seen
	Garbage  int            `json:",omitempty"` // so many packets of it
	Seed     uint64         `json:",omitempty"`
}

// report is one line back, to a browse.
type report struct {
	Found []Found
	Took  time.Duration
	Error string `json:",omitempty"`
}

// runHelper is such a device. It ends with its input, and says goodbye.
func runHelper(in io.Reader, out io.Writer) int {
	orders, reports := json.NewDecoder(in), json.NewEncoder(out)
	var first order
	if err := orders.Decode(&first); err != nil {
		return 1
	}
	log := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelDebug}))
	d := New(Config{How: first.How, Device: first.Device, Log: log})
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { _ = d.Run(ctx) })
	defer running.Wait()
	defer cancel()
	for {
		var o order
		if err := orders.Decode(&o); err != nil {
			return 0
		}
		switch {
		case o.Announce != nil || o.Nothing:
			d.Announce(o.Announce)
		case o.Garbage > 0:
			r := report{}
			if err := litter(ctx, o.Garbage, o.Seed); err != nil {
				r.Error = err.Error()
			}
			if err := reports.Encode(r); err != nil {
				return 1
			}
		default:
			begin := time.Now()
			var enough func(Found) bool
			if o.Until != "" {
				enough = func(f Found) bool { return f.Device == o.Until }
			}
			found, err := d.Find(ctx, o.Browse, enough)
			r := report{Found: found, Took: time.Since(begin)}
			if err != nil {
				r.Error = err.Error()
			}
			if err := reports.Encode(r); err != nil {
				return 1
			}
		}
	}
}

// litter sends what nobody should: noise, true messages with some bytes changed, and true ones full of lies.
func litter(ctx context.Context, count int, seed uint64) error {
	random := rand.New(rand.NewPCG(seed, 0))
	p, err := openPort(ctx)
	if err != nil {
		return err
	}
	defer p.close()
	ifs, err := interfaces()
	if err != nil {
		return err
	}
	for k := range count {
		z := zone{
			service: Service{Name: fmt.Sprint("liar ", k), Device: deviceID('z'), Port: 1 + random.IntN(65535), Pairing: true},
			label:   fmt.Sprint("liar ", k), addrs: []netip.Addr{netip.MustParseAddr("8.8.8.8"), netip.MustParseAddr("127.0.0.1")},
		}
		data, err := z.answer(reply{ttl: ttl, meta: true})
		if err != nil {
			return err
		}
		switch k % 3 {
		case 0:
			for range 1 + random.IntN(8) {
				data[random.IntN(len(data))] = byte(random.Uint32())
			}
		case 1:
			data = make([]byte, random.IntN(1400))
			for i := range data {
				data[i] = byte(random.Uint32())
			}
		}
		for _, i := range ifs {
			for _, l := range i.links() {
				_ = p.send(l, everybody, data) // a full buffer is what one would expect
			}
		}
	}
	return nil
}

// nets makes namespaces whose devices are on one bridge, in a namespace too.
//
//	device ns: eth0 ── hub ns: port ── br0
type nets struct {
	t   testing.TB
	hub string
	all []string
}

var netCount atomic.Int32

func newNets(t testing.TB) *nets {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("no root: network namespaces need it")
	}
	if out, err := exec.CommandContext(t.Context(), "ip", "netns", "list").CombinedOutput(); err != nil {
		t.Skipf("no network namespaces here: %v %s", err, out)
	}
	n := &nets{t: t}
	t.Cleanup(func() {
		for _, name := range n.all {
			_ = exec.CommandContext(context.Background(), "ip", "netns", "del", name).Run()
		}
	})
	n.hub = n.space()
	n.ip(n.hub, "link add br0 type bridge mcast_snooping 0", "link set br0 up")
	return n
}

// space makes an empty namespace.
func (n *nets) space() string {
	n.t.Helper()
	name := fmt.Sprintf("cd%d-%d", os.Getpid(), netCount.Add(1))
	n.run("ip", "netns", "add", name)
	n.all = append(n.all, name)
	n.ip(name, "link set lo up")
	return name
}

// device makes a namespace with one cable to the bridge and an address, 10.98.0.N.
func (n *nets) device(number int) string {
	n.t.Helper()
	name := n.space()
	n.cable(name, "eth0", n.hub, "br0", fmt.Sprintf("10.98.0.%d/24", number))
	n.until("eth0", func() bool { // the kernel finds a carrier within a second
		out, err := exec.CommandContext(n.t.Context(), "ip", "-n", name, "-o", "link", "show", "eth0").Output()
		return err == nil && strings.Contains(string(out), "state UP")
	})
	return name
}

// cable connects an interface with a bridge. IPv6 is usable at once: duplicate addresses are not looked for.
func (n *nets) cable(space, eth, hub, bridge, address string) {
	n.t.Helper()
	port := fmt.Sprintf("p%d", netCount.Add(1))
	n.ip(space, "link add "+eth+" type veth peer name "+port+" netns "+hub)
	n.ip(hub, "link set "+port+" master "+bridge+" up")
	n.sysctl(space, "net/ipv6/conf/"+eth+"/accept_dad", "0")
	if address != "" {
		n.ip(space, "addr add "+address+" dev "+eth)
	}
	n.ip(space, "link set "+eth+" up")
}

func (n *nets) sysctl(space, key, value string) {
	n.t.Helper()
	n.run("ip", "netns", "exec", space, "sh", "-c", "echo "+value+" > /proc/sys/"+key)
}

func (n *nets) ip(space string, lines ...string) {
	n.t.Helper()
	for _, l := range lines {
		n.run("ip", append([]string{"-n", space}, strings.Fields(l)...)...)
	}
}

func (n *nets) run(name string, args ...string) {
	n.t.Helper()
	if out, err := exec.CommandContext(n.t.Context(), name, args...).CombinedOutput(); err != nil {
		n.t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, out)
	}
}

// listening lists the open ports of a namespace.
func (n *nets) listening(space string) string {
	n.t.Helper()
	out, err := exec.CommandContext(n.t.Context(), "ip", "netns", "exec", space, "ss", "-Hlnutp").CombinedOutput()
	if err != nil {
		n.t.Fatalf("ss: %v %s", err, out)
	}
	return strings.TrimSpace(string(out))
}

// hog takes port 5353 for itself, in both families, until what is returned is called.
func (n *nets) hog(space string) (free func()) {
	n.t.Helper()
	exe, err := os.Executable()
	if err != nil {
		n.t.Fatal(err)
	}
	cmd := exec.CommandContext(context.Background(), "ip", "netns", "exec", space, exe)
	cmd.Env = append(os.Environ(), "CONCH_DISCOVERY_HELPER=hog")
	in, err := cmd.StdinPipe()
	if err != nil {
		n.t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		n.t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		n.t.Fatal(err)
	}
	if _, err := out.Read(make([]byte, 1)); err != nil {
		n.t.Fatal(err)
	}
	free = sync.OnceFunc(func() {
		_ = in.Close()
		_ = cmd.Wait()
	})
	n.t.Cleanup(free)
	return free
}

func runHog(in io.Reader, out io.Writer) int {
	c, err := net.ListenPacket("udp", fmt.Sprintf(":%d", mdnsPort)) //nolint:noctx // it lives as long as its process
	if err != nil {
		return 1
	}
	defer c.Close()
	fmt.Fprintln(out)
	_, _ = io.Copy(io.Discard, in)
	return 0
}

// box is a device in a namespace.
type box struct {
	t      testing.TB
	id     round.DeviceID
	cmd    *exec.Cmd
	in     io.WriteCloser
	orders *json.Encoder
	out    *json.Decoder
	ended  chan struct{}

	mu  sync.Mutex
	log strings.Builder // guarded by mu
}

// deviceID makes a fingerprint that is told apart at its first letter.
func deviceID(letter byte) round.DeviceID {
	return round.DeviceID(strings.Repeat(string(letter), deviceLen))
}

func (n *nets) box(space, how string, letter byte, env ...string) *box {
	n.t.Helper()
	exe, err := os.Executable()
	if err != nil {
		n.t.Fatal(err)
	}
	return n.boxOf([]string{exe}, space, how, letter, env...)
}

// boxOf starts the device by this command.
func (n *nets) boxOf(command []string, space, how string, letter byte, env ...string) *box {
	n.t.Helper()
	args := append([]string{"netns", "exec", space}, command...)
	b := &box{t: n.t, id: deviceID(letter), cmd: exec.CommandContext(context.Background(), "ip", args...), ended: make(chan struct{})}
	// No bus unless the test has made one: this machine's own is none of our business.
	b.cmd.Env = append(os.Environ(), append([]string{"CONCH_DISCOVERY_HELPER=1", "DBUS_SYSTEM_BUS_ADDRESS=unix:path=/nonexistent"}, env...)...)
	in, err := b.cmd.StdinPipe()
	if err != nil {
		n.t.Fatal(err)
	}
	out, err := b.cmd.StdoutPipe()
	if err != nil {
		n.t.Fatal(err)
	}
	said, err := b.cmd.StderrPipe()
	if err != nil {
		n.t.Fatal(err)
	}
	if err := b.cmd.Start(); err != nil {
		n.t.Fatal(err)
	}
	b.in, b.orders, b.out = in, json.NewEncoder(in), json.NewDecoder(out)
	go func() {
		defer close(b.ended)
		for s := bufio.NewScanner(said); s.Scan(); {
			b.mu.Lock()
			b.log.WriteString(s.Text() + "\n")
			b.mu.Unlock()
		}
		_ = b.cmd.Wait()
	}()
	n.t.Cleanup(b.stop)
	b.tell(order{How: how, Device: b.id})
	return b
}

func (b *box) tell(o order) {
	b.t.Helper()
	if err := b.orders.Encode(o); err != nil {
		b.t.Fatalf("device %s: %v\n%s", b.id, err, b.said())
	}
}

func (b *box) said() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.log.String()
}

// stop ends the device the usual way, with its goodbye.
func (b *box) stop() {
	_ = b.in.Close()
	select {
	case <-b.ended:
	case <-time.After(patience):
		_ = b.cmd.Process.Kill()
		<-b.ended
		b.t.Errorf("device %s did not end:\n%s", b.id, b.said())
	}
	if b.t.Failed() {
		b.t.Logf("device %s said:\n%s", b.id, b.said())
	}
}

func (b *box) service(name string) Service {
	return Service{Name: name, Room: "home", RoomID: "rabcdefghijklmno", Device: b.id, Port: 7483}
}

func (b *box) announce(s Service) *box {
	b.t.Helper()
	b.tell(order{Announce: &s})
	return b
}

func (b *box) browse(wait time.Duration, until round.DeviceID) report {
	b.t.Helper()
	b.tell(order{Browse: wait, Until: until})
	var r report
	if err := b.out.Decode(&r); err != nil {
		b.t.Fatalf("device %s: %v\n%s", b.id, err, b.said())
	}
	return r
}

// sees browses until what it finds is as wanted.
func (b *box) sees(what string, want func([]Found) bool) []Found {
	b.t.Helper()
	end := time.Now().Add(patience)
	// That nobody is there is said after as long a look as a person waits for; who is there is found sooner.
	wait := 500 * time.Millisecond
	if want(nil) {
		wait = 1500 * time.Millisecond
	}
	for {
		r := b.browse(wait, "")
		if r.Error != "" {
			b.t.Fatalf("device %s cannot look: %s\n%s", b.id, r.Error, b.said())
		}
		if want(r.Found) {
			return r.Found
		}
		if time.Now().After(end) {
			b.t.Fatalf("device %s waited in vain for %s; it sees %+v\n%s", b.id, what, r.Found, b.said())
		}
	}
}

// seesOnly waits for exactly these devices, and returns them in the order of their ids.
func (b *box) seesOnly(others ...*box) []Found {
	b.t.Helper()
	return b.sees(fmt.Sprintf("exactly %d devices", len(others)), func(found []Found) bool {
		if len(found) != len(others) {
			return false
		}
		for _, o := range others {
			if !has(found, o.id) {
				return false
			}
		}
		return true
	})
}

func has(found []Found, id round.DeviceID) bool { return one(found, id) != nil }

func one(found []Found, id round.DeviceID) *Found {
	for i := range found {
		if found[i].Device == id {
			return &found[i]
		}
	}
	return nil
}
