package main

import (
	"context"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"conch/device/config"
	"conch/device/control"
)

// What is on the screen fits on it: the picture beside the code on a usual one, none where it would scroll away.
func TestWindowText(t *testing.T) {
	t.Parallel()
	o := control.PairOpened{Code: "482915", Seconds: 120, Room: "home", Addresses: []string{"192.168.178.123:7483"}}
	for _, c := range []struct {
		width, height int
		picture       bool
	}{{80, 24, true}, {200, 60, true}, {45, 50, true}, {80, 20, false}, {40, 24, false}, {30, 60, false}} {
		text := windowText(o, c.width, c.height, true)
		lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
		if got := strings.Contains(text, qrBegin); got != c.picture {
			t.Errorf("%d x %d: a picture: %v\n%s", c.width, c.height, got, text)
		}
		if len(lines)+1 > c.height {
			t.Errorf("%d x %d: it has %d lines", c.width, c.height, len(lines))
		}
		for _, line := range lines[:len(lines)-3] { // the sentences may wrap on a narrow one
			if n := len([]rune(strings.NewReplacer(qrBegin, "", qrEnd, "").Replace(line))); n > c.width {
				t.Errorf("%d x %d: a line of %d columns: %s", c.width, c.height, n, line)
			}
		}
		if !strings.Contains(text, "code 482915 for room home, 120 s\n") || !strings.Contains(text, "conch room join 482915 --host 192.168.178.123:7483\n") {
			t.Errorf("%d x %d: %s", c.width, c.height, text)
		}
	}
	if text := windowText(o, 80, 24, false); strings.Contains(text, qrBegin) {
		t.Error("a picture that nobody wants")
	}
}

// What the picture says is what join takes.
func TestJoinTakesThePicture(t *testing.T) {
	t.Parallel()
	for _, address := range []string{"10.0.0.7:7483", "[fe80::1%eth0]:7483", ""} {
		o := control.PairOpened{Code: "012345", Room: "our home & garden"}
		if address != "" {
			o.Addresses = []string{address}
		}
		link := joinLink(o)
		if u, err := url.Parse(link); err != nil || u.Query().Get("room") != o.Room {
			t.Errorf("%s: %v, %v", link, u, err)
		}
		if got, err := joinRequest(link, ""); err != nil || got.Code != o.Code || got.Host != address || got.Listen {
			t.Errorf("%s: %+v, %v", link, got, err)
		}
	}
	for in, want := range map[string]string{"482915": "482915", "482 915": "482915", "482-915": "482915"} {
		if got, err := joinRequest(in, "kitchen.local"); err != nil || got.Code != want || got.Host != "kitchen.local" {
			t.Errorf("%q: %+v, %v", in, got, err)
		}
	}
	if got, err := joinRequest("", ""); err != nil || !got.Listen {
		t.Errorf("nothing: %+v, %v", got, err)
	}
	for _, host := range []string{"a b", "kitchen:", ":7483", "kitchen:0", "http://kitchen", "fe80::zz:1"} {
		if got, err := joinRequest("482915", host); err == nil {
			t.Errorf("--host %q is taken: %+v", host, got)
		}
	}
	for _, host := range []string{"kitchen", "kitchen.local:7483", "10.0.0.7", "fe80::1", "[fe80::1]:7483", "[fe80::1]", "fe80::1%eth0", "[fe80::1%eth0]:7483"} {
		if got, err := joinRequest("482915", host); err != nil {
			t.Errorf("--host %q: %+v, %v", host, got, err)
		}
	}
}

// appliance is conch run in the background, and how the other commands reach it.
type appliance struct {
	dir string
	env []string
}

func newAppliance(t *testing.T, name, companion string, more ...string) appliance {
	t.Helper()
	a, _ := startAppliance(t, name, companion, more...)
	return a
}

// startAppliance also gives what stops it; more are variables of its environment.
func startAppliance(t *testing.T, name, companion string, more ...string) (appliance, func()) {
	t.Helper()
	dir, err := os.MkdirTemp("", "conch") // a socket's path is short
	if err != nil {
		t.Fatal(err)
	}
	a := appliance{dir: dir, env: append(os.Environ(), "HOME="+dir, "CONCH_STATE_DIR="+filepath.Join(dir, "state"), "CONCH_STATE_RUNTIME="+dir,
		"CONCH_DEVICE_NAME="+name, "CONCH_DEVICE_COMPANION="+companion, "CONCH_AUDIO_BACKEND=null", "CONCH_VOICE_KIND=rehearsal",
		"CONCH_BUTTON_SOURCE=none", "CONCH_ROOM_DISCOVERY=off", "CONCH_ROOM_PORT="+unusedPort(t))}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	a.env = append(a.env, more...)
	return a, a.start(t)
}

