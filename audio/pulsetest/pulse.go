// Package pulsetest is a private PulseAudio for tests: a real server without sound cards, user, session or D-Bus.
//
//	conch's speaker ─> sink "speaker" ─ monitor ─> Record ─> what was heard, with times
//	Play ─> sink "micbus" ─ monitor ─> source "mic" ─> conch's microphone
//
// The sinks are null sinks with norewinds=1: without it a null sink renders two seconds ahead, so that nothing is heard or
// captured during the first second. It asks for the priority that a server as installed has: without, whatever else the
// machine does tears the sound, and a torn recording tells nothing of conch. A server ends by process id with its test, and
// by itself when the test is killed.
package pulsetest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// Names of what the server has, as identities for audio.StreamConfig.
const (
	Speaker = "pulse:speaker"
	Mic     = "pulse:mic"
)

const (
	startLimit = 10 * time.Second // to answer; it takes 0.1 s
	stopLimit  = 3 * time.Second  // from SIGTERM to SIGKILL
)

// Server is a PulseAudio of our own.
type Server struct {
	dir    string
	socket string

	mu   sync.Mutex
	cmd  *exec.Cmd
	done chan struct{} // closed when cmd has ended
	out  *bytes.Buffer
}

// Missing names the packages whose programs are not there.
func Missing() error {
	var missing []string
	for program, pkg := range map[string]string{"pulseaudio": "pulseaudio", "pactl": "pulseaudio-utils", "parec": "pulseaudio-utils",
		"pacat": "pulseaudio-utils"} {
		if _, err := exec.LookPath(program); err != nil {
			missing = append(missing, program+" (apt-get install "+pkg+")")
		}
	}
	if len(missing) > 0 {
		return errors.New("pulsetest: missing: " + strings.Join(missing, ", "))
	}
	return nil
}

// Start runs a server for the length of the test and points PULSE_SERVER at it. Where the programs are missing the test is
// skipped with their names, or fails where CI is set.
func Start(t testing.TB) *Server {
	t.Helper()
	s := ForChild(t)
	t.Setenv("PULSE_SERVER", s.Address())
	return s
}

// ForChild runs a server for another process, which finds it if its PULSE_SERVER is Address.
func ForChild(t testing.TB) *Server {
	t.Helper()
	if err := Missing(); err != nil {
		if os.Getenv("CI") != "" {
			t.Fatal(err)
		}
		t.Skip(err)
	}
	s, err := New()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if t.Failed() && s.cmd != nil && s.cmd.ProcessState != nil {
			t.Logf("pulsetest: the server ended: %v: %s", s.cmd.ProcessState, s.out)
		}
		s.Close()
	})
	return s
}

