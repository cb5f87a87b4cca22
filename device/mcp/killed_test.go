package mcp

import (
	"bufio"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// keepOne is a conch that has started a server, and says which.
func keepOne() {
	c, err := start([]string{"sleep", "1000"}, nil, strings.NewReplacer(), slog.New(slog.DiscardHandler), &allowance{})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(c.cmd.Process.Pid)
	_, _ = io.Copy(io.Discard, os.Stdin)
}

// A server that does not even look at its standard input ends with a conch that is killed.
func TestAServerEndsWithAConchThatIsKilled(t *testing.T) {
	conch := exec.Command(os.Args[0])
	conch.Env = append(os.Environ(), serves+"=a conch")
	in, err := conch.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	out, err := conch.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := conch.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	pid, _ := strconv.Atoi(strings.TrimSpace(line))
	if err != nil || pid == 0 {
		t.Fatalf("%q, %v", line, err)
	}
	fd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	_ = conch.Process.Kill()
	_ = conch.Wait()
	if n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, 5000); n != 1 {
		t.Errorf("the server lives on (%v)", err)
		_ = syscall.Kill(pid, syscall.SIGKILL)
	}
}
