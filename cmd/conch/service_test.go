package main

import (
	"bytes"
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// manager is a service manager, as far as sd_notify(3) goes: it owns NOTIFY_SOCKET, starts conch run and hears what it says.
type manager struct {
	t       *testing.T
	socket  *net.UnixConn
	program *exec.Cmd
	env     []string

	mu   sync.Mutex
	log  bytes.Buffer
	said []string // every datagram so far
	ends chan struct{}
}

// serve starts conch run as a service of a manager whose watchdog has this limit.
func serve(t *testing.T, watchdog time.Duration, env ...string) *manager {
	t.Helper()
	dir := t.TempDir()
	m := &manager{t: t, ends: make(chan struct{})}
	path := filepath.Join(dir, "notify")
	var err error
	if m.socket, err = net.ListenUnixgram("unixgram", &net.UnixAddr{Name: path, Net: "unixgram"}); err != nil {
		t.Fatal(err)
	}
	m.env = append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "XDG_STATE_HOME=" + dir + "/state", "XDG_RUNTIME_DIR=" + dir,
		"XDG_CONFIG_HOME=" + dir, "CONCH_AUDIO_BACKEND=null", "NOTIFY_SOCKET=" + path,
		"WATCHDOG_USEC=" + strconv.FormatInt(watchdog.Microseconds(), 10)}, env...)
	m.program = exec.CommandContext(t.Context(), "conch", "run")
	m.program.Env, m.program.Stdout, m.program.Stderr = m.env, (*managerLog)(m), (*managerLog)(m)
	if err := m.program.Start(); err != nil {
		t.Fatal(err)
	}
	go func() { // ends when the socket is closed
		defer close(m.ends)
		buf := make([]byte, 8<<10)
		for {
			n, err := m.socket.Read(buf)
			if err != nil {
				return
			}
			m.mu.Lock()
			m.said = append(m.said, string(buf[:n]))
			m.mu.Unlock()
		}
	}()
	t.Cleanup(func() {
		_ = m.program.Process.Kill() // ended already, unless the test has failed
		m.socket.Close()
		<-m.ends
		if t.Failed() {
			t.Logf("said: %q\nlog:\n%s", m.heard(), m.logged())
		}
	})
	return m
}

// managerLog is the journal.
type managerLog manager

func (l *managerLog) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.log.Write(p)
}

func (m *manager) logged() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.log.String()
}

func (m *manager) heard() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return append([]string(nil), m.said...)
}

// count is how often exactly that was said.
func (m *manager) count(what string) int {
	n := 0
	for _, s := range m.heard() {
		for line := range strings.Lines(s) {
			if strings.TrimSpace(line) == what {
				n++
			}
		}
	}
	return n
}

func (m *manager) until(what string, cond func() bool) {
	m.t.Helper()
	if !soon(cond) {
		m.t.Fatalf("%s: not after %s", what, patience)
	}
}