// New runs a server outside of a test. Close it.
func New() (*Server, error) {
	dir, err := os.MkdirTemp("", "pulsetest") // not t.TempDir: a socket's path may have 107 bytes only
	if err != nil {
		return nil, err
	}
	s := &Server{dir: dir, socket: filepath.Join(dir, "native")}
	if err := s.Restart(); err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

// Address is what PULSE_SERVER must be.
func (s *Server) Address() string { return "unix:" + s.socket }

// Environ is the environment for a program that is to use this server.
func (s *Server) Environ() []string {
	return append(os.Environ(), "PULSE_SERVER="+s.Address(), "PULSE_SINK=speaker", "PULSE_SOURCE=mic", "XDG_RUNTIME_DIR="+s.dir, "HOME="+s.dir)
}

// Restart starts the server (again).
func (s *Server) Restart() error {
	s.Kill()
	_ = os.Remove(s.socket)
	args := []string{"-n", "--use-pid-file=no", "--exit-idle-time=-1", "--daemonize=no", "--disallow-exit=no", "--high-priority=yes", "--realtime=yes"}
	for _, module := range []string{
		"module-native-protocol-unix auth-anonymous=1 socket=" + s.socket,
		"module-null-sink sink_name=speaker rate=48000 channels=1 norewinds=1",
		"module-null-sink sink_name=micbus rate=48000 channels=1 norewinds=1",
		"module-remap-source master=micbus.monitor source_name=mic channels=1",
	} {
		args = append(args, "-L", module)
	}
	// Shared memory is off: with it version 16.1 ends in an assertion about a mutex now and then, where the machine is busy.
	config := filepath.Join(s.dir, "daemon.conf")
	if err := os.WriteFile(config, []byte("enable-memfd = no\nenable-shm = no\n"), 0o600); err != nil {
		return fmt.Errorf("pulsetest: %w", err)
	}
	cmd := exec.Command("pulseaudio", args...)
	cmd.Env = append(s.Environ(), "PULSE_CONFIG="+config)
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: true}
	out := &bytes.Buffer{}
	cmd.Stdout, cmd.Stderr = out, out
	done := make(chan struct{})
	started := make(chan error, 1)
	go func() {
		// Linux ties Pdeathsig to the thread that starts the process; this goroutine keeps that thread for as long.
		runtime.LockOSThread()
		defer close(done)
		err := cmd.Start()
		started <- err
		if err == nil {
			_ = cmd.Wait()
		}
	}()
	if err := <-started; err != nil {
		return fmt.Errorf("pulsetest: %w", err)
	}
	s.mu.Lock()
	s.cmd, s.done, s.out = cmd, done, out
	s.mu.Unlock()
	return s.wait(done)
}

// wait polls until the server answers and has the last thing it was asked to make.
func (s *Server) wait(done chan struct{}) error {
	limit := time.After(startLimit)
	for {
		if c, err := net.Dial("unix", s.socket); err == nil {
			_ = c.Close()
			if out, err := s.Control("list", "short", "sources"); err == nil && strings.Contains(out, "\tmic\t") {
				_, err1 := s.Control("set-default-sink", "speaker")
				_, err2 := s.Control("set-default-source", "mic")
				return errors.Join(err1, err2)
			}
		}
		select {
		case <-done:
			return fmt.Errorf("pulsetest: the server ended: %s", s.out.String())
		case <-limit:
			s.Kill()
			return fmt.Errorf("pulsetest: the server did not answer in %v", startLimit)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// Control runs pactl.
func (s *Server) Control(args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, "pactl", args...)
	cmd.Env = s.Environ()
	out, err := cmd.CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("pulsetest: pactl %s: %w: %s", strings.Join(args, " "), err, bytes.TrimSpace(out))
	}
	return string(out), nil
}

// Kill ends the server as a crash does, and returns when it is gone. Restart brings it back.
func (s *Server) Kill() { s.end(syscall.SIGKILL) }

// Freeze stops the server without ending it: clients wait for answers that do not come. Thaw lets it go on.
func (s *Server) Freeze() { s.signal(syscall.SIGSTOP) }

// Thaw ends a Freeze.
func (s *Server) Thaw() { s.signal(syscall.SIGCONT) }

// Pid of the server; 0 when there is none.
func (s *Server) Pid() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.cmd == nil || s.cmd.Process == nil {
		return 0
	}
	return s.cmd.Process.Pid
}

func (s *Server) signal(sig syscall.Signal) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.cmd != nil {
		_ = s.cmd.Process.Signal(sig) // of the child we hold: never somebody else's
	}
}

func (s *Server) end(sig syscall.Signal) {
	s.mu.Lock()
	cmd, done := s.cmd, s.done
	s.cmd = nil
	s.mu.Unlock()
	if cmd == nil {
		return
	}
	_ = cmd.Process.Signal(syscall.SIGCONT)
	_ = cmd.Process.Signal(sig)
	select {
	case <-done:
	case <-time.After(stopLimit):
		_ = cmd.Process.Kill()
		<-done
	}
}

// Close ends the server and removes what it left.
func (s *Server) Close() {
	s.end(syscall.SIGTERM)
	_ = os.RemoveAll(s.dir)
}
