package mcp

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
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

	"golang.org/x/sys/unix"

	"conch/device/config"
)

// units is systemd's part: a process of its own for each connection. The commands of this test run in these.
func units(t *testing.T) { listening(t, beUnit) }

// beUnit is the life of one.
func beUnit(conn *net.UnixConn) {
	f, err := conn.File()
	_ = conn.Close()
	if err != nil {
		return
	}
	unit := exec.Command(os.Args[0])
	unit.Env, unit.Stdin = []string{serves + "=a unit", "PATH=" + os.Getenv("PATH")}, f
	err = unit.Start()
	_ = f.Close()
	if err == nil {
		_ = unit.Wait()
	}
}

func listening(t *testing.T, attend func(*net.UnixConn)) {
	t.Helper()
	dir, err := os.MkdirTemp("", "") // a short path: a socket's has 107 bytes
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "s")
	l, err := net.ListenUnix("unixpacket", &net.UnixAddr{Name: path, Net: "unixpacket"})
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	all.Go(func() {
		for {
			conn, err := l.AcceptUnix()
			if err != nil {
				return
			}
			all.Go(func() { attend(conn) })
		}
	})
	t.Setenv(Socket, path)
	t.Cleanup(func() { _ = l.Close(); all.Wait(); _ = os.RemoveAll(dir) })
}

func startOne(t *testing.T, command ...string) *child {
	t.Helper()
	c, err := start(command, nil, strings.NewReplacer(), slog.New(slog.DiscardHandler), &allowance{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close(); c.over(context.Background()) })
	return c
}

func TestAServerInAUnit(t *testing.T) {
	units(t)
	t.Setenv("HOME", "/home/somebody")
	t.Setenv("OPENAI_API_KEY", "sk-of-conch")
	one := own("one", "leaves a child")
	one.Env["TOKEN"] = "of the server"
	r := newRig(t, one)
	r.there("one_echo")
	r.says("one_echo", `{"text":"apples"}`, "Echo: apples")
	got, err := r.call("one_environment", "{}", 10*time.Second)
	all := "\n" + got.Output + "\n"
	if err != nil || !strings.Contains(all, "\nTOKEN=of the server\n") || !strings.Contains(all, "\nHOME=/tmp\n") {
		t.Errorf("%s, %v", got.Output, err)
	}
	for _, not := range []string{"/home/somebody", "sk-of-conch", Socket} {
		if strings.Contains(all, not) {
			t.Errorf("%s is in its environment: %s", not, got.Output)
		}
	}
	got, err = r.call("one_spawns", "{}", 10*time.Second)
	left, _ := strconv.Atoi(got.Output)
	if err != nil || left == 0 {
		t.Fatalf("%q, %v", got.Output, err)
	}
	gone := watched(t, left)
	r.stop()
	gone("what the server started lives on after conch has ended it")
}

// watched is a process that must have ended soon.
func watched(t *testing.T, pid int) (gone func(or string)) {
	t.Helper()
	fd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unix.Close(fd) })
	return func(or string) {
		t.Helper()
		if n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, 10000); n != 1 {
			t.Errorf("%s (%v)", or, err)
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	}
}

func TestHowAProgramOfAUnitEndsIsSaid(t *testing.T) {
	units(t)
	for script, want := range map[string]string{
		"exit 0":              "it ended by itself, without an error",
		"echo bad >&2;exit 3": "it ended by itself: exit status 3; it said: bad",
		"kill -9 $$":          "it ended by itself: signal: killed",
		"kill -9 $PPID":       "its unit has ended, and does not say why", // as where its unit has no memory left
	} {
		c := startOne(t, "sh", "-c", script)
		if !within(c.gone, 20*time.Second) {
			t.Fatalf("%s: it does not end", script)
		}
		if text := c.why(io.EOF).Error(); !strings.Contains(text, want) {
			t.Errorf("%s: %s; want %s", script, text, want)
		}
	}
	for name, want := range map[string]string{
		"no-such-program-here": "it cannot be started: no-such-program-here: no such program on PATH",
		notAProgram(t):         "exec format error",
	} {
		c := startOne(t, name)
		if within(c.gone, 20*time.Second); c.why(io.EOF) == nil || !strings.Contains(c.why(io.EOF).Error(), want) {
			t.Errorf("%v; want %s", c.why(io.EOF), want)
		}
	}
}

// A program that minds neither the end of its input nor SIGTERM is killed, and so is one whose conch closes the connection.
func TestAProgramOfAUnitIsEnded(t *testing.T) {
	units(t)
	c := startOne(t, "sh", "-c", "trap '' TERM; echo $$; while :; do sleep 1000; done")
	line, err := bufio.NewReader(c.out).ReadString('\n')
	pid, _ := strconv.Atoi(strings.TrimSpace(line))
	if err != nil || pid == 0 {
		t.Fatalf("%q, %v", line, err)
	}
	gone := watched(t, pid)
	_ = c.Close()
	if !within(c.gone, 20*time.Second) {
		t.Error("closing it does not end")
	}
	gone("it lives on")
}

