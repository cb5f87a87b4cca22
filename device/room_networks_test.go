package device

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"conch/companions/round"
	"conch/device/config"
	"conch/device/control"
	"conch/device/wait"
)

// Three devices as processes in three network namespaces, with Mosquitto in a fourth: the room as it is on real cables. They
// vote, claim and hush; then every packet takes 50 ms and one in twenty is lost; then one cable is pulled for 10 s.
//
//	kitchen 10.97.0.11 ─┐
//	bedroom 10.97.0.12 ─┼─ bridge 10.97.0.1: mosquitto :1883, the lossy way to it :1884
//	hall    10.97.0.13 ─┘
func TestRoomOnThreeNetworks(t *testing.T) {
	t.Parallel()
	n := newNetworks(t)
	n.broker()
	for i, who := range []struct{ device, companion string }{{"kitchen", "Ada"}, {"bedroom", "Ben"}, {"hall", "Cleo"}} {
		n.boxes = append(n.boxes, n.box(who.device, who.companion, i))
	}
	var ids []string
	for _, b := range n.boxes {
		ids = append(ids, b.id)
	}
	for _, b := range n.boxes {
		b.start(nil, "audio.backend=null", "voice.kind=rehearsal", "room.broker=mqtt://10.97.0.1:1884", "room.members="+strings.Join(ids, ","))
	}
	kitchen, bedroom, hall := n.boxes[0], n.boxes[1], n.boxes[2]
	all := n.boxes

	t.Log("all see each other")
	for _, b := range all {
		b.until("three members", 20*time.Second, func() bool { return b.members() == 3 })
		b.watch()
	}

	t.Log("vote and claim: asked in the kitchen, Ben answers from the bedroom, and everybody saw the same")
	kitchen.ask("Ben, tell me a story")
	winner := n.agreed(all, "ben")
	bedroom.until("Ben's answer", 15*time.Second, func() bool { return bedroom.state() == "IN_RESPONSE" })
	time.Sleep(time.Second) // of the story; the answer was there before the floor was free

	t.Log("hush: pressed in the hall, and the bedroom is silent")
	hall.press()
	bedroom.until("silence", 5*time.Second, func() bool { return bedroom.state() == "IDLE" })
	hall.release() // a question as well, where it took long to see the silence
	bedroom.entry("Ben was cut", 10*time.Second, func(e round.Entry) bool {
		return e.Kind == round.EntrySpoke && e.Companion == "ben" && e.Place.Message == winner && e.HeardMS > 0
	})
	kitchen.entry("the press in the hall", 10*time.Second, func(e round.Entry) bool {
		return e.Kind == round.EntryPress && string(e.By) == hall.id
	})

	hall.until("the end of its own turn", 30*time.Second, func() bool { return hall.state() == "IDLE" })

	how := n.worsen(50*time.Millisecond, 0.05)
	t.Log("50 ms of delay and 5 % of loss:", how)
	for _, q := range []struct{ text, who string }{{"Ada, what is one plus one", "ada"}, {"Cleo, what is two plus two", "cleo"}, {"Ben, what is three plus three", "ben"}} {
		for _, b := range all {
			b.until("three members again", 20*time.Second, func() bool { return b.members() == 3 })
		}
		bedroom.ask(q.text)
		// A vote may be late at one device and in time at another: what all must see is one claim, and nobody else's.
		n.inEverybody(q.who+" spoke", 30*time.Second, all, func(e round.Entry) bool {
			return e.Kind == round.EntrySpoke && e.Companion == round.CompanionID(q.who) && e.HeardMS > 0
		})
		asked := bedroom.entry("the question", 10*time.Second, func(e round.Entry) bool {
			return e.Kind == round.EntrySpoke && e.Companion == round.CompanionID(q.who)
		}).Place.Message
		for _, b := range all {
			b.never("another's claim", func(e round.Entry) bool {
				return e.Kind == round.EntryClaim && e.Place.Message == asked && e.Companion != round.CompanionID(q.who)
			})
		}
	}
	n.heal()

	t.Log("the bedroom's cable is pulled for 10 s: it answers its own button, the others do without it")
	n.link(bedroom, "down")
	pulled := time.Now()
	for _, b := range all {
		b.until("the loss noticed", 9*time.Second, func() bool { return b.members() == map[bool]int{true: 1, false: 2}[b == bedroom] })
	}
	bedroom.ask("what is one plus one")
	bedroom.entry("its own answer", 15*time.Second, func(e round.Entry) bool { return e.Kind == round.EntrySpoke && e.Companion == "ben" && e.HeardMS > 0 })
	kitchen.ask("Cleo, what is two plus two")
	hall.entry("the others' answer", 15*time.Second, func(e round.Entry) bool { return e.Kind == round.EntrySpoke && e.Companion == "cleo" && e.HeardMS > 0 })
	time.Sleep(max(0, 10*time.Second-time.Since(pulled))) // the cable is out for as long as is said
	n.link(bedroom, "up")
	for _, b := range all {
		b.until("three members after the cable", 20*time.Second, func() bool { return b.members() == 3 })
	}
	bedroom.ask("Ada, what is four plus four")
	n.agreed(all, "ada")

	t.Log("the hall is stopped by SIGSTOP: it keeps its connection, and nobody waits for it")
	_ = hall.process.Signal(syscall.SIGSTOP)
	rest := []*netBox{kitchen, bedroom}
	kitchen.ask("Ada, what goes well with porridge")
	n.agreed(rest, "ada") // at the deadline, without Cleo's vote
	for _, b := range rest {
		b.until("the frozen one counted as gone", 10*time.Second, func() bool { return b.members() == 2 })
	}
	_ = hall.process.Signal(syscall.SIGCONT)
	for _, b := range all {
		b.until("three members after the thaw", 20*time.Second, func() bool { return b.members() == 3 })
	}
	kitchen.ask("Cleo, what is two plus two")
	n.agreed(all, "cleo")
}

