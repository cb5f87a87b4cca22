package mcp

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
	"unicode/utf8"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"conch/device/system"
)

// Bounds of a server that is a command.
const (
	stdinStall  = 5 * time.Second        // that it reads nothing: it is lost
	closeGrace  = 500 * time.Millisecond // from the end of its standard input until SIGTERM
	termGrace   = time.Second            // from there until SIGKILL
	maxMessages = 200                    // of it in a second that are read: each takes some 60 µs of a server's core
	stderrLine  = 300                    // bytes of a line of its that are logged
	stderrLines = 20                     // of them in a minute
)

// inherited is all that a server gets of the environment: none of conch's keys is in it. Without a unit of its own it runs as conch's
// user, and so gets what says where that user's files are, and reads them (SKILLS.md 7).
var (
	inherited = []string{"PATH", "LANG", "LC_ALL", "TZ", "NODE_EXTRA_CA_CERTS", "SSL_CERT_FILE"}
	asUser    = []string{"HOME", "USER", "TMPDIR", "XDG_CACHE_HOME"}
)

// Socket is the variable of conch.service with the path of the socket of conch-mcp.socket. Where it is set, a command runs in a unit or not
// at all.
const Socket = "CONCH_MCP_SOCKET"

// request is what a unit starts.
type request struct{ Command, Env []string }

var errClosed = errors.New("conch closed it")

// child is a server's process, in a process group of its own: whatever it starts ends with it.
type child struct {
	cmd    *exec.Cmd            // nil: a unit has it
	kill   func(syscall.Signal) // its process group
	stdin  *os.File
	out    *os.File
	stdout io.Reader
	pipes  []io.Closer
	gone   chan struct{} // it has ended, and its group with it
	silent chan struct{} // all of its standard error is read
	err    error         // how; to be read once gone is closed
	once   sync.Once
	told   atomic.Bool           // to end
	broke  atomic.Pointer[error] // what a pipe of its said first; errClosed: conch closed it before
	heard  talk                  // to be touched by who reads
	log    *slog.Logger
	hide   *strings.Replacer

	printed, complained atomic.Pointer[string] // what it printed that is no message; what it wrote to standard error, the line that tells most
}

// start starts a command. Its standard error goes to the log, without what hide hides.
func start(command []string, env map[string]string, hide *strings.Replacer, log *slog.Logger, lines *allowance) (*child, error) {
	socket := os.Getenv(Socket)
	c := &child{gone: make(chan struct{}), silent: make(chan struct{}), log: log, hide: hide}
	var all []string
	take := func(names ...string) {
		for _, name := range names {
			if v, ok := os.LookupEnv(name); ok {
				all = append(all, name+"="+v)
			}
		}
	}
	take(inherited...)
	var err error
	if socket != "" {
		all = append(all, "HOME=/tmp")
	} else {
		take(asUser...)
		if strict() { // Node.js compiles as it runs, and would end at once
			all = append(all, "NODE_OPTIONS=--jitless")
		}
		if c.cmd, err = program(command); err != nil {
			return nil, err
		}
		c.kill = func(sig syscall.Signal) { system.SignalGroup(c.cmd.Process, sig) }
	}
	for name, v := range env {
		all = append(all, name+"="+v)
	}
	var theirs []io.Closer
	pipe := func() (r, w *os.File) {
		if err != nil {
			return nil, nil
		}
		if r, w, err = os.Pipe(); err == nil {
			c.pipes = append(c.pipes, r, w)
		}
		return r, w
	}
	in, ours := pipe()
	out, outW := pipe()
	errs, errsW := pipe()
	if err == nil {
		theirs, c.stdin, c.out = []io.Closer{in, outW, errsW}, ours, out
		c.stdout = &messages{lines: bufio.NewReader(&shortener{from: out}), noise: func(text string) { c.printed.CompareAndSwap(nil, &text) }}
		if socket != "" {
			err = c.inUnit(socket, request{command, all}, in, outW, errsW)
		} else {
			c.cmd.Env, c.cmd.Stdin, c.cmd.Stdout, c.cmd.Stderr = all, in, outW, errsW
			started := make(chan error, 1)
			go c.live(started)
			err = <-started
		}
	}
	if err != nil {
		closeAll(c.pipes)
		return nil, fmt.Errorf("%s cannot be started: %s", command[0], reason(err))
	}
	closeAll(theirs)
	c.pipes = []io.Closer{ours, out, errs}
	go c.say(errs, lines)
	return c, nil
}

// program is a command in a process group of its own, which the kernel ends with the thread that starts it.
func program(command []string) (*exec.Cmd, error) {
	path, err := exec.LookPath(command[0])
	if err != nil {
		return nil, fmt.Errorf("%s: no such program on PATH", command[0])
	}
	cmd := exec.Command(path, command[1:]...)
	cmd.Args[0], cmd.Dir = command[0], os.TempDir()
	cmd.SysProcAttr = system.Apart(true)
	return cmd, nil
}

func closeAll(all []io.Closer) {
	for _, c := range all {
		_ = c.Close()
	}
}

// live starts the process, waits for its end, and ends what it has left behind. The kernel ends the process with the thread that has
// started it (Pdeathsig), so that it does not outlive a conch that is killed: this goroutine keeps that thread for as long.
func (c *child) live(started chan<- error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	err := c.cmd.Start()
	started <- err
	if err != nil {
		return
	}
	c.err = c.cmd.Wait()
	c.kill(syscall.SIGKILL)
	c.ended()
}

// ended says that it is gone.
func (c *child) ended() {
	_ = c.out.SetReadDeadline(time.Now().Add(closeGrace)) // what has left the group may hold it open
	close(c.gone)
}

