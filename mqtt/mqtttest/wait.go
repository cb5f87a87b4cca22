package mqtttest

import (
	"bufio"
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"
)

// Patience is how long a test waits for what must happen; nothing is measured by it.
const Patience = 30 * time.Second

// Await is the next value of a channel.
func Await[T any](t testing.TB, ch <-chan T, what string) (v T) {
	t.Helper()
	select {
	case v = <-ch:
	case <-time.After(Patience):
		t.Fatalf("waited in vain for %s", what)
	}
	return v
}

// Process starts the test's own binary as another process, with env, until the test ends. Lines are what it prints; what nobody reads
// beyond a thousand is lost, so that it never waits.
func Process(t testing.TB, env string) (p *os.Process, lines <-chan string) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), env)
	cmd.Stderr = os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	said := make(chan string, 1024)
	go func() {
		defer close(said)
		for s := bufio.NewScanner(out); s.Scan(); {
			select {
			case said <- s.Text():
			default:
			}
		}
	}()
	return cmd.Process, said
}