// networks are the namespaces of one test, gone when it ends.
type networks struct {
	t      *testing.T
	binary string
	tag    string
	boxes  []*netBox
	lossy  io.Writer // to the lossy way
	words  sync.Map  // of each namespace: what its latest process said last
	netem  bool
}

var networksMade atomic.Int64

// newNetworks makes the hall of the house, with nothing in it.
func newNetworks(t *testing.T) *networks {
	if os.Getuid() != 0 {
		t.Skip("network namespaces need root: sudo -E make test-net")
	}
	n := &networks{t: t, tag: fmt.Sprintf("conch%d-%d-", os.Getpid(), networksMade.Add(1))}
	if out, err := exec.Command("ip", "netns", "add", n.ns("m")).CombinedOutput(); err != nil {
		t.Skipf("network namespaces cannot be made here (ip netns add: %v: %s)", err, out)
	}
	t.Cleanup(func() { _ = exec.Command("ip", "netns", "del", n.ns("m")).Run() })
	n.binary = shipped(t)
	n.ip("-n", n.ns("m"), "link", "set", "lo", "up")
	n.ip("-n", n.ns("m"), "link", "add", "br0", "type", "bridge")
	n.ip("-n", n.ns("m"), "addr", "add", "10.97.0.1/24", "dev", "br0")
	n.ip("-n", n.ns("m"), "link", "set", "br0", "up")
	return n
}

// broker puts Mosquitto into the hall, and the lossy way to it.
func (n *networks) broker() {
	n.t.Helper()
	conf := filepath.Join(n.t.TempDir(), "mosquitto.conf")
	if err := os.WriteFile(conf, []byte("listener 1883 0.0.0.0\nallow_anonymous true\npersistence false\nuser root\n"), 0o600); err != nil {
		n.t.Fatal(err)
	}
	n.process("m", nil, "mosquitto", "-c", conf)
	n.lossy = n.way("0.0.0.0:1884>127.0.0.1:1883")
}

