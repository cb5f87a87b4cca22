package discovery

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// bus is a system bus of a test's own; an avahi lives on it in a namespace.
type bus struct {
	n       *nets
	dir     string
	address string
}

const busConfig = `<!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-BUS Bus Configuration 1.0//EN"
 "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
<busconfig>
  <type>custom</type>
  <listen>unix:path=%s</listen>
  <auth>EXTERNAL</auth>
  <policy context="default">
    <allow user="*"/>
    <allow own="*"/>
    <allow send_type="method_call"/>
    <allow send_type="signal"/>
    <allow send_type="method_return"/>
    <allow send_type="error"/>
    <allow receive_type="method_call"/>
    <allow receive_type="signal"/>
    <allow receive_type="method_return"/>
    <allow receive_type="error"/>
  </policy>
</busconfig>
`

func newBus(n *nets) *bus {
	n.t.Helper()
	for _, tool := range []string{"dbus-daemon", "avahi-daemon", "unshare"} {
		if _, err := exec.LookPath(tool); err != nil {
			n.t.Skipf("no %s here (make deps-test installs it): %v", tool, err)
		}
	}
	dir, err := os.MkdirTemp("", "conch-bus") // t.TempDir is too long for the path of a socket
	if err != nil {
		n.t.Fatal(err)
	}
	n.t.Cleanup(func() { _ = os.RemoveAll(dir) })
	b := &bus{n: n, dir: dir, address: "unix:path=" + filepath.Join(dir, "socket")}
	b.write("bus.conf", fmt.Sprintf(busConfig, filepath.Join(dir, "socket")))
	b.daemon("dbus-daemon", "--config-file="+filepath.Join(dir, "bus.conf"), "--nofork", "--nopidfile", "--nosyslog")
	b.n.until("the bus", func() bool { _, err := os.Stat(filepath.Join(dir, "socket")); return err == nil })
	return b
}

func (b *bus) write(name, text string) string {
	path := filepath.Join(b.dir, name)
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		b.n.t.Fatal(err)
	}
	return path
}

func (n *nets) until(what string, is func() bool) {
	n.t.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(patience); !is(); <-tick.C {
		if time.Now().After(end) {
			n.t.Fatalf("waited in vain for %s", what)
		}
	}
}

// daemon is a process that ends with the test.
type daemon struct {
	cmd   *exec.Cmd
	ended chan struct{}
	said  strings.Builder // readable once ended
}

func (b *bus) daemon(name string, args ...string) *daemon {
	b.n.t.Helper()
	d := &daemon{cmd: exec.CommandContext(context.Background(), name, args...), ended: make(chan struct{})}
	d.cmd.Env = append(os.Environ(), "DBUS_SYSTEM_BUS_ADDRESS="+b.address)
	// Should the test itself be killed, its daemons go too.
	d.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	out, err := d.cmd.StderrPipe()
	if err != nil {
		b.n.t.Fatal(err)
	}
	if err := d.cmd.Start(); err != nil {
		b.n.t.Fatal(err)
	}
	go func() {
		defer close(d.ended)
		for s := bufio.NewScanner(out); s.Scan(); {
			d.said.WriteString(s.Text() + "\n")
		}
		_ = d.cmd.Wait()
	}()
	b.n.t.Cleanup(func() {
		d.stop()
		if b.n.t.Failed() {
			b.n.t.Logf("%s said:\n%s", name, d.said.String())
		}
	})
	return d
}

// stop ends it by its id.
func (d *daemon) stop() {
	_ = d.cmd.Process.Signal(syscall.SIGCONT)
	_ = d.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case <-d.ended:
	case <-time.After(5 * time.Second):
		_ = d.cmd.Process.Kill()
		<-d.ended
	}
}

// avahi runs the real one in a namespace, with a /run of its own: avahi keeps its pid there and is otherwise once per machine.
func (b *bus) avahi(space, host string) *daemon {
	b.n.t.Helper()
	conf := b.write(host+".conf", "[server]\nhost-name="+host+"\nuse-ipv4=yes\nuse-ipv6=yes\nenable-dbus=yes\n[wide-area]\nenable-wide-area=no\n[publish]\npublish-workstation=no\n")
	// exec all along: the process that is stopped is avahi itself.
	d := b.daemon("ip", "netns", "exec", space, "unshare", "-m", "sh", "-c",
		"mount -t tmpfs tmpfs /run && exec avahi-daemon --no-drop-root --no-chroot --no-rlimits --file="+conf)
	b.n.until("avahi on the bus", func() bool { return b.owned() })
	return d
}

