package mqtttest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// Options are what differs from a Mosquitto that lets everybody in.
type Options struct {
	Users    map[string]string // name and password; nobody else is let in
	ACL      string            // an acl_file's text
	CAFile   string            // with CertFile and KeyFile: TLS; clients need a certificate of this authority if ClientCert
	CertFile string
	KeyFile  string

	ClientCert bool
	Websockets bool
	Address    string // 127.0.0.1 when empty
	Extra      string // further lines of the configuration
}

// Mosquitto is a broker as a process of its own on a loopback port, with a configuration of its own. It ends with the test,
// or with the process that started it.
type Mosquitto struct {
	t    TB
	o    Options
	dir  string
	addr string

	mu   sync.Mutex
	cmd  *exec.Cmd
	done chan struct{} // closed when cmd has ended
	out  *tail
}

// errNotUp says that the broker did not begin to listen.
var errNotUp = errors.New("mqtttest: mosquitto does not listen")

// Start starts a Mosquitto, or skips the test where there is none.
func Start(t TB, o Options) *Mosquitto {
	t.Helper()
	if _, err := Find("mosquitto"); err != nil {
		t.Skipf("%v; on Debian: apt-get install mosquitto mosquitto-clients", err)
	}
	if o.Address == "" {
		o.Address = "127.0.0.1"
	}
	m := &Mosquitto{t: t, o: o, dir: t.TempDir()}
	port, err := FreePort(o.Address)
	if err != nil {
		t.Fatalf("mqtttest: %v", err)
	}
	m.addr = net.JoinHostPort(o.Address, port)
	if err := m.configure(port); err != nil {
		t.Fatalf("mqtttest: %v", err)
	}
	t.Cleanup(m.Kill)
	if err := m.Restart(); err != nil {
		t.Fatalf("%v", err)
	}
	return m
}

// Find looks for a program of Mosquitto's, which Debian puts where only root looks.
func Find(name string) (string, error) {
	if p, err := exec.LookPath(name); err == nil {
		return p, nil
	}
	p := "/usr/sbin/" + name
	if _, err := os.Stat(p); err != nil {
		return "", fmt.Errorf("mqtttest: %s is not installed", name)
	}
	return p, nil
}

// FreePort is a port of this machine that nobody has, and that nobody is given either: the kernel gives from 32768 on.
func FreePort(address string) (string, error) {
	for range 100 {
		port := strconv.Itoa(20000 + rand.IntN(12000))
		if l, err := net.Listen("tcp", net.JoinHostPort(address, port)); err == nil {
			return port, l.Close()
		}
	}
	return "", fmt.Errorf("mqtttest: no port of %s is free from 20000 to 32000", address)
}

func (m *Mosquitto) configure(port string) error {
	var b strings.Builder
	say := func(format string, args ...any) { _, _ = fmt.Fprintf(&b, format+"\n", args...) }
	say("listener %s %s", port, m.o.Address)
	if m.o.Websockets {
		say("protocol websockets")
	}
	if m.o.CertFile != "" {
		say("cafile %s\ncertfile %s\nkeyfile %s\nrequire_certificate %t", m.o.CAFile, m.o.CertFile, m.o.KeyFile, m.o.ClientCert)
	}
	say("persistence false\nlog_dest stderr\nlog_type error\nlog_type warning\nallow_anonymous %t", m.o.Users == nil)
	if os.Getuid() == 0 {
		say("user root") // it would change to a user who cannot read a test's directory
	}
	if m.o.Users != nil {
		file := filepath.Join(m.dir, "passwd")
		say("password_file %s", file)
		if err := os.WriteFile(file, nil, 0o600); err != nil {
			return err
		}
		tool, err := Find("mosquitto_passwd")
		if err != nil {
			return err
		}
		for name, password := range m.o.Users {
			if out, err := exec.Command(tool, "-b", file, name, password).CombinedOutput(); err != nil {
				return fmt.Errorf("mosquitto_passwd: %w: %s", err, out)
			}
		}
	}
	if m.o.ACL != "" {
		file := filepath.Join(m.dir, "acl")
		say("acl_file %s", file)
		if err := os.WriteFile(file, []byte(m.o.ACL), 0o600); err != nil {
			return err
		}
	}
	say("%s", m.o.Extra)
	return os.WriteFile(filepath.Join(m.dir, "mosquitto.conf"), []byte(b.String()), 0o600)
}