// why says in words why it is lost, where err is what the connection says.
func (c *child) why(err error) error {
	first := cmp.Or(c.broke.Load(), &errClosed)
	ended := within(c.gone, closeGrace) && !c.told.Load()
	if ended {
		within(c.silent, closeGrace)
	}
	text := "it closed its standard output"
	known, refused := plain(""), (*jsonrpc.Error)(nil)
	switch {
	case errors.As(err, &known), errors.As(*first, &known):
		text = string(known)
	case ended && errors.As(c.err, &known):
		text = string(known)
	case ended && c.err == nil:
		text = "it ended by itself, without an error; what goes into the background cannot be spoken to"
	case ended:
		text = "it ended by itself: " + c.err.Error()
	case errors.As(err, &refused):
		text = "it refuses to begin: " + refused.Message
	case errors.Is(*first, errClosed):
		for next := err; next != nil; next = errors.Unwrap(next) {
			text = "it does not speak as a server of MCP does: " + next.Error()
		}
	}
	if said := c.complained.Load(); said != nil {
		text += "; it said: " + *said
	} else if printed := c.printed.Load(); printed != nil {
		text += "; it printed what is no message: " + clip(strings.Join(strings.Fields(strings.ToValidUTF8(*printed, "?")), " "), 100)
	}
	return errors.New(text)
}

// Read is what it says, message by message.
func (c *child) Read(p []byte) (int, error) {
	n, err := c.stdout.Read(p)
	c.breaks(err)
	if wait := c.heard.take(time.Now(), bytes.Count(p[:n], []byte{'\n'})); wait > 0 {
		within(c.gone, wait) // one that says more than anybody reads waits itself, as the pipe fills
	}
	return n, err
}

// talk is how many messages came in a second.
type talk struct {
	since    time.Time
	messages int
}

// take counts messages, and says how long no more are to be read.
func (t *talk) take(now time.Time, messages int) time.Duration {
	if now.Sub(t.since) >= time.Second {
		t.since, t.messages = now, 0
	}
	if t.messages += messages; t.messages <= maxMessages {
		return 0
	}
	return t.since.Add(time.Second).Sub(now)
}

// Write fails where it reads nothing for some time.
func (c *child) Write(p []byte) (int, error) {
	_ = c.stdin.SetWriteDeadline(time.Now().Add(stdinStall))
	n, err := c.stdin.Write(p)
	c.breaks(err)
	return n, err
}

func (c *child) breaks(err error) bool { return err != nil && c.broke.CompareAndSwap(nil, &err) }

// Close ends it, politely first, and does not wait for that.
func (c *child) Close() error {
	c.once.Do(func() {
		c.told.Store(c.breaks(errClosed))
		_ = c.stdin.Close()
		go func() { // ends with the process, which SIGKILL sees to
			defer closeAll(c.pipes)
			for _, next := range []struct {
				after  time.Duration
				signal syscall.Signal
			}{{closeGrace, syscall.SIGTERM}, {termGrace, syscall.SIGKILL}} {
				if within(c.gone, next.after) {
					break
				}
				c.told.Store(true)
				c.kill(next.signal)
			}
			<-c.gone
			within(c.silent, closeGrace) // its last words
		}()
	})
	return nil
}

// within says whether done is closed in time.
func within(done <-chan struct{}, most time.Duration) bool {
	t := time.NewTimer(most)
	defer t.Stop()
	select {
	case <-done:
		return true
	case <-t.C:
		return false
	}
}

// allowance is how many lines a minute of a server are logged, however often it is started.
type allowance struct {
	mu          sync.Mutex
	logged, not int // since …
	since       time.Time
}

// take says whether one more may be logged, and how many were not in the minute that has just ended.
func (a *allowance) take(now time.Time) (ok bool, missed int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if now.Sub(a.since) > time.Minute {
		missed = a.not
		a.logged, a.not, a.since = 0, 0, now
	}
	if a.logged == stderrLines {
		a.not++
		return false, missed
	}
	a.logged++
	return true, missed
}

// say logs what it writes to standard error, as much as anybody would read.
func (c *child) say(errs io.Reader, lines *allowance) {
	defer close(c.silent)
	in := bufio.NewReaderSize(errs, 4<<10)
	for {
		line, err := in.ReadSlice('\n')
		full := errors.Is(err, bufio.ErrBufferFull)
		if text := c.hide.Replace(strings.TrimSpace(strings.ToValidUTF8(string(line), "?"))); text != "" {
			c.complain(clip(text, 150))
			ok, missed := lines.take(time.Now())
			if missed > 0 {
				c.log.Info(logStderr, "text", fmt.Sprintf("and %d lines more", missed))
			}
			if ok {
				c.log.Info(logStderr, "text", clip(text, stderrLine))
			}
		}
		for full { // the rest of a line that has no end
			_, err = in.ReadSlice('\n')
			full = errors.Is(err, bufio.ErrBufferFull)
		}
		if err != nil {
			return
		}
	}
}

// complain keeps the last line that speaks of an error, or else the last.
func (c *child) complain(text string) {
	if old := c.complained.Load(); old == nil || strings.Contains(text, "rror") || !strings.Contains(*old, "rror") {
		c.complained.Store(&text)
	}
}

// clip is a text in at most so many bytes.
func clip(s string, most int) string {
	if len(s) <= most {
		return s
	}
	for most > 0 && !utf8.RuneStart(s[most]) {
		most--
	}
	return s[:most] + "…"
}

// over waits for the end of a child that was closed.
func (c *child) over(ctx context.Context) {
	select {
	case <-c.gone:
	case <-ctx.Done():
	}
}
