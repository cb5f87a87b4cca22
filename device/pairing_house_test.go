package device

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"conch/audio/pulsetest"
	"conch/audio/twin"
	"conch/coordinator/turn"
	"conch/device/config"
	"conch/device/control"
	"conch/device/wait"
)

// pairHouse is a house in which nobody knows anybody: each device is `conch run` as it is shipped, a process in a network
// namespace of its own, with a sound card of its own on one PulseAudio. Between the cards is air.
//
//	kitchen 10.98.0.11 ─┐            loudspeaker ─> air ─> microphone of another
//	bedroom 10.98.0.12 ─┼─ bridge
//	hall    10.98.0.13 ─┤
//	garden  10.98.0.14 ─┘ a stranger's
type pairHouse struct {
	t      *testing.T
	binary string
	tag    string
	sound  *pulsetest.Server // nil: the devices have no sound card
	began  time.Time         // of the time line
	boxes  []*pairBox
}

var pairHouses atomic.Int32

// newPairHouse builds conch and the bridge. It skips where there are no network namespaces, and says so.
func newPairHouse(t *testing.T) *pairHouse {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("network namespaces need root: sudo -E make test-net")
	}
	h := &pairHouse{t: t, tag: fmt.Sprintf("cp%d-%d", os.Getpid(), pairHouses.Add(1)), began: time.Now()}
	if out, err := exec.Command("ip", "netns", "add", h.ns("m")).CombinedOutput(); err != nil {
		t.Skipf("network namespaces cannot be made here (ip netns add: %v: %s)", err, out)
	}
	t.Cleanup(func() { _ = exec.Command("ip", "netns", "del", h.ns("m")).Run() })
	h.binary = shipped(t)
	h.ip("-n", h.ns("m"), "link", "set", "lo", "up")
	h.ip("-n", h.ns("m"), "link", "add", "br0", "type", "bridge")
	h.ip("-n", h.ns("m"), "addr", "add", "10.98.0.1/24", "dev", "br0")
	h.ip("-n", h.ns("m"), "link", "set", "br0", "up")
	return h
}

// ns is the name of a namespace: m is the bridge's.
func (h *pairHouse) ns(who string) string { return h.tag + who }

func (h *pairHouse) ip(args ...string) {
	h.t.Helper()
	if out, err := exec.Command("ip", args...).CombinedOutput(); err != nil {
		h.t.Fatalf("ip %s: %v: %s", strings.Join(args, " "), err, out)
	}
}

// tell writes a line of the time line.
func (h *pairHouse) tell(format string, args ...any) {
	h.t.Helper()
	h.t.Logf("%6.2f s  "+format, append([]any{time.Since(h.began).Seconds()}, args...)...)
}

// place is a namespace on the bridge, at 10.98.0.NUMBER.
func (h *pairHouse) place(who string, number int) {
	h.t.Helper()
	h.ip("netns", "add", h.ns(who))
	h.t.Cleanup(func() { _ = exec.Command("ip", "netns", "del", h.ns(who)).Run() })
	h.ip("-n", h.ns("m"), "link", "add", "v"+who, "type", "veth", "peer", "name", "eth0", "netns", h.ns(who))
	h.ip("-n", h.ns("m"), "link", "set", "v"+who, "master", "br0", "up")
	h.ip("-n", h.ns(who), "link", "set", "lo", "up")
	h.ip("-n", h.ns(who), "addr", "add", fmt.Sprintf("10.98.0.%d/24", number), "dev", "eth0")
	h.ip("-n", h.ns(who), "link", "set", "eth0", "up")
	h.ip("-n", h.ns(who), "route", "add", "default", "via", "10.98.0.1") // or multicast has nowhere to go
}

