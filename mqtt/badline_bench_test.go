package mqtt

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"conch/companions/round"
	"conch/device/benchtest"
	"conch/mqtt/mqtttest"
)

const (
	badLineLoss  = 0.20
	badLineDelay = 300 * time.Millisecond // each way
	badLinePress = 2000                   // ms, the p99 that is promised
)

// BenchmarkPressOverABadLine: two devices in two network namespaces, a Mosquitto beside the first. Each way, a packet in five is lost and the
// others take 300 ms. Each device presses in turn; measured is the time until the other has heard it, or a later one, by the broker and both ways.
func BenchmarkPressOverABadLine(b *testing.B) {
	for _, near := range []bool{false, true} {
		b.Run(map[bool]string{false: "broker", true: "both ways"}[near], func(b *testing.B) {
			n := benchtest.Presses(map[bool]int{false: 60, true: 240}[near])
			took, lost := badLinePresses(b, near, n)
			q := func(p float64) float64 { return took[min(int(p*float64(len(took))), len(took)-1)] }
			b.Logf("%d presses, %d lost; p50 %.0f p90 %.0f p99 %.0f max %.0f ms", n, lost, q(.5), q(.9), q(.99), q(1))
			note := fmt.Sprintf("of %d; p50 %.0f, max %.0f, %d lost", n, q(.5), q(1), lost)
			if !near {
				benchtest.Report(b, benchtest.Result{What: "press over a bad line, by the broker alone, p99", Figure: q(.99), Unit: "ms", N: n, Note: note})
				return
			}
			benchtest.AtMost(b, "press over a bad line, p99", q(.99), badLinePress, "ms", note)
		})
	}
}

// badLinePresses gives what each press took, in ms, sorted.
func badLinePresses(b *testing.B, near bool, n int) (took []float64, lost int) {
	mosquitto, err := mqtttest.Find("mosquitto")
	if err != nil {
		b.Skip(err)
	}
	names := newBadLine(b)
	dir := b.TempDir()
	conf := filepath.Join(dir, "conf")
	if err := os.WriteFile(conf, []byte("listener 1883 0.0.0.0\nallow_anonymous true\n"), 0o644); err != nil {
		b.Fatal(err)
	}
	badLineProcess(b, names[0], "", mosquitto, "-c", conf)
	var in [2]io.Writer
	said := make(chan string, 4096)
	for i, ns := range names {
		addr := fmt.Sprintf("10.98.0.%d", i+1)
		role := "line mqtt://10.98.0.1:1883 " + addr
		if !near {
			role = "line mqtt://10.98.0.1:1883 -"
		}
		self, err := os.Executable()
		if err != nil {
			b.Fatal(err)
		}
		stdin, out := badLineProcess(b, ns, "CONCH_MQTT_HELPER="+role, self)
		in[i] = stdin
		go func() {
			for s := bufio.NewScanner(out); s.Scan(); {
				said <- fmt.Sprintf("%d %s", i, s.Text())
			}
		}()
	}
	own, heard := map[uint64]int64{}, map[uint64]int64{}
	read := func(until time.Duration, enough func() bool) {
		over := time.After(until)
		for !enough() {
			select {
			case line := <-said:
				var i int
				var from string
				var k uint64
				var at int64
				if _, err := fmt.Sscanf(line, "%d own %d %d", &i, &k, &at); err == nil {
					own[k] = at
				} else if _, err := fmt.Sscanf(line, "%d heard %s %d %d", &i, &from, &k, &at); err == nil && heard[k] == 0 {
					heard[k] = at
				}
			case <-over:
				return
			}
		}
	}
	// They have met when a press of each was heard; a handshake takes several tries.
	for first := uint64(1); heard[first] == 0 || heard[first+1] == 0; {
		if first > 60 {
			b.Fatal("the two devices never met")
		}
		if len(own) > 0 {
			first += 2
		}
		fmt.Fprintf(in[0], "press %d\n", first)
		fmt.Fprintf(in[1], "press %d\n", first+1)
		read(4*time.Second, func() bool { return heard[first] != 0 && heard[first+1] != 0 })
	}
	clear(own)
	clear(heard)
	const base = 1000
	for k := range n {
		fmt.Fprintf(in[k%2], "press %d\n", base+k)
		read(350*time.Millisecond, func() bool { return false })
	}
	read(60*time.Second, func() bool { return len(heard) >= n })
	var next [2]int64 // when a later press of the same device was heard: that silences as well
	for k := uint64(base + n - 1); k >= base; k-- {
		h, later := heard[k], &next[k%2]
		if h == 0 || *later != 0 && *later < h {
			h = *later
		}
		if *later = h; h == 0 {
			lost++
			h = own[k] + int64(time.Minute)
		}
		if own[k] != 0 {
			took = append(took, float64(h-own[k])/1e6)
		}
	}
	slices.Sort(took)
	if len(took) < n {
		b.Fatalf("%d of %d presses were made", len(took), n)
	}
	return took, lost
}

