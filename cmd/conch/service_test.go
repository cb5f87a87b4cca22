package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"conch/device/control"
)

// manager is a service manager, as far as sd_notify(3) goes: it owns NOTIFY_SOCKET, starts conch run and hears what it says.
type manager struct {
	t       *testing.T
	socket  *net.UnixConn
	program *exec.Cmd
	env     []string
	dir     string

	mu   sync.Mutex
	log  bytes.Buffer
	said []string // every datagram so far
	fed  time.Time
	most time.Duration // between two feeds
	ends chan struct{}
}

// serve starts conch run as a service of a manager whose watchdog has this limit.
func serve(t *testing.T, watchdog time.Duration, env ...string) *manager {
	t.Helper()
	return serveIn(t, t.TempDir(), watchdog, env...)
}

// serveIn does so in a directory that may have been one before.
func serveIn(t *testing.T, dir string, watchdog time.Duration, env ...string) *manager {
	t.Helper()
	m := prepare(t, dir, watchdog, env...)
	m.start()
	return m
}

// prepare makes the manager; start starts what it manages.
func prepare(t *testing.T, dir string, watchdog time.Duration, env ...string) *manager {
	t.Helper()
	m := &manager{t: t, dir: dir, ends: make(chan struct{})}
	path := filepath.Join(dir, "notify")
	_ = os.Remove(path) // of the life before
	var err error
	if m.socket, err = net.ListenUnixgram("unixgram", &net.UnixAddr{Name: path, Net: "unixgram"}); err != nil {
		t.Fatal(err)
	}
	m.env = append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "XDG_STATE_HOME=" + dir + "/state", "XDG_RUNTIME_DIR=" + dir,
		"XDG_CONFIG_HOME=" + dir, "CONCH_AUDIO_BACKEND=null", "NOTIFY_SOCKET=" + path,
		"WATCHDOG_USEC=" + strconv.FormatInt(watchdog.Microseconds(), 10)}, env...)
	m.program = exec.CommandContext(t.Context(), "conch", "run")
	m.program.Env, m.program.Stdout, m.program.Stderr = m.env, (*managerLog)(m), (*managerLog)(m)
	return m
}

func (m *manager) start() {
	m.t.Helper()
	if err := m.program.Start(); err != nil {
		m.t.Fatal(err)
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
			if string(buf[:n]) == "WATCHDOG=1" {
				if !m.fed.IsZero() {
					m.most = max(m.most, time.Since(m.fed))
				}
				m.fed = time.Now()
			}
			m.mu.Unlock()
		}
	}()
	m.t.Cleanup(func() {
		_ = m.program.Process.Kill() // ended already, unless the test has failed
		m.socket.Close()
		<-m.ends
		if m.t.Failed() {
			m.t.Logf("said: %q\nlog:\n%s", m.heard(), m.logged())
		}
	})
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