// conch runs another conch beside it.
func (m *manager) conch(args ...string) string {
	m.t.Helper()
	cmd := exec.CommandContext(m.t.Context(), "conch", args...)
	cmd.Env = m.env
	out, err := cmd.CombinedOutput()
	if err != nil {
		m.t.Fatalf("conch %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

func (m *manager) signal(s os.Signal) {
	m.t.Helper()
	if err := m.program.Process.Signal(s); err != nil {
		m.t.Fatal(err)
	}
}

// end ends it as a service manager does, and returns its exit status.
func (m *manager) end() int {
	m.t.Helper()
	m.signal(syscall.SIGTERM)
	err := m.program.Wait()
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		m.t.Fatal(err)
	}
	return m.program.ProcessState.ExitCode()
}

func TestServiceTellsItsManager(t *testing.T) {
	t.Parallel()
	m := serve(t, time.Second)
	m.until("ready", func() bool { return m.count("READY=1") == 1 })
	if first := m.heard()[0]; !strings.HasPrefix(first, "READY=1\nSTATUS=") || strings.Count(first, "\n") != 1 || !strings.Contains(first, "rehearsal") {
		t.Errorf("it says first %q; want READY=1 and one line of status that names the voice", first)
	}
	m.until("fed", func() bool { return m.count("WATCHDOG=1") >= 3 })

	m.signal(syscall.SIGHUP)
	m.until("reloaded", func() bool { return m.count("READY=1") == 2 })
	said := strings.Join(m.heard(), "\n")
	reload := strings.Index(said, "RELOADING=1\nMONOTONIC_USEC=")
	if reload < 0 || strings.Index(said[reload:], "READY=1") < 0 {
		t.Errorf("a reload is told as %q", said)
	}

	if code := m.end(); code != 0 {
		t.Errorf("it ends with status %d", code)
	}
	m.until("stopping", func() bool { return m.count("STOPPING=1") == 1 })
	if all := m.heard(); !strings.HasPrefix(all[len(all)-1], "STOPPING=1") {
		t.Errorf("its last words are %q", all[len(all)-1])
	}
}

// A loop that stands still stops the feed and is named; that it goes on again is noticed, too.
func TestServiceStopsTheFeed(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"coordinator", "button"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := serve(t, 400*time.Millisecond)
			m.until("fed", func() bool { return m.count("WATCHDOG=1") >= 2 })
			if out := m.conch("debug", "stall", name, "--for", "3s"); !strings.HasPrefix(out, name) {
				t.Errorf("debug stall says %q", out)
			}
			m.until("the loop is named", func() bool {
				return strings.Contains(m.logged(), "event=watchdog.stuck loop="+name) || strings.Contains(m.logged(), `event=watchdog.stuck loop="`+name)
			})
			fed := m.count("WATCHDOG=1")
			m.until("loose", func() bool { return strings.Contains(m.logged(), "event=watchdog.loose") })
			// Two may be on their way just then, one at each end; a feed that had gone on would have brought more than ten.
			if n := m.count("WATCHDOG=1") - fed; n > 2 {
				t.Errorf("fed %d times while a loop stood still", n)
			}
			fed = m.count("WATCHDOG=1")
			m.until("fed again", func() bool { return m.count("WATCHDOG=1") > fed })
			if code := m.end(); code != 0 {
				t.Errorf("it ends with status %d", code)
			}
		})
	}
}

// A process that was stopped for longer than its watchdog waits is fed as soon as it goes on, and blames no loop.
func TestServiceForgivesAStop(t *testing.T) {
	t.Parallel()
	m := serve(t, 400*time.Millisecond)
	for range 3 {
		fed := m.count("WATCHDOG=1")
		m.until("fed", func() bool { return m.count("WATCHDOG=1") >= fed+2 })
		m.signal(syscall.SIGSTOP)
		m.until("stopped", func() bool { return strings.Contains(m.state(), "T (stopped)") })
		quiet := time.NewTimer(2 * time.Second) // five times what the watchdog waits
		<-quiet.C
		m.signal(syscall.SIGCONT)
	}
	fed := m.count("WATCHDOG=1")
	m.until("fed again", func() bool { return m.count("WATCHDOG=1") >= fed+5 })
	if strings.Contains(m.logged(), "watchdog.stuck") {
		t.Error("a stop was taken for a hang")
	}
	if code := m.end(); code != 0 {
		t.Errorf("it ends with status %d", code)
	}
}

// state is what the kernel says the program does.
func (m *manager) state() string {
	data, _ := os.ReadFile("/proc/" + strconv.Itoa(m.program.Process.Pid) + "/status")
	return string(data)
}

// Without a manager nothing is said, and nothing complained of.
func TestServiceAlone(t *testing.T) {
	t.Parallel()
	m := serve(t, time.Second, "NOTIFY_SOCKET=")
	m.until("up", func() bool { return strings.Contains(m.logged(), "voice   rehearsal") })
	if code := m.end(); code != 0 {
		t.Errorf("it ends with status %d", code)
	}
	if len(m.heard()) > 0 || strings.Contains(m.logged(), "notify") {
		t.Errorf("it says %q", m.heard())
	}
}