// Where the service names a socket there is no other way: a command never starts beside conch.
func TestWithoutItsUnitACommandIsLost(t *testing.T) {
	mark := filepath.Join(t.TempDir(), "started")
	t.Setenv(Socket, filepath.Join(t.TempDir(), "nothing"))
	r := newRig(t, config.MCP{Name: "one", Command: []string{"touch", mark}})
	r.until("lost", func() bool { return r.losses("one") > 1 })
	r.stop()
	if st := r.servers.States()[0]; !strings.Contains(st.Trouble, "systemctl status conch-mcp.socket") {
		t.Errorf("%+v", st)
	}
	if _, err := os.Stat(mark); err == nil {
		t.Error("it was started without a unit")
	}
	units(t)
	long := strings.Repeat("x", maxRequest)
	_, err := start([]string{"true", long}, nil, strings.NewReplacer(), slog.New(slog.DiscardHandler), &allowance{})
	if err == nil || !strings.Contains(err.Error(), "may have 65536") {
		t.Errorf("a command without end: %v", err)
	}
}

// A unit that says what is no outcome, says too much, ends at once, or does nothing at all costs that start.
func TestAUnitThatIsBroken(t *testing.T) {
	for name, attend := range map[string]func(*net.UnixConn){
		"garbage": func(c *net.UnixConn) { _, _ = c.Write([]byte("\x00{]")) },
		"long": func(c *net.UnixConn) {
			_, _ = c.Write([]byte(`{"Started":true,"Err":"` + strings.Repeat("x", 60<<10) + `"}`))
		},
		"ends": func(*net.UnixConn) {},
		"hangs": func(c *net.UnixConn) { // it takes its signals, and ends nothing
			buf := make([]byte, 1)
			for n, err := c.Read(buf); n > 0 && err == nil; n, err = c.Read(buf) {
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			listening(t, func(c *net.UnixConn) {
				defer c.Close()
				buf := make([]byte, maxRequest)
				_, _ = c.Read(buf)
				attend(c)
			})
			c := startOne(t, "true")
			if name == "hangs" {
				_ = c.Close()
			}
			if !within(c.gone, 20*time.Second) {
				t.Fatal("it is waited for without end")
			}
			if name != "hangs" && !strings.Contains(c.why(io.EOF).Error(), "does not say why") {
				t.Error(c.why(io.EOF))
			}
		})
	}
}

// What is no request starts nothing, leaves no descriptor open, and is answered.
func TestARequestHasBounds(t *testing.T) {
	good, _ := json.Marshal(request{Command: []string{"true"}})
	none, _ := json.Marshal(request{})
	for name, row := range map[string]struct {
		data  []byte
		files int
		want  string
	}{
		"as it should be":  {good, 3, ""},
		"two descriptors":  {good, 2, "2 descriptors"},
		"no descriptor":    {good, 0, "0 descriptors"},
		"four descriptors": {good, 4, "4 descriptors"},
		"many descriptors": {good, 40, "descriptors"},
		"too long":         {[]byte(`{"Command":["` + strings.Repeat("x", maxRequest) + `"]}`), 3, "must have 65536 at most"},
		"no command":       {none, 3, "without a command"},
		"no JSON":          {[]byte("true"), 3, "cannot unmarshal"},
		"NUL in a word":    {[]byte(`{"Command":["true","a\u0000b"]}`), 3, "invalid argument"},
	} {
		ours, theirs := pair(t)
		r, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		var fds []int
		for range row.files {
			fds = append(fds, int(w.Fd()))
		}
		if _, _, err = ours.WriteMsgUnix(row.data, unix.UnixRights(fds...), nil); err != nil {
			t.Fatal(name, err)
		}
		_ = w.Close()
		if err := Serve(t.Context(), theirs); err != nil {
			t.Error(name, err)
		}
		var o outcome
		buf := make([]byte, 2*maxOutcome)
		n, err := ours.Read(buf)
		if bad := json.Unmarshal(buf[:n], &o); err != nil || bad != nil || n > maxOutcome {
			t.Errorf("%s: %q, %v, %v", name, buf[:n], err, bad)
		}
		if o.Started != (row.want == "") || !strings.Contains(o.Err, row.want) || o.Started && o.Err != "" {
			t.Errorf("%s: %+v; want %s", name, o, row.want)
		}
		_ = r.SetReadDeadline(time.Now().Add(10 * time.Second))
		if _, err := r.Read(buf); !errors.Is(err, io.EOF) {
			t.Errorf("%s: a descriptor stays open: %v", name, err)
		}
		_ = r.Close()
	}
	ours, theirs := pair(t)
	_ = ours.Close() // nothing at all
	if err := Serve(t.Context(), theirs); err != nil {
		t.Error(err)
	}
	if err := Serve(t.Context(), os.Stdin); err == nil || !strings.Contains(err.Error(), "conch-mcp.socket") {
		t.Errorf("by hand: %v", err)
	}
}

// pair is a connection: conch's end, and standard input of a unit.
func pair(t *testing.T) (*net.UnixConn, *os.File) {
	t.Helper()
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	f, theirs := os.NewFile(uintptr(fds[0]), "conch"), os.NewFile(uintptr(fds[1]), "unit")
	defer f.Close()
	conn, err := net.FileConn(f)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(); _ = theirs.Close() })
	return conn.(*net.UnixConn), theirs
}