// hungry is the longest time between two feeds.
func (m *manager) hungry() time.Duration {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.most
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
	out, err := m.try(args...)
	if err != nil {
		m.t.Fatalf("conch %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return out
}

func (m *manager) try(args ...string) (string, error) {
	cmd := exec.CommandContext(m.t.Context(), "conch", args...)
	cmd.Env = m.env
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// status is GET /status of its control socket.
func (m *manager) status() control.Status {
	m.t.Helper()
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", filepath.Join(m.dir, "conch", "control.sock"))
	}
	client := &http.Client{Transport: &http.Transport{DialContext: dial, DisableKeepAlives: true}}
	resp, err := client.Get("http://conch/status")
	if err != nil {
		m.t.Fatal(err)
	}
	defer resp.Body.Close()
	var s control.Status
	if err := json.NewDecoder(resp.Body).Decode(&s); err != nil {
		m.t.Fatal(err)
	}
	return s
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
	if reload < 0 || !strings.Contains(said[reload:], "READY=1") {
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
	for _, name := range []string{"coordinator", "button", "voice"} {
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
			m.until("loose", func() bool { return strings.Contains(m.logged(), "event=watchdog.loose") })
			fed := m.count("WATCHDOG=1")
			m.until("fed again", func() bool { return m.count("WATCHDOG=1") > fed })
			if longest := m.hungry(); longest < time.Second { // it is noticed within the first second
				t.Errorf("fed again after %v at the latest, though a loop stood still for 3 s", longest)
			}
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

// Killed, it comes back with the volume that was set and with what was said.
func TestServiceRemembersWhenKilled(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	m := serveIn(t, dir, time.Second)
	m.until("ready", func() bool { return m.count("READY=1") == 1 })
	if out := m.conch("ask", "what is one plus one"); !strings.Contains(out, "1 plus 1 is 2") {
		t.Fatalf("it answers %q", out)
	}
	m.conch("ask", "set the volume to 35 percent")
	for name, want := range map[string]string{"volume.json": `"Percent":35`, "talk-rehearsal-ada.json": "35"} {
		path := filepath.Join(dir, "state", "conch", name)
		m.until(name+" is written", func() bool {
			data, err := os.ReadFile(path)
			return err == nil && strings.Contains(string(data), want)
		})
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: mode %v; want 0600 (%v)", name, info.Mode(), err)
		}
	}
	m.signal(syscall.SIGKILL)
	_ = m.program.Wait() // killed
	if err := os.WriteFile(filepath.Join(dir, "state", "conch", "volume.json.1.tmp"), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}

	m = serveIn(t, dir, time.Second)
	m.until("ready", func() bool { return m.count("READY=1") == 1 })
	if log := m.logged(); !strings.Contains(log, "event=session.ready companion=ada dialect=ga carried=4") {
		t.Errorf("the session does not begin with the two questions and their answers")
	}
	if v := m.status().Volume; v != 35 {
		t.Errorf("the volume is %d", v)
	}
	m.until("nothing half written is left", func() bool { // but for what it is writing itself
		left, _ := filepath.Glob(filepath.Join(dir, "state", "conch", "*.tmp"))
		return len(left) == 0
	})
	m.end()

	m = serveIn(t, dir, time.Second, "CONCH_VOICE_REMEMBER=false")
	m.until("ready", func() bool { return m.count("READY=1") == 1 })
	if log := m.logged(); !strings.Contains(log, "carried=0") {
		t.Error("it remembers, though it was told not to")
	}
	if _, err := os.Stat(filepath.Join(dir, "state", "conch", "talk-rehearsal-ada.json")); err == nil {
		t.Error("the conversation is still there")
	}
	m.end()
}

// A ceiling that was reached holds across a restart, and so does that somebody lifted it: however the service ends.
func TestServiceRemembersThatACeilingWasLifted(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	start := func() *manager {
		m := serveIn(t, dir, time.Second, "CONCH_VOICE_CEILING_TOKENS=30")
		m.until("ready", func() bool { return m.count("READY=1") == 1 })
		return m
	}
	refuses := func(m *manager) bool { return strings.Contains(m.conch("usage"), "no new answers") }
	m := start()
	m.conch("ask", "what is one plus one")
	m.until("the ceiling", func() bool { return refuses(m) })
	m.end()
	m = start()
	if !refuses(m) {
		t.Error("a restart lifts the ceiling")
	}
	for _, end := range []os.Signal{syscall.SIGKILL, syscall.SIGTERM} {
		if out := m.conch("usage", "reset"); strings.Contains(out, "no new answers") {
			t.Fatalf("it says %q", out)
		}
		m.signal(end)
		_ = m.program.Wait() // killed, or ended
		m = start()
		if refuses(m) {
			t.Errorf("after %v the ceiling that was lifted is back: %s", end, m.conch("usage"))
		}
		if out := m.conch("ask", "what is one plus one"); !strings.Contains(out, "1 plus 1 is 2") {
			t.Errorf("after %v it answers %q", end, out)
		}
		m.until("the ceiling again", func() bool { return refuses(m) })
	}
	m.end()
}

// A key that cannot be read is a condition: it starts, says so, does not pretend to have an answer, and heals by itself.
func TestServiceWithABrokenKey(t *testing.T) {
	t.Parallel()
	key := filepath.Join(t.TempDir(), "key")
	m := serve(t, time.Second, "CONCH_VOICE_KEY_FILE="+key, "CONCH_VOICE_URL=ws://127.0.0.1:9/v1/realtime", "CONCH_DEVICE_QUIET=00:00-00:00")
	m.until("ready", func() bool { return m.count("READY=1") == 1 })
	m.until("the condition is in the status", func() bool { return strings.Contains(strings.Join(m.heard(), "\n"), "key.broken") })
	if !strings.Contains(m.logged(), "code=key.broken") || !strings.Contains(m.logged(), "no such file or directory") {
		t.Error("the log does not say which file is missing")
	}
	if strings.Contains(m.logged(), "rehearsal.session_begin") {
		t.Error("it rehearses, as if it had never been given a key")
	}
	m.until("it is said aloud", func() bool { return strings.Contains(m.logged(), "event=aloud.said clip=key_broken") })
	if err := os.WriteFile(key, []byte("sk-good"), 0o600); err != nil {
		t.Fatal(err)
	}
	m.until("healed", func() bool { return strings.Contains(m.logged(), "event=condition.end code=key.broken") })
	if code := m.end(); code != 0 {
		t.Errorf("it ends with status %d", code)
	}
}

// Nothing that is wrong with one part keeps the others from starting.
func TestServiceStartsWithWhatWorks(t *testing.T) {
	t.Parallel()
	for name, env := range map[string][]string{
		"a pin of the sound board": {"CONCH_BUTTON_PIN=18"},
		"a chip that is not there": {"CONCH_BUTTON_SOURCE=gpio", "CONCH_BUTTON_CHIP=nowhere"},
		"a card that is not there": {"CONCH_AUDIO_BACKEND=alsa", "CONCH_AUDIO_PLAYBACK=nowhere", "CONCH_AUDIO_CAPTURE=nowhere"},
		"two boards":               {"CONCH_DEVICE_BOARD=aiy-v1,codec-zero"},
		"light and button on one":  {"CONCH_LIGHT_DRIVER=gpio", "CONCH_LIGHT_PINS=17", "CONCH_BUTTON_PIN=17", "CONCH_BUTTON_SOURCE=gpio"},
		"a broker's port in use":   {"CONCH_ROOM_BROKER=embedded", "CONCH_ROOM_LISTEN=192.0.2.1:1883"},
		"a state it may not write": {"CONCH_STATE_DIR=/proc/nowhere"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := serve(t, time.Second, env...)
			m.until("ready", func() bool { return m.count("READY=1") == 1 })
			m.until("the condition is in the status", func() bool { return strings.Contains(strings.Join(m.heard(), "\n"), "condition") })
			if out, _ := m.try("ask", "what is one plus one"); !strings.Contains(out, "1 plus 1 is 2") { // without a loudspeaker nobody hears it, which is an error
				t.Errorf("it answers %q", out)
			}
			if code := m.end(); code != 0 {
				t.Errorf("it ends with status %d", code)
			}
		})
	}
}

// In the journal a line has a priority and no time of its own, and nothing of what people say.
func TestServiceWritesForTheJournal(t *testing.T) {
	t.Parallel()
	journal := filepath.Join(t.TempDir(), "journal")
	f, err := os.Create(journal)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var st unix.Stat_t
	if err := unix.Fstat(int(f.Fd()), &st); err != nil {
		t.Fatal(err)
	}
	m := prepare(t, t.TempDir(), time.Second, "CONCH_LOG_LEVEL=debug", "CONCH_AUDIO_PLAYBACK=nowhere",
		"JOURNAL_STREAM="+strconv.FormatUint(st.Dev, 10)+":"+strconv.FormatUint(st.Ino, 10))
	m.program.Stdout, m.program.Stderr = f, f
	m.start()
	m.until("ready", func() bool { return m.count("READY=1") == 1 })
	_, _ = m.try("ask", "remember the word xylophone") // nobody hears the answer, for there is no loudspeaker
	_, _ = m.try("say", "marimba")
	m.end()
	data, err := os.ReadFile(journal)
	if err != nil {
		t.Fatal(err)
	}
	log := string(data)
	for _, want := range []string{"<6>event=session.ready", "<4>event=condition.begin code=sound.speaker", "<7>event="} {
		if !strings.Contains(log, want) {
			t.Errorf("the journal has no %q", want)
		}
	}
	for line := range strings.Lines(log) {
		if strings.Contains(line, "event=") && (line[0] != '<' || strings.Contains(line, ">time=") || strings.Contains(line, " level=")) {
			t.Errorf("in the journal: %q", line)
		}
	}
	for _, secret := range []string{"xylophone", "marimba"} {
		if strings.Contains(log, secret) {
			t.Errorf("the journal knows of the %s", secret)
		}
	}
	if t.Failed() {
		t.Log(log)
	}
}

// A journal that is not read holds nobody up: the turn goes on, the watchdog is fed, the end is the end.
func TestServiceWithAJournalThatSleeps(t *testing.T) {
	t.Parallel()
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer read.Close()
	size, err := unix.FcntlInt(write.Fd(), unix.F_SETPIPE_SZ, 4096)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := write.Write(make([]byte, size)); err != nil { // full before it starts
		t.Fatal(err)
	}
	m := prepare(t, t.TempDir(), time.Second, "CONCH_LOG_LEVEL=debug")
	m.program.Stdout, m.program.Stderr = write, write
	m.start()
	write.Close()
	m.until("ready", func() bool { return m.count("READY=1") == 1 })
	for range 3 {
		if out := m.conch("ask", "what is one plus one"); !strings.Contains(out, "1 plus 1 is 2") {
			t.Errorf("it answers %q", out)
		}
	}
	fed := m.count("WATCHDOG=1")
	m.until("fed", func() bool { return m.count("WATCHDOG=1") > fed+3 })
	if code := m.end(); code != 0 {
		t.Errorf("it ends with status %d", code)
	}
}