// in runs a program in a namespace to its end.
func (h *pairHouse) in(who string, limit time.Duration, name string, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	cmd := exec.CommandContext(ctx, "ip", append([]string{"netns", "exec", h.ns(who), name}, args...)...)
	cmd.Stdin = strings.NewReader("")
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// within calls f on a thread in a namespace: sockets that it makes are there.
func (h *pairHouse) within(who string, f func() error) error {
	ended := make(chan error, 1)
	go func() { // awaited below
		runtime.LockOSThread() // and never unlocked: the thread ends with the goroutine
		ns, err := os.Open("/run/netns/" + h.ns(who))
		if err == nil {
			defer ns.Close()
			err = unix.Setns(int(ns.Fd()), unix.CLONE_NEWNET)
		}
		if err == nil {
			err = f()
		}
		ended <- err
	}()
	return <-ended
}

// open lists what listens beyond loopback in a namespace, as ss shows it.
func (h *pairHouse) open(who string) []string {
	h.t.Helper()
	out, err := h.in(who, 5*time.Second, "ss", "-H", "-l", "-n", "-t", "-u")
	if err != nil {
		h.t.Fatalf("ss in %s: %v: %s", who, err, out)
	}
	var open []string
	for line := range strings.Lines(out) {
		f := strings.Fields(line)
		if len(f) < 5 {
			continue
		}
		if at := f[4]; !strings.HasPrefix(at, "127.") && !strings.HasPrefix(at, "[::1]") && !strings.HasPrefix(at, "[::ffff:127.") {
			open = append(open, f[0]+" "+at)
		}
	}
	return open
}

// pairBox is one device.
type pairBox struct {
	h       *pairHouse
	name    string
	number  int
	dir     string // state
	runtime string
	cfg     config.Config // for Dial
	set     map[string]string
	env     []string
	wasIn   bool     // a room, when its power was cut
	keys    *os.File // space bar of its keyboard; nil: it has none
	seat    *os.File // where the device reads it

	mu   sync.Mutex
	cmd  *exec.Cmd
	done chan struct{}
	log  *lastWords
}

// box puts a device into a namespace; it is off.
func (h *pairHouse) box(name, companion string, number int) *pairBox {
	h.t.Helper()
	h.place(name, number)
	dir := shortDir(h.t)
	b := &pairBox{h: h, name: name, number: number, dir: filepath.Join(dir, "state"), runtime: dir, log: &lastWords{}, cfg: config.Default()}
	b.cfg.State.Runtime = b.runtime
	b.set = map[string]string{
		"device.name": name, "device.companion": companion, "voice.kind": "rehearsal", "state.dir": b.dir, "state.runtime": b.runtime,
		"button.source": "none", "audio.backend": "null", "room.discovery": "own",
	}
	h.boxes = append(h.boxes, b)
	h.t.Cleanup(func() {
		b.kill()
		if h.t.Failed() {
			h.t.Logf("%s said last:\n%s", b.name, b.log)
		}
	})
	return b
}

// args are the command line of a conch of this device.
func (b *pairBox) args(more ...string) []string {
	args := []string{}
	for k, v := range b.set {
		args = append(args, "--set", k+"="+v)
	}
	return append(args, more...)
}

// start switches the device on and returns when it is ready.
func (b *pairBox) start() {
	b.h.t.Helper()
	if err := b.launch(); err != nil {
		b.h.t.Fatalf("%s: %v", b.name, err)
	}
	b.ready()
}

func (b *pairBox) launch() error {
	cmd := exec.Command("ip", append([]string{"netns", "exec", b.h.ns(b.name), b.h.binary}, b.args("run")...)...) // ip becomes conch
	cmd.Env = append(os.Environ(), b.env...)
	cmd.Stdout, cmd.Stderr = b.log, b.log
	if b.seat != nil {
		cmd.Stdin = b.seat
	}
	cmd.WaitDelay = 5 * time.Second // what it has started may outlive it, and hold these
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	started, done := make(chan error, 1), make(chan struct{})
	go func() { // ends with the process; awaited by kill
		runtime.LockOSThread() // Linux ties Pdeathsig to the thread that starts the process
		defer close(done)
		err := cmd.Start()
		started <- err
		if err == nil {
			_ = cmd.Wait()
		}
	}()
	if err := <-started; err != nil {
		return err
	}
	b.mu.Lock()
	b.cmd, b.done = cmd, done
	b.mu.Unlock()
	return nil
}

func (b *pairBox) ready() {
	b.h.t.Helper()
	b.until("ready", 40*time.Second, func() bool {
		var s control.Status
		return b.do("GET", "/status", nil, &s) == nil && s.Ready
	})
}

// kill is a power cut. Harmless twice.
func (b *pairBox) kill() {
	b.mu.Lock()
	cmd, done := b.cmd, b.done
	b.cmd = nil
	b.mu.Unlock()
	if cmd != nil {
		_ = cmd.Process.Kill()
		<-done
	}
}

// do asks the device, which may be about to begin anew.
func (b *pairBox) do(method, path string, in, out any) error {
	r, err := control.Dial(b.cfg)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	defer r.Close()
	return r.Do(ctx, method, path, in, out)
}

func (b *pairBox) must(method, path string, in, out any) {
	b.h.t.Helper()
	if err := b.do(method, path, in, out); err != nil {
		b.h.t.Fatalf("%s: %s %s: %v", b.name, method, path, err)
	}
}

func (b *pairBox) until(what string, limit time.Duration, cond func() bool) {
	b.h.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	if wait.Until(ctx, cond) != nil {
		b.h.t.Fatalf("%s: no %s within %s (pairing: %+v)", b.name, what, limit, b.pairing())
	}
}

// hold is a finger on the space bar of a terminal that tells releases.
func (b *pairBox) hold(d time.Duration) {
	b.h.t.Helper()
	b.types("\x1b[?1u\x1b[32;1:1u")
	b.until("press", 10*time.Second, func() bool {
		var s control.Status
		return b.do("GET", "/status", nil, &s) == nil && s.State == turn.Listening.String()
	})
	<-time.After(d) // what a person does
	b.types("\x1b[32;1:3u")
}

func (b *pairBox) types(text string) {
	b.h.t.Helper()
	if _, err := b.keys.WriteString(text); err != nil {
		b.h.t.Fatal(err)
	}
}

// withKeyboards gives each device a keyboard: a button that a hand can touch where there are no pins.
func (h *pairHouse) withKeyboards() {
	h.t.Helper()
	for _, b := range h.boxes {
		master, err := unix.Open("/dev/ptmx", unix.O_RDWR|unix.O_CLOEXEC|unix.O_NOCTTY, 0)
		if err != nil {
			h.t.Skipf("no pseudo terminal: /dev/ptmx: %v", err)
		}
		b.keys = os.NewFile(uintptr(master), "ptmx")
		h.t.Cleanup(func() { b.kill(); b.keys.Close() })
		if err := unix.IoctlSetPointerInt(master, unix.TIOCSPTLCK, 0); err != nil {
			h.t.Fatal(err)
		}
		number, err := unix.IoctlGetInt(master, unix.TIOCGPTN)
		if err != nil {
			h.t.Fatal(err)
		}
		if b.seat, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|unix.O_NOCTTY, 0); err != nil {
			h.t.Fatal(err)
		}
		h.t.Cleanup(func() { b.seat.Close() })
		b.set["button.source"] = "keyboard"
	}
}