// start runs it, until the end of the test or until what it gives is called.
func (a appliance) start(t *testing.T) (stop func()) {
	t.Helper()
	log, err := os.OpenFile(a.path("log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	run := exec.Command("conch", "run")
	run.Env, run.Stdout, run.Stderr = a.env, log, log
	if err := run.Start(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(a.path("pid"), []byte(strconv.Itoa(run.Process.Pid)), 0o600); err != nil {
		t.Fatal(err)
	}
	stop = sync.OnceFunc(func() {
		_ = run.Process.Signal(syscall.SIGTERM)
		_ = run.Wait()
		log.Close()
		if t.Failed() {
			t.Logf("%s:\n%s", a.dir, a.read(t, "log"))
		}
	})
	t.Cleanup(stop)
	if !soon(func() bool {
		var s control.Status
		r, err := control.Dial(a.config())
		return err == nil && r.Do(t.Context(), "GET", "/status", nil, &s) == nil && s.Ready
	}) {
		t.Fatalf("%s is not ready", a.dir)
	}
	return stop
}

func (a appliance) path(name string) string { return filepath.Join(a.dir, name) }

// read gives a file of its directory: "log" is what it has said, "pid" its process, the rest is its state.
func (a appliance) read(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(a.path(name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func (a appliance) config() config.Config {
	cfg := config.Default()
	cfg.State.Runtime = a.dir
	return cfg
}

// conch runs a command at the appliance to its end, and gives what it says and its status.
func (a appliance) conch(t *testing.T, args ...string) (string, int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	c := exec.CommandContext(ctx, "conch", args...)
	c.Env = a.env
	out, _ := c.CombinedOutput()
	return string(out), c.ProcessState.ExitCode()
}

// A person at the kitchen's terminal opens a window, another at the hall's types its code, once wrong; both are told. Ctrl-C closes a
// window, and a code is nothing then. At the end the kitchen's person removes the hall, when asked whether to.
func TestPersonPairsTwoDevices(t *testing.T) {
	t.Parallel()
	kitchen, hall := newAppliance(t, "kitchen", "Ada"), newAppliance(t, "hall", "Ben")
	at := func(args ...string) *person {
		p := sitAt(t, append(args, "--set", "state.runtime="+kitchen.dir, "--set", "state.dir="+filepath.Join(kitchen.dir, "state"))...)
		return p
	}
	codeOf := func(p *person) (code, host string) {
		p.sees(`^code [0-9]{6} for room home, [0-9]+ s$`)
		m := regexp.MustCompile(`conch room join ([0-9]{6}) --host \S*:([0-9]+)`).FindStringSubmatch(p.screen())
		if m == nil {
			t.Skip("this machine has no address besides loopback, at which the hall would find the kitchen again")
		}
		return m[1], "127.0.0.1:" + m[2]
	}

	p := at("room", "pair")
	code, host := codeOf(p)
	p.sees(`█████|████ `)
	p.sees(`[0-9]+ s left \(Ctrl-C closes it\)$`)
	p.types("\x03")
	_ = p.program.Wait()
	if status := p.program.ProcessState.ExitCode(); status != 1 || !strings.Contains(p.log.String(), "conch: cancelled") {
		t.Errorf("Ctrl-C ends with status %d: %s", status, p.log.String())
	}
	if out, status := hall.conch(t, "room", "join", code, "--host", host); status != 1 || !strings.Contains(out, "conch: room join: ") {
		t.Errorf("the code of a closed window: status %d: %s", status, out)
	}

	p = at("room", "pair")
	code, host = codeOf(p)
	wrong := "000000"
	if code == wrong {
		wrong = "111111"
	}
	if out, status := hall.conch(t, "room", "join", wrong, "--host", host); status != 1 || !strings.Contains(out, "The code was wrong") {
		t.Errorf("a wrong code: status %d: %s", status, out)
	}
	p.sees(`^wrong code \(1 of 3\)$`)
	if out, status := hall.conch(t, "room", "join", code[:3], code[3:], "--host", host); status != 0 || !strings.Contains(out, "Paired with kitchen.") {
		t.Fatalf("the code: status %d: %s", status, out)
	}
	p.sees(`^Paired with hall\.$`)
	p.leaves()

	list := ""
	if !soon(func() bool {
		list, _ = hall.conch(t, "room", "list")
		return regexp.MustCompile(`(?m)^kitchen +[a-z2-7]{20} +\S+ +here +Ada +medium +keeps the room$`).MatchString(list)
	}) {
		t.Errorf("conch room list in the hall:\n%s", list)
	}
	if out, status := kitchen.conch(t, "room", "remove", "hall"); status != 2 || !strings.Contains(out, "say --yes") {
		t.Errorf("without a terminal and --yes: status %d: %s", status, out)
	}
	p = at("room", "remove", "hall")
	p.types("\r") // it waits in the terminal for whoever reads
	_ = p.program.Wait()
	if status := p.program.ProcessState.ExitCode(); status != 1 || !strings.Contains(p.log.String(), "remove hall from the room?") || !strings.Contains(p.log.String(), "nothing was changed") {
		t.Errorf("enter alone: status %d: %s", status, p.log.String())
	}
	p = at("room", "remove", "hall")
	p.types("y\r")
	p.sees(`hall is no longer in the room$`)
	p.leaves()
	if !soon(func() bool {
		out, status := hall.conch(t, "room", "list")
		return status == 1 && strings.Contains(out, "this device is alone")
	}) {
		t.Error("the hall is still in a room")
	}
	if out, status := kitchen.conch(t, "room", "leave", "--yes"); status != 0 || !strings.Contains(out, "left the room home") {
		t.Errorf("leave: status %d: %s", status, out)
	}
}