// way puts a way between two addresses into the hall; see lossyWay.
func (n *networks) way(spec string) io.Writer {
	n.t.Helper()
	_, in := n.process("m", []string{lossyEnv + "=" + spec}, "/proc/self/exe")
	return in
}

func (n *networks) ns(who string) string { return n.tag + who }

func (n *networks) ip(args ...string) {
	n.t.Helper()
	if out, err := exec.Command("ip", args...).CombinedOutput(); err != nil {
		n.t.Fatalf("ip %s: %v: %s", strings.Join(args, " "), err, out)
	}
}

// process runs a program in a namespace until the test ends, and returns its standard input.
func (n *networks) process(who string, env []string, name string, args ...string) (*os.Process, io.Writer) {
	n.t.Helper()
	if name == "/proc/self/exe" {
		name, _ = os.Executable()
	}
	cmd := exec.Command("ip", append([]string{"netns", "exec", n.ns(who), name}, args...)...) // ip becomes the program
	cmd.Env = append(os.Environ(), env...)
	in, err := cmd.StdinPipe()
	if err != nil {
		n.t.Fatal(err)
	}
	log := &lastWords{}
	n.words.Store(who, log)
	cmd.Stdout, cmd.Stderr = log, log
	cmd.WaitDelay = 5 * time.Second // what it has started may outlive it, and hold these
	if err := cmd.Start(); err != nil {
		n.t.Fatalf("%s: %v", name, err)
	}
	n.t.Cleanup(func() {
		_ = cmd.Process.Kill() // also of one that is stopped
		_ = cmd.Wait()
		if n.t.Failed() {
			n.t.Logf("%s in %s said last:\n%s", filepath.Base(name), who, log)
		}
	})
	return cmd.Process, in
}

// says is what the latest process of a namespace said last.
func (n *networks) says(who string) string {
	if log, ok := n.words.Load(who); ok {
		return log.(*lastWords).String()
	}
	return ""
}

// worsen makes the way to the broker bad, by the kernel's netem where it is there.
func (n *networks) worsen(delay time.Duration, loss float64) (how string) {
	n.netem = true
	for _, b := range n.boxes {
		out, err := exec.Command("tc", "-n", n.ns(b.ns), "qdisc", "add", "dev", "eth0", "root", "netem", "delay", fmt.Sprintf("%dms", delay.Milliseconds()), "loss", fmt.Sprintf("%g%%", loss*100)).CombinedOutput()
		if err != nil {
			n.netem = false
			how = strings.TrimSpace(string(out))
			break
		}
	}
	if n.netem {
		return "tc netem on every cable"
	}
	fmt.Fprintf(n.lossy, "%d %g\n", delay.Milliseconds(), loss)
	return "by a proxy before the broker (" + how + ")"
}

func (n *networks) heal() {
	if !n.netem {
		fmt.Fprintf(n.lossy, "0 0\n")
		return
	}
	for _, b := range n.boxes {
		_ = exec.Command("tc", "-n", n.ns(b.ns), "qdisc", "del", "dev", "eth0", "root").Run()
	}
}

func (n *networks) link(b *netBox, state string) {
	n.ip("-n", n.ns("m"), "link", "set", "v"+b.ns, state)
}

// agreed waits until all have decided the latest round for who, and says of which message.
func (n *networks) agreed(boxes []*netBox, who round.CompanionID) round.MessageID {
	n.t.Helper()
	var message round.MessageID
	for _, b := range boxes {
		e := b.entry("a round for "+string(who), 20*time.Second, func(e round.Entry) bool {
			return e.Kind == round.EntryRound && e.Decision != nil && e.Decision.Winner == who && (message == "" || e.Place.Message == message)
		})
		if message == "" {
			message = e.Place.Message
		}
	}
	return message
}

func (n *networks) inEverybody(what string, limit time.Duration, boxes []*netBox, is func(round.Entry) bool) {
	n.t.Helper()
	for _, b := range boxes {
		b.entry(what, limit, is)
	}
}

