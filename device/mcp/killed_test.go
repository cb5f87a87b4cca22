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
	"testing"
)

// keepOne is a conch that has started a server, and says which.
func keepOne() {
	c, err := start([]string{"sh", "-c", "echo $$; exec sleep 1000"}, nil, strings.NewReplacer(), slog.New(slog.DiscardHandler), &allowance{})
	if err != nil {
		fmt.Println(err)
		return
	}
	line, _ := bufio.NewReader(c.out).ReadString('\n')
	fmt.Print(line)
	_, _ = io.Copy(io.Discard, os.Stdin)
}

// A server that does not even look at its standard input ends with a conch that is killed.
func TestAServerEndsWithAConchThatIsKilled(t *testing.T) {
	for _, way := range []string{"beside conch", "in a unit"} {
		t.Run(way, func(t *testing.T) {
			if way == "in a unit" {
				units(t)
			}
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
			gone := watched(t, pid)
			_ = conch.Process.Kill()
			_ = conch.Wait()
			gone("the server lives on")
		})
	}
}
