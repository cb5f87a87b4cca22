package vm

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// bench is what all tests share: where things are, the voice on this machine, and two guests that were saved and ended:
// "fresh", a box after its first start, and "ready", with conch installed, configured and stopped.
type bench struct {
	// fixed by set, from the environment that vm.mk makes
	image, arch, suite, deb, before, hand, door, tone, stall, conch, out string

	voice     *exec.Cmd
	voiceAddr string

	freshOnce, readyOnce sync.Once
	fresh, ready         string // directories; empty: it failed
}

var shared bench

// bootLimit is generous: it takes 11 to 25 s on a quiet machine.
const bootLimit = 5 * time.Minute

func TestMain(m *testing.M) {
	for name, field := range map[string]*string{"IMAGE": &shared.image, "ARCH": &shared.arch, "SUITE": &shared.suite, "DEB": &shared.deb,
		"BEFORE": &shared.before, "HAND": &shared.hand, "DOOR": &shared.door, "TONE": &shared.tone, "STALL": &shared.stall,
		"CONCH": &shared.conch, "OUT": &shared.out} {
		*field = os.Getenv("CONCH_VM_" + name)
	}
	code := m.Run()
	if shared.voice != nil {
		_ = shared.voice.Process.Signal(syscall.SIGTERM)
		_ = shared.voice.Wait()
	}
	os.Exit(code)
}

// need skips a test that `make vm` has not prepared.
func need(t *testing.T) {
	t.Helper()
	if shared.image == "" || shared.deb == "" {
		t.Skip("no guest: make vm builds one and runs this test in it (CONCH_VM_IMAGE, CONCH_VM_DEB)")
	}
}

// talk starts the voice server the guests talk to, once.
func (b *bench) talk(t *testing.T) {
	t.Helper()
	if b.voice != nil {
		return
	}
	b.voice = exec.Command(b.conch, "rehearse", "--serve", "127.0.0.1:0")
	b.voice.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	log, err := os.Create(filepath.Join(b.out, "voice.log"))
	if err != nil {
		t.Fatal(err)
	}
	b.voice.Stderr = log
	out, err := b.voice.StdoutPipe()
	if err == nil {
		err = b.voice.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatalf("the rehearsal voice did not start: %v (see %s)", err, log.Name())
	}
	// rehearsal voice at ws://127.0.0.1:1234/v1/realtime (…)
	_, rest, _ := strings.Cut(line, "://")
	b.voiceAddr, _, _ = strings.Cut(rest, "/")
	t.Logf("%s", strings.TrimSpace(line))
	go func() { _, _ = io.Copy(io.Discard, out) }() // ends with the server
}

// box is a guest in a test: whatever fails in it fails the test.
type box struct {
	t *testing.T
	*Guest
}