// Restart starts the broker, after ending it if it runs, on the same port, and waits until it listens.
func (m *Mosquitto) Restart() error {
	m.Kill()
	path, err := Find("mosquitto")
	if err != nil {
		return err
	}
	m.mu.Lock()
	m.out = &tail{}
	m.cmd = exec.Command(path, "-c", filepath.Join(m.dir, "mosquitto.conf"))
	m.cmd.Stdout, m.cmd.Stderr = m.out, m.out
	m.done, err = begin(m.cmd)
	done, out := m.done, m.out
	m.mu.Unlock()
	if err != nil {
		return fmt.Errorf("mqtttest: start mosquitto: %w", err)
	}
	return listens(m.addr, done, out)
}

// begin starts a process that must not outlive a test that crashed. done is closed when it has ended.
func begin(cmd *exec.Cmd) (done chan struct{}, err error) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	done = make(chan struct{})
	started := make(chan error, 1)
	go func() { // ends with the process
		// Linux ties Pdeathsig to the thread that starts the process, and a thread can end before its program: so it is kept as long.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		defer close(done)
		err := cmd.Start()
		started <- err
		if err == nil {
			_ = cmd.Wait()
		}
	}()
	return done, <-started
}

// listens waits until somebody does at an address.
func listens(addr string, done <-chan struct{}, out *tail) error {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		if c, err := net.DialTimeout("tcp", addr, time.Second); err == nil {
			return c.Close()
		}
		select {
		case <-tick.C:
		case <-done:
			return fmt.Errorf("%w: it ended: %s", errNotUp, out)
		case <-ctx.Done():
			return fmt.Errorf("%w in time: %s", errNotUp, out)
		}
	}
}

// Kill ends the broker at once and waits until it has ended. Its clients' connections close.
func (m *Mosquitto) Kill() { m.signal(syscall.SIGKILL, true) }

// Stop lets the broker end properly.
func (m *Mosquitto) Stop() { m.signal(syscall.SIGTERM, true) }

// Freeze stops the process: it answers nobody and closes nothing. Thaw lets it go on.
func (m *Mosquitto) Freeze() { m.signal(syscall.SIGSTOP, false) }

// Thaw lets a frozen broker go on.
func (m *Mosquitto) Thaw() { m.signal(syscall.SIGCONT, false) }

func (m *Mosquitto) signal(s syscall.Signal, wait bool) {
	m.mu.Lock()
	cmd, done := m.cmd, m.done
	m.mu.Unlock()
	if cmd == nil || cmd.Process == nil {
		return
	}
	_ = cmd.Process.Signal(s)
	if wait {
		<-done
	}
}

// Addr is host:port.
func (m *Mosquitto) Addr() string { return m.addr }

// URL is the address for a client.
func (m *Mosquitto) URL() string {
	switch {
	case m.o.Websockets:
		return "ws://" + m.addr
	case m.o.CertFile != "":
		return "mqtts://" + m.addr
	}
	return "mqtt://" + m.addr
}

// Publish lets mosquitto_pub say something, as a client that nobody here wrote.
func (m *Mosquitto) Publish(topic string, payload []byte, args ...string) {
	m.t.Helper()
	Publish(m.t, m.addr, topic, payload, args...)
}

// Publish lets mosquitto_pub say something to any broker.
func Publish(t TB, addr, topic string, payload []byte, args ...string) {
	t.Helper()
	tool, err := Find("mosquitto_pub")
	if err != nil {
		t.Skipf("%v; on Debian: apt-get install mosquitto-clients", err)
	}
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		t.Fatalf("mqtttest: %v", err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, tool, append([]string{"-h", host, "-p", port, "-V", "311", "-t", topic, "-s"}, args...)...)
	cmd.Stdin = bytes.NewReader(payload)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("mqtttest: mosquitto_pub: %v: %s", err, out)
	}
}

// tail keeps the end of what a process says.
type tail struct {
	mu sync.Mutex
	b  []byte
}

func (t *tail) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.b = append(t.b, b...)
	t.b = t.b[max(0, len(t.b)-4096):]
	return len(b), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return strings.TrimSpace(string(t.b))
}