// netBox is conch in a namespace of its own.
type netBox struct {
	n         *networks
	ns, name  string
	companion string
	id        string
	state0    string
	cfg       config.Config
	remote    *control.Remote
	process   *os.Process

	mu      sync.Mutex
	entries []round.Entry
	seen    int // entries that a wait has passed
}

func (n *networks) box(name, companion string, i int) *netBox {
	n.t.Helper()
	b := &netBox{n: n, ns: string(rune('a' + i)), name: name, companion: companion, state0: n.t.TempDir()}
	n.ip("netns", "add", n.ns(b.ns))
	n.t.Cleanup(func() { _ = exec.Command("ip", "netns", "del", n.ns(b.ns)).Run() })
	n.ip("-n", n.ns("m"), "link", "add", "v"+b.ns, "type", "veth", "peer", "name", "eth0", "netns", n.ns(b.ns))
	n.ip("-n", n.ns("m"), "link", "set", "v"+b.ns, "master", "br0", "up")
	n.ip("-n", n.ns(b.ns), "link", "set", "lo", "up")
	n.ip("-n", n.ns(b.ns), "addr", "add", fmt.Sprintf("10.97.0.%d/24", 11+i), "dev", "eth0")
	n.ip("-n", n.ns(b.ns), "link", "set", "eth0", "up")
	b.cfg = config.Default()
	b.cfg.State.Runtime = b.state0
	out, err := exec.Command(n.binary, "--set", "state.dir="+b.state0, "room", "id").Output()
	if err != nil {
		n.t.Fatalf("conch room id: %v", err)
	}
	b.id = strings.TrimSpace(string(out))
	return b
}

func (b *netBox) start(env []string, settings ...string) {
	b.n.t.Helper()
	var args []string
	for _, kv := range append([]string{
		"device.name=" + b.name, "device.companion=" + b.companion, "state.dir=" + b.state0, "state.runtime=" + b.state0, "button.source=none",
	}, settings...) {
		args = append(args, "--set", kv)
	}
	b.process, _ = b.n.process(b.ns, env, b.n.binary, append(args, "run")...)
	b.until("its socket", 20*time.Second, func() bool {
		r, err := control.Dial(b.cfg)
		b.remote = r
		return err == nil
	})
	b.until("ready", 20*time.Second, func() bool {
		var s control.Status
		return b.remote.Do(context.Background(), "GET", "/status", nil, &s) == nil && s.Ready
	})
}

func (b *netBox) until(what string, limit time.Duration, cond func() bool) {
	b.n.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	if wait.Until(ctx, cond) != nil {
		b.n.t.Fatalf("%s: no %s within %s", b.name, what, limit)
	}
}

// members counts the devices whose companions this one knows.
func (b *netBox) members() (n int) {
	var s control.RoomStatus
	_ = b.remote.Do(context.Background(), "GET", "/room", nil, &s)
	for _, m := range s.Members {
		if len(m.Cards) > 0 {
			n++
		}
	}
	return n
}

func (b *netBox) state() string { return b.status().State }

func (b *netBox) status() (s control.Status) {
	_ = b.remote.Do(context.Background(), "GET", "/status", nil, &s)
	return s
}

func (b *netBox) do(path string) {
	b.n.t.Helper()
	if err := b.remote.Do(context.Background(), "POST", path, nil, nil); err != nil {
		b.n.t.Fatalf("%s: %s: %v", b.name, path, err)
	}
}

func (b *netBox) press()   { b.do("/press") }
func (b *netBox) release() { b.do("/release") }