// start is Start for a test: the guest ends with it, and where it failed, console and journal are kept and named.
func start(t *testing.T, o Options) *box {
	t.Helper()
	shared.talk(t)
	if o.Dir == "" {
		o.Dir = dirFor(t)
	}
	o.Image, o.Arch, o.Door = shared.image, shared.arch, []string{shared.door, "door", shared.voiceAddr}
	ctx, cancel := context.WithTimeout(context.Background(), bootLimit)
	defer cancel()
	begun := time.Now()
	g, err := Start(ctx, o)
	if err != nil {
		t.Fatal(err)
	}
	b := &box{t, g}
	t.Cleanup(b.over)
	if o.Clock == "" { // at night conch keeps its troubles to itself (APPLIANCE.md 3)
		if err := g.SetClock(time.Now().UTC().Truncate(24 * time.Hour).Add(12 * time.Hour)); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("guest answers after %.1f s", time.Since(begun).Seconds())
	return b
}

func dirFor(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp(shared.out, strings.NewReplacer("Test", "", "/", "-").Replace(t.Name())+"-")
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

func (b *box) running() bool {
	select {
	case <-b.ended:
		return false
	default:
		return true
	}
}

// over ends the guest. Disks are large: they stay only where a saved guest is continued from.
func (b *box) over() {
	dir := b.o.Dir
	if b.t.Failed() && b.running() {
		if r, err := b.RunFor(30*time.Second, "journalctl -b --no-pager -o short-monotonic | grep -v ' qemu-ga\\[' | tail -n 8000"); err == nil {
			_ = os.WriteFile(filepath.Join(dir, "journal.txt"), []byte(r.Out), 0o644)
			b.t.Logf("the end of the journal (all in %s):\n%s", dir, tail(r.Out, 60))
		} else {
			b.t.Logf("no journal: %v; the end of the console (all in %s):\n%s", err, dir, tail(b.Console(), 40))
		}
	}
	b.Cut()
	_ = os.Remove(filepath.Join(dir, "disk.qcow2"))
	if !b.t.Failed() {
		_ = os.RemoveAll(dir)
	}
}

// fresh is a box after its first start: nothing of conch is on it.
func fresh(t *testing.T) *box {
	t.Helper()
	return start(t, Options{From: shared.freshDir(t), Snapshot: moment})
}

// ready is a box with conch installed and configured for the voice on this machine and for a light on pin 25.
func ready(t *testing.T) *box {
	t.Helper()
	b := readyStopped(t)
	b.run("systemctl start conch")
	return b
}

// readyStopped is ready without conch running: no connection of its was ever in a snapshot.
func readyStopped(t *testing.T) *box {
	t.Helper()
	return start(t, Options{From: shared.readyDir(t), Snapshot: moment})
}

func (b *bench) freshDir(t *testing.T) string {
	t.Helper()
	need(t)
	b.freshOnce.Do(func() {
		if b.fresh = kept("fresh"); b.fresh != "" {
			return
		}
		g := saved(t, Options{Dir: filepath.Join(b.out, "fresh")})
		g.settled()
		g.run("apt-get update -qq")
		g.put(b.hand, "/usr/local/bin/hand", 0o755)
		g.save()
		b.fresh = g.o.Dir
	})
	if b.fresh == "" {
		t.Fatal("there is no fresh guest: the first test that wanted one says why")
	}
	return b.fresh
}

func (b *bench) readyDir(t *testing.T) string {
	t.Helper()
	from := b.freshDir(t)
	b.readyOnce.Do(func() {
		if b.ready = kept("ready"); b.ready != "" {
			return
		}
		g := saved(t, Options{Dir: filepath.Join(b.out, "ready"), From: from, Snapshot: moment})
		g.install(b.deb)
		g.configure()
		g.run("systemctl stop conch; journalctl --rotate -q; journalctl --vacuum-time=1s -q; sync")
		g.save()
		b.ready = g.o.Dir
	})
	if b.ready == "" {
		t.Fatal("there is no guest with conch on it: the first test that wanted one says why")
	}
	return b.ready
}

// kept is a saved guest of an earlier run, for whoever works on these tests and names it in CONCH_VM_KEPT ("fresh", or "fresh
// ready" where conch itself has not changed): it saves minutes. make vm makes both anew.
func kept(name string) string {
	dir := filepath.Join(shared.out, name)
	if strings.Contains(os.Getenv("CONCH_VM_KEPT"), name) && exists(filepath.Join(dir, "disk.qcow2")) {
		return dir
	}
	return ""
}

// moment is the name of the snapshot in a saved guest.
const moment = "moment"

func saved(t *testing.T, o Options) *box {
	t.Helper()
	shared.talk(t)
	if err := os.RemoveAll(o.Dir); err != nil {
		t.Fatal(err)
	}
	o.Image, o.Arch, o.Door = shared.image, shared.arch, []string{shared.door, "door", shared.voiceAddr}
	ctx, cancel := context.WithTimeout(context.Background(), bootLimit)
	defer cancel()
	begun := time.Now()
	g, err := Start(ctx, o)
	if err != nil {
		t.Fatal(err)
	}
	b := &box{t, g}
	t.Cleanup(g.Cut)
	t.Logf("%s answers after %.1f s", filepath.Base(o.Dir), time.Since(begun).Seconds())
	return b
}

func (b *box) save() {
	b.t.Helper()
	if err := b.Save(moment); err != nil {
		b.t.Fatal(err)
	}
	if err := b.Quit(); err != nil {
		b.t.Fatal(err)
	}
}

// settled waits until systemd has started all it had to.
func (b *box) settled() {
	b.t.Helper()
	r := b.try("systemctl is-system-running --wait")
	if state := strings.TrimSpace(r.Out); state != "running" {
		b.t.Errorf("the guest is %s:\n%s", state, b.try("systemctl --failed --no-legend --plain").Out)
	}
}

// run runs a line of shell that must succeed, and returns what it printed.
func (b *box) run(line string) string {
	b.t.Helper()
	r := b.try(line)
	if err := r.Failed(); err != nil {
		b.t.Fatal(err)
	}
	return r.Out
}

// try runs a line of shell that may fail.
func (b *box) try(line string) Result {
	b.t.Helper()
	r, err := b.Run(line)
	if err != nil {
		b.t.Fatal(err)
	}
	return r
}

// put copies a file of this machine into the guest.
func (b *box) put(from, to string, mode uint32) {
	b.t.Helper()
	data, err := os.ReadFile(from)
	if err == nil {
		err = b.Write(to, data, mode)
	}
	if err != nil {
		b.t.Fatal(err)
	}
}

// get copies a file of the guest to where a failure is looked into.
func (b *box) get(path string) (kept string) {
	b.t.Helper()
	data, err := b.Read(path)
	kept = filepath.Join(b.o.Dir, filepath.Base(path))
	if err == nil {
		err = os.WriteFile(kept, data, 0o644)
	}
	if err != nil {
		b.t.Fatal(err)
	}
	return kept
}

// install does what a person does: apt install ./conch_VERSION_ARCH.deb.
func (b *box) install(deb string) string {
	b.t.Helper()
	name := "/root/" + filepath.Base(deb)
	b.put(deb, name, 0o644)
	r, err := b.RunFor(10*time.Minute, "cd /root && apt-get install -y ./"+filepath.Base(deb))
	if err == nil {
		err = r.Failed()
	}
	if err != nil {
		b.t.Fatal(err)
	}
	return r.Text()
}

// config is what a person would write who has a light on pin 25 and a server of their own.
const config = `[device]
name = "kitchen"

[light]
driver = "gpio"
pins = "25"

[voice]
url = "ws://` + DoorAddress + `/v1/realtime"

# The recogniser on this machine shares it with the guest.
[turn]
commit_s = 60

[log]
level = "debug"
`

func (b *box) configure() {
	b.t.Helper()
	if err := b.Write("/etc/conch/conch.toml", []byte(config), 0o644); err != nil {
		b.t.Fatal(err)
	}
	b.run("install -d -m 700 /etc/conch/credentials && umask 077 && echo sk-rehearsal >/etc/conch/credentials/openai_api_key && systemctl restart conch")
}

// eventually waits for something to become true in the guest: limit long on a quiet host, three times as long on a busy one,
// where the guest's time goes by more slowly than ours.
func (b *box) eventually(limit time.Duration, what string, is func() bool) time.Duration {
	b.t.Helper()
	for begun := time.Now(); ; {
		if is() {
			return time.Since(begun)
		}
		if time.Since(begun) > 3*limit {
			b.t.Fatalf("not within %s: %s", 3*limit, what)
		}
		<-time.After(300 * time.Millisecond)
	}
}

// seen is a line of hand's.
type seen struct {
	Event string    `json:"event"`
	At    float64   `json:"at_ms"`
	After *float64  `json:"after_press_ms"`
	MS    []float64 `json:"ms"`
	Seed  uint64    `json:"seed"`
	Quiet int       `json:"already_quiet"`
	Never int       `json:"never"`
}

func (s seen) after(t *testing.T) float64 {
	t.Helper()
	if s.After == nil {
		t.Fatalf("%s at %.0f ms came before any press", s.Event, s.At)
	}
	return *s.After
}

// hand plays a script inside the guest and returns what was seen, by event, the latest of each.
func (b *box) hand(limit time.Duration, script string) map[string]seen {
	b.t.Helper()
	all, err := b.handTry(limit, script)
	if err != nil {
		b.t.Fatal(err)
	}
	return all
}

func (b *box) handTry(limit time.Duration, script string) (map[string]seen, error) {
	b.t.Helper()
	if err := b.Write("/run/script", []byte(script), 0o644); err != nil {
		b.t.Fatal(err)
	}
	// What the script waits for is bounded in the guest's time; limit is only against a guest that hangs, and with a busy host
	// the guest's time goes by several times slower than ours.
	r, err := b.RunFor(4*limit, "hand </run/script")
	if err != nil {
		return nil, err
	}
	all := map[string]seen{}
	for line := range strings.Lines(r.Out) {
		var s seen
		if err := json.Unmarshal([]byte(line), &s); err != nil {
			return nil, fmt.Errorf("hand said %q: %w", line, err)
		}
		all[s.Event] = s
	}
	return all, r.Failed()
}