// pairing is how far the device has come.
func (b *pairBox) pairing() (line control.PairingLine) {
	r, err := control.Dial(b.cfg)
	if err != nil {
		return line
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	defer r.Close()
	_ = r.Lines(ctx, "/room/pairing", func(data []byte) {
		if line.State == "" {
			_ = json.Unmarshal(data, &line)
		}
		cancel()
	})
	return line
}

// room is the device's room; its Paired is nil where it is in none.
func (b *pairBox) room() (s control.RoomStatus) {
	_ = b.do("GET", "/room", nil, &s)
	return s
}

// here counts the devices whose companions this one knows.
func (b *pairBox) here() (n int) {
	for _, m := range b.room().Members {
		if len(m.Cards) > 0 {
			n++
		}
	}
	return n
}

// onDisk says whether the device is in a room, by what a power cut would leave.
func (b *pairBox) onDisk() bool {
	_, err := os.Stat(filepath.Join(b.dir, "room", "room.json"))
	return err == nil
}

// withSound gives each device a loudspeaker and a microphone.
func (h *pairHouse) withSound() {
	h.t.Helper()
	if err := pulsetest.Missing(); err != nil {
		h.t.Skip(err)
	}
	server, err := pulsetest.New()
	if err != nil {
		h.t.Fatal(err)
	}
	h.sound = server
	h.t.Cleanup(server.Close)
	for _, b := range h.boxes {
		for _, m := range [][]string{
			{"module-null-sink", "sink_name=spk_" + b.name, "rate=48000", "channels=1", "norewinds=1"},
			{"module-null-sink", "sink_name=bus_" + b.name, "rate=48000", "channels=1", "norewinds=1"},
			{"module-remap-source", "master=bus_" + b.name + ".monitor", "source_name=mic_" + b.name, "channels=1"},
		} {
			if out, err := server.Control(append([]string{"load-module"}, m...)...); err != nil {
				h.t.Fatal(err, out)
			}
		}
		b.set["audio.backend"], b.set["audio.playback"], b.set["audio.capture"] = "pulse", "pulse:spk_"+b.name, "pulse:mic_"+b.name
		b.env = []string{"PULSE_SERVER=" + server.Address()}
	}
}

// air carries what one device's loudspeaker plays to another's microphone, until the test ends.
func (h *pairHouse) air(from, to *pairBox, rt60 time.Duration, snr float64) {
	h.t.Helper()
	raw := []string{"--raw", "--format=s16le", "--channels=1", "--rate=48000", "--latency-msec=20"}
	ear := exec.Command("parec", append(raw, "--device=spk_"+from.name+".monitor")...)
	mouth := exec.Command("pacat", append(raw, "--playback", "--device=bus_"+to.name)...)
	ear.Env, mouth.Env = h.sound.Environ(), h.sound.Environ()
	out, err := ear.StdoutPipe()
	if err != nil {
		h.t.Fatal(err)
	}
	in, err := mouth.StdinPipe()
	if err != nil {
		h.t.Fatal(err)
	}
	for _, c := range []*exec.Cmd{ear, mouth} {
		if err := c.Start(); err != nil {
			h.t.Fatal(err)
		}
	}
	done := make(chan struct{})
	go func() { // ends with the programs
		defer close(done)
		a := twin.NewAir(rt60, snr, uint64(from.number*100+to.number))
		bytes, frames := make([]byte, 2*480), make([]int16, 480)
		for {
			if _, err := io.ReadFull(out, bytes); err != nil {
				return
			}
			for i := range frames {
				frames[i] = int16(binary.LittleEndian.Uint16(bytes[2*i:]))
			}
			a.Through(frames)
			for i, x := range frames {
				binary.LittleEndian.PutUint16(bytes[2*i:], uint16(x))
			}
			if _, err := in.Write(bytes); err != nil {
				return
			}
		}
	}()
	h.t.Cleanup(func() {
		_, _ = ear.Process.Kill(), mouth.Process.Kill()
		<-done
		_, _ = ear.Wait(), mouth.Wait()
	})
}

// dial connects from a namespace to an address with a number for a host.
func (h *pairHouse) dial(from, address string) (c net.Conn, err error) {
	err = h.within(from, func() error {
		c, err = net.DialTimeout("tcp", address, 3*time.Second)
		return err
	})
	return c, err
}

var sixDigits = regexp.MustCompile(`^[0-9]{6}$`)