// badLineRole is one of the devices, in a process of its own.
func badLineRole(arg string) int {
	url, addr, _ := strings.Cut(arg, " ")
	id, err := NewIdentity()
	if err != nil {
		return 1
	}
	said := make(chan string, 1<<12)
	go func() {
		for line := range said {
			fmt.Println(line)
		}
	}()
	cfg := Config{
		URL: url, Room: "kitchen", Identity: id,
		OnPacket: func(from round.DeviceID, p round.Packet) {
			if p, ok := p.(round.Press); ok {
				said <- fmt.Sprintf("heard %s %d %d", from, p.Epoch.N, benchtest.Now())
			}
		},
	}
	if addr != "-" {
		cfg.Listen, cfg.Near = addr, func(port int) []string { return []string{fmt.Sprintf("%s:%d", addr, port)} }
	}
	c, err := NewClient(cfg)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	go func() {
		for range time.Tick(time.Second) {
			c.Send(cards("ada"))
		}
	}()
	go floodButton(c, said)
	_ = c.Run(context.Background())
	return 0
}

// badLineProcess runs a program in a namespace until the benchmark ends.
func badLineProcess(b *testing.B, ns, env, name string, args ...string) (io.Writer, io.Reader) {
	b.Helper()
	cmd := exec.Command("ip", append([]string{"netns", "exec", ns, name}, args...)...)
	if env != "" {
		cmd.Env = append(os.Environ(), env)
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	in, err := cmd.StdinPipe()
	if err != nil {
		b.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	return in, out
}

// newBadLine makes two namespaces, 10.98.0.1 and 10.98.0.2, with a line between them that loses and delays.
func newBadLine(b *testing.B) (names [2]string) {
	b.Helper()
	ip, err := exec.LookPath("ip")
	if err != nil {
		b.Skip("ip (iproute2) is not installed")
	}
	if os.Getuid() != 0 {
		b.Skip("network namespaces need root")
	}
	var ends [2]*os.File
	for i := range names {
		names[i] = fmt.Sprintf("conch-bad-%d-%d", os.Getpid(), i)
		if out, err := exec.Command(ip, "netns", "add", names[i]).CombinedOutput(); err != nil {
			b.Skipf("network namespaces cannot be made here (ip netns add: %v: %s)", err, out)
		}
		b.Cleanup(func() { _ = exec.Command(ip, "netns", "del", names[i]).Run() })
		f, err := tunIn(names[i])
		if err != nil {
			b.Skipf("no TUN device can be made here (/dev/net/tun): %v", err)
		}
		ends[i] = f
		b.Cleanup(func() { _ = f.Close() })
		for _, args := range []string{fmt.Sprintf("addr add 10.98.0.%d/24 dev tun0", i+1), "link set tun0 up", "link set lo up"} {
			if out, err := exec.Command(ip, append([]string{"-n", names[i]}, strings.Fields(args)...)...).CombinedOutput(); err != nil {
				b.Fatalf("ip %s: %v: %s", args, err, out)
			}
		}
	}
	for i := range ends {
		go func() {
			buf := make([]byte, 2048)
			for {
				n, err := ends[i].Read(buf)
				if err != nil {
					return
				}
				if rand.Float64() < badLineLoss {
					continue
				}
				p := slices.Clone(buf[:n])
				time.AfterFunc(badLineDelay, func() { _, _ = ends[1-i].Write(p) })
			}
		}()
	}
	return names
}

// tunIn makes tun0 in a namespace; what is read is what is sent there.
func tunIn(name string) (f *os.File, err error) {
	ended := make(chan struct{})
	go func() { // awaited below
		defer close(ended)
		runtime.LockOSThread() // and never unlocked: the thread ends with the goroutine
		var ns *os.File
		if ns, err = os.Open("/run/netns/" + name); err != nil {
			return
		}
		defer ns.Close()
		if err = unix.Setns(int(ns.Fd()), unix.CLONE_NEWNET); err != nil {
			return
		}
		var fd int
		if fd, err = unix.Open("/dev/net/tun", unix.O_RDWR|unix.O_CLOEXEC|unix.O_NONBLOCK, 0); err != nil {
			return
		}
		var req *unix.Ifreq
		if req, err = unix.NewIfreq("tun0"); err == nil {
			req.SetUint16(unix.IFF_TUN | unix.IFF_NO_PI)
			err = unix.IoctlIfreq(fd, unix.TUNSETIFF, req)
		}
		if err != nil {
			_ = unix.Close(fd)
			return
		}
		f = os.NewFile(uintptr(fd), "tun0")
	}()
	<-ended
	return f, err
}