func (b *bus) owned() bool {
	out, err := exec.CommandContext(b.n.t.Context(), "dbus-send", "--bus="+b.address, "--print-reply=literal", "--dest=org.freedesktop.DBus",
		"/org/freedesktop/DBus", "org.freedesktop.DBus.NameHasOwner", "string:"+avahiName).CombinedOutput()
	return err == nil && strings.Contains(string(out), "true")
}

func (b *bus) env() string { return "DBUS_SYSTEM_BUS_ADDRESS=" + b.address }

// What avahi announces is seen by own answers elsewhere, and the other way round.
func TestAvahiAndOwnAnswersSeeEachOther(t *testing.T) {
	t.Parallel()
	n := newNets(t)
	bus := newBus(n)
	here, there := n.device(1), n.device(2)
	bus.avahi(here, "pi")
	a, b := n.box(here, Avahi, 'a', bus.env()), n.box(there, Own, 'b')
	s := a.service("St. John's")
	a.announce(s)
	b.announce(b.service("bedroom"))
	both := func(f []Found) bool { return len(f) == 1 && len(f[0].Addresses) == 2 } // avahi announces each as it has it
	b.seesOnly(a)
	f := b.sees("both addresses", both)[0]
	if f.Service != s || f.Addresses[0] != "10.98.0.1:7483" {
		t.Errorf("avahi's is seen as %+v", f)
	}
	a.seesOnly(b)
	f = a.sees("both addresses", both)[0]
	if f.Service != b.service("bedroom") || f.Addresses[0] != "10.98.0.2:7483" {
		t.Errorf("avahi sees %+v", f)
	}

	t.Log("both open a window")
	s.Pairing = true
	a.announce(s)
	other := b.service("bedroom")
	other.Pairing = true
	b.announce(other)
	b.sees("the window", func(f []Found) bool { return has(f, a.id) && one(f, a.id).Pairing })
	a.sees("the window", func(f []Found) bool { return has(f, b.id) && one(f, b.id).Pairing })

	t.Log("goodbye from either side")
	a.tell(order{Nothing: true})
	b.seesOnly()
	b.tell(order{Nothing: true})
	a.seesOnly()
}

// Without avahi, own answers take over within the same call: where there is no bus, where there is one without an avahi, and
// where avahi hangs.
func TestAvahiNotThere(t *testing.T) {
	t.Parallel()
	n := newNets(t)
	bus := newBus(n)
	hanging := n.device(3)
	hung := bus.avahi(hanging, "hung")
	lonely := newBus(n)
	other := n.box(n.device(4), Own, 'd')
	other.announce(other.service("other"))
	other.seesOnly()
	if err := hung.cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	var all []*box
	for i, env := range []string{"DBUS_SYSTEM_BUS_ADDRESS=unix:path=/nonexistent", lonely.env(), bus.env()} {
		space := hanging
		if i < 2 {
			space = n.device(1 + i)
		}
		b := n.box(space, Auto, byte('a'+i), env)
		if r := b.browse(1500*time.Millisecond, other.id); r.Error != "" || !has(r.Found, other.id) {
			t.Errorf("%s: one call found %+v, error %q", env, r.Found, r.Error)
		}
		all = append(all, b.announce(b.service(fmt.Sprint("device ", i))))
	}
	other.seesOnly(all...)
	t.Log("who asks for avahi alone is told that there is none")
	strict := n.box(n.device(5), Avahi, 'e', lonely.env())
	strict.announce(strict.service("strict"))
	if r := strict.browse(time.Second, ""); !strings.Contains(r.Error, "avahi does not run here") {
		t.Errorf("error: %q", r.Error)
	}
	other.seesOnly(all...)
}