// ask asks and does not wait for the answer: who answers, and where, is what the test looks at.
func (b *netBox) ask(text string) {
	for _, o := range b.n.boxes {
		o.mu.Lock()
		o.seen = len(o.entries)
		o.mu.Unlock()
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	done := make(chan struct{})
	go func() { // until the turn has ended, or the test has
		defer close(done)
		_ = b.remote.Do(ctx, "POST", "/ask", map[string]string{"text": text}, nil)
	}()
	b.n.t.Cleanup(func() { cancel(); <-done })
}

func (b *netBox) watch() {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = b.remote.Lines(ctx, "/room/watch", func(line []byte) {
			var e round.Entry
			if json.Unmarshal(line, &e) == nil {
				b.mu.Lock()
				b.entries = append(b.entries, e)
				b.mu.Unlock()
			}
		})
	}()
	b.n.t.Cleanup(func() { cancel(); <-done })
}

// entry waits for an entry of the ledger since the last question.
func (b *netBox) entry(what string, limit time.Duration, is func(round.Entry) bool) (found round.Entry) {
	b.n.t.Helper()
	b.until(what, limit, func() bool {
		b.mu.Lock()
		defer b.mu.Unlock()
		for _, e := range b.entries[b.seen:] {
			if is(e) {
				found = e
				return true
			}
		}
		return false
	})
	return found
}

// never looks back: nothing of the kind has happened since the last question.
func (b *netBox) never(what string, is func(round.Entry) bool) {
	b.n.t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, e := range b.entries[b.seen:] {
		if is(e) {
			b.n.t.Errorf("%s: %s: %+v", b.name, what, e)
		}
	}
}

// lastWords keeps the end of what a process says.
type lastWords struct {
	mu   sync.Mutex
	text []byte
}

func (l *lastWords) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.text = append(l.text, p...); len(l.text) > 32768 {
		l.text = l.text[len(l.text)-32768:]
	}
	return len(p), nil
}

func (l *lastWords) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return string(l.text)
}

// lossyEnv makes the test binary the lossy way between two addresses: "LISTEN>DIAL". It reads "DELAY_MS LOSS" lines.
const lossyEnv = "CONCH_TEST_LOSSY"

// lossyWay forwards TCP. Every piece is late by the delay in each direction; a lost packet is what TCP makes of it: the
// stream stands still until it is sent again, 200 ms later (Linux's least retransmission timeout), and longer if that is lost
// too.
func lossyWay(spec string) {
	listen, dial, _ := strings.Cut(spec, ">")
	l, err := net.Listen("tcp", listen)
	if err != nil {
		slog.Error("lossy", "err", err)
		os.Exit(1)
	}
	var delay, loss atomic.Int64
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				o, err := net.Dial("tcp", dial)
				if err != nil {
					_ = c.Close()
					return
				}
				go lossyPipe(o, c, &delay, &loss)
				lossyPipe(c, o, &delay, &loss)
			}()
		}
	}()
	in := bufio.NewScanner(os.Stdin)
	for in.Scan() { // until the test is gone
		var ms int64
		var part float64
		_, _ = fmt.Sscan(in.Text(), &ms, &part)
		delay.Store(ms)
		loss.Store(int64(part * 1000))
	}
	os.Exit(0)
}

func lossyPipe(to, from net.Conn, delay, loss *atomic.Int64) {
	type piece struct {
		data []byte
		due  time.Time
	}
	pieces := make(chan piece, 1024)
	go func() {
		for p := range pieces {
			time.Sleep(time.Until(p.due)) // a line with delay
			if _, err := to.Write(p.data); err != nil {
				break
			}
		}
		_ = to.Close()
		for range pieces {
		}
	}()
	defer close(pieces)
	last := time.Time{}
	buf := make([]byte, 1400) // about a packet
	for {
		n, err := from.Read(buf)
		if err != nil {
			return
		}
		due := time.Now().Add(time.Duration(delay.Load()) * time.Millisecond)
		for again := 200 * time.Millisecond; rand.IntN(1000) < int(loss.Load()); again *= 2 {
			due = due.Add(again)
		}
		if due.Before(last) { // a stream keeps its order
			due = last
		}
		last = due
		pieces <- piece{append([]byte(nil), buf[:n]...), due}
	}
}
