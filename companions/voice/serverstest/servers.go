// Package serverstest runs whisper.cpp's and llama.cpp's own servers for tests, on loopback, with models that it makes: each says one text,
// so that a test knows what comes. The servers are those of Debian's unstable suite, in a root that make test-servers makes.
package serverstest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// RootVar names the root in which the servers are; make test-servers sets it.
const RootVar = "CONCH_TEST_SERVERS"

// Patience is how long a test waits for what must happen; nothing is measured by it.
const Patience = 60 * time.Second

// Server is one of the two, a process of its own. It ends with the test.
type Server struct {
	t    testing.TB
	root string
	args []string
	addr string

	mu   sync.Mutex
	cmd  *exec.Cmd
	done chan struct{}
	said *tail
}

// Root is where the servers are; a test without one is skipped.
func Root(t testing.TB) string {
	t.Helper()
	root := os.Getenv(RootVar)
	if root == "" {
		t.Skipf("whisper-server and llama-server are tried by make test-servers (%s)", RootVar)
	}
	if os.Getuid() != 0 {
		t.Skip("servers in a root of their own need root: sudo make test-servers")
	}
	return root
}

// Llama is llama-server with a model, and more arguments. It does not run yet.
func Llama(t testing.TB, m Mind, args ...string) *Server {
	t.Helper()
	s, model := newServer(t, "llama-server", ".gguf", append(args, "--jinja"))
	if err := m.Write(model); err != nil {
		t.Fatal(err)
	}
	return s
}

// Whisper is whisper-server with a model. It does not run yet.
func Whisper(t testing.TB, e Ear) *Server {
	t.Helper()
	s, model := newServer(t, "whisper-server", ".bin", nil)
	if err := e.Write(model); err != nil {
		t.Fatal(err)
	}
	return s
}

func newServer(t testing.TB, name, ext string, args []string) (s *Server, model string) {
	t.Helper()
	root := Root(t)
	port, err := freePort()
	if err != nil {
		t.Fatal(err)
	}
	dir, err := os.MkdirTemp(filepath.Join(root, "tmp"), name)
	if err == nil {
		t.Cleanup(func() { _ = os.RemoveAll(dir) })
		err = os.Chmod(dir, 0o755) // the servers run as the user nobody
	}
	if err != nil {
		t.Fatalf("serverstest: a directory for a model in %s: %v", root, err)
	}
	model = filepath.Join(dir, "model"+ext)
	s = &Server{t: t, root: root, addr: net.JoinHostPort("127.0.0.1", port)}
	s.args = append([]string{"/usr/bin/" + name, "--model", strings.TrimPrefix(model, root), "--host", "127.0.0.1", "--port", port}, args...)
	t.Cleanup(func() {
		s.Kill()
		if t.Failed() && s.said != nil {
			t.Logf("%s said:\n%s", name, s.said)
		}
	})
	return s, model
}

// freePort returns a port of loopback that no process holds, outside the range that the kernel gives to clients.
func freePort() (string, error) {
	for range 100 {
		port := strconv.Itoa(20000 + rand.IntN(12000))
		if l, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", port)); err == nil {
			return port, l.Close()
		}
	}
	return "", fmt.Errorf("serverstest: no port of 127.0.0.1 is free from 20000 to 32000")
}

// URL is its address.
func (s *Server) URL() string { return "http://" + s.addr }

// Start starts a server that does not run. It may not have loaded its model yet, nor listen.
func (s *Server) Start() {
	s.t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.said = &tail{}
	s.cmd = &exec.Cmd{Path: s.args[0], Args: s.args, Dir: "/", Env: []string{"PATH=/usr/bin", "HOME=/nonexistent"}, Stdout: s.said, Stderr: s.said,
		SysProcAttr: &syscall.SysProcAttr{Chroot: s.root, Credential: &syscall.Credential{Uid: 65534, Gid: 65534}, Setpgid: true, Pdeathsig: syscall.SIGKILL}}
	s.done = make(chan struct{})
	started := make(chan error, 1)
	go func(cmd *exec.Cmd, done chan struct{}) { // ends with the server
		runtime.LockOSThread() // the kernel kills the server with the thread that started it
		defer runtime.UnlockOSThread()
		defer close(done)
		err := cmd.Start()
		started <- err
		if err == nil {
			_ = cmd.Wait()
		}
	}(s.cmd, s.done)
	if err := <-started; err != nil {
		s.t.Fatalf("serverstest: start %s in %s: %v (make test-servers makes that root)", s.args[0], s.root, err)
	}
}

// Begin starts it and waits until it answers.
func (s *Server) Begin() *Server {
	s.t.Helper()
	s.Start()
	s.Ready()
	return s
}

// Health is the status with which it answers whether it is well; 0: it does not answer.
func (s *Server) Health() int {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	q, err := http.NewRequestWithContext(ctx, http.MethodGet, s.URL()+"/health", nil)
	if err != nil {
		return 0
	}
	resp, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(q)
	if err != nil {
		return 0
	}
	_ = resp.Body.Close()
	return resp.StatusCode
}

// Ready waits until it has loaded its model.
func (s *Server) Ready() {
	s.t.Helper()
	Await(s.t, s.args[0]+" answers", func() bool {
		select {
		case <-s.done:
			s.t.Fatalf("serverstest: %s ended: %s", s.args[0], s.said)
		default:
		}
		return s.Health() == http.StatusOK
	})
}

// Kill ends it at once, and waits until it has ended.
func (s *Server) Kill() {
	if s.signal(syscall.SIGKILL) {
		<-s.done
	}
}

// Freeze stops the process: it answers no request and closes no connection. Thaw lets it go on.
func (s *Server) Freeze() { s.signal(syscall.SIGSTOP) }

// Thaw has it go on.
func (s *Server) Thaw() { s.signal(syscall.SIGCONT) }

func (s *Server) signal(sig syscall.Signal) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.cmd == nil || s.cmd.Process == nil {
		return false
	}
	_ = syscall.Kill(-s.cmd.Process.Pid, sig) // it may have ended by itself
	return true
}

// Said is the end of what it has printed.
func (s *Server) Said() string { return s.said.String() }

// Await waits until it is so.
func Await(t testing.TB, what string, so func() bool) {
	t.Helper()
	end := time.After(Patience)
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for !so() {
		select {
		case <-tick.C:
		case <-end:
			t.Fatalf("waited in vain until %s", what)
		}
	}
}

// tail keeps the end of what is written.
type tail struct {
	mu sync.Mutex
	b  []byte
}

func (t *tail) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.b = append(t.b, b...)
	t.b = t.b[max(0, len(t.b)-64<<10):]
	return len(b), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return strings.TrimSpace(string(t.b))
}