// Avahi ends, and comes back: what is announced is there each time, and said by one of the two only.
func TestAvahiRestarted(t *testing.T) {
	t.Parallel()
	n := newNets(t)
	bus := newBus(n)
	here := n.device(1)
	daemon := bus.avahi(here, "pi")
	a, b := n.box(here, Auto, 'a', bus.env()), n.box(n.device(2), Own, 'b')
	a.announce(a.service("kitchen"))
	b.announce(b.service("bedroom"))
	b.seesOnly(a)
	a.seesOnly(b)
	mine := func() bool { return strings.Contains(n.listening(here), "discovery.test") }
	for range 2 {
		if mine() {
			t.Error("avahi announces, and the port is open all the same")
		}
		daemon.stop()
		n.until("own answers", mine)
		b.seesOnly(a)
		a.seesOnly(b)
		daemon = bus.avahi(here, "pi")
		n.until("avahi's turn", func() bool { return !mine() })
		f := b.seesOnly(a)
		if f[0].Name != "kitchen" {
			t.Errorf("it is %q now", f[0].Name)
		}
		a.seesOnly(b)
	}
	t.Log("killed, avahi says no goodbye")
	if err := daemon.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	n.until("own answers", mine)
	b.seesOnly(a)
}

// Two devices on one machine, and a third elsewhere, all of one name.
func TestSameNameWithAvahi(t *testing.T) {
	t.Parallel()
	n := newNets(t)
	bus := newBus(n)
	here := n.device(1)
	bus.avahi(here, "pi")
	a, b, c := n.box(here, Avahi, 'a', bus.env()), n.box(here, Avahi, 'b', bus.env()), n.box(n.device(2), Own, 'c')
	watcher := n.box(n.device(3), Own, 'd')
	a.announce(a.service("kitchen"))
	watcher.seesOnly(a)
	b.announce(b.service("kitchen"))
	f := watcher.seesOnly(a, b)
	if f[0].Name != "kitchen" || f[1].Name != "kitchen bbbb" {
		t.Errorf("labels: %q and %q", f[0].Name, f[1].Name)
	}
	c.announce(c.service("kitchen"))
	f = watcher.seesOnly(a, b, c)
	if f[0].Name != "kitchen" || f[2].Name != "kitchen cccc" {
		t.Errorf("labels: %q, %q, %q", f[0].Name, f[1].Name, f[2].Name)
	}
	a.seesOnly(b, c)
	b.seesOnly(a, c)
	t.Log("an interface comes and goes under avahi")
	n.ip(n.hub, "link add br1 type bridge mcast_snooping 0", "link set br1 up")
	right := n.space()
	n.cable(right, "eth0", n.hub, "br1", "10.99.0.3/24")
	n.cable(here, "eth1", n.hub, "br1", "10.99.0.1/24")
	e := n.box(right, Own, 'e')
	e.announce(e.service("right"))
	e.sees("both at their second address", func(f []Found) bool {
		return len(f) == 2 && f[0].Addresses[0] == "10.99.0.1:7483" && f[1].Addresses[0] == "10.99.0.1:7483"
	})
	a.seesOnly(b, c, e)
	n.ip(here, "link del eth1")
	e.seesOnly()
	a.sees("no more of the other network", func(f []Found) bool { return !has(f, e.id) })
}

// As systemd/conch.service runs it: a user without any right, none to be had, in a user namespace of its own (PrivateUsers).
// The bus knows it all the same, and multicast needs no right.
func TestWithoutRights(t *testing.T) {
	t.Parallel()
	n := newNets(t)
	bus := newBus(n)
	if _, err := exec.LookPath("setpriv"); err != nil {
		t.Skipf("no setpriv here: %v", err)
	}
	// Where the test was built, that user may not look.
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	program, err := os.ReadFile(exe)
	if err != nil {
		t.Fatal(err)
	}
	own := filepath.Join(bus.dir, "discovery.test")
	if err := os.WriteFile(own, program, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(bus.dir, 0o755); err != nil {
		t.Fatal(err)
	}
	humble := []string{
		"setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--no-new-privs", "--bounding-set=-all", "--inh-caps=-all",
		"unshare", "--user", "--map-current-user", own,
	}
	here, there := n.device(1), n.device(2)
	bus.avahi(here, "pi")
	a, b := n.boxOf(humble, here, Avahi, 'a', bus.env()), n.boxOf(humble, there, Own, 'b')
	a.announce(a.service("kitchen"))
	b.announce(b.service("bedroom"))
	b.seesOnly(a)
	a.seesOnly(b)
	if l := n.listening(there); !strings.Contains(l, ":5353") {
		t.Errorf("open ports: %s", l)
	}
	t.Log("a new address is heard of")
	n.ip(there, "addr del 10.98.0.2/24 dev eth0", "addr add 10.98.0.22/24 dev eth0")
	a.sees("the new address", func(f []Found) bool { return len(f) == 1 && f[0].Addresses[0] == "10.98.0.22:7483" })
}
