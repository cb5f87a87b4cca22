package main

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// another has a command run as an ordinary user, where the tests are root, whose capabilities would open everything.
func another(c *exec.Cmd) *exec.Cmd {
	if os.Getuid() == 0 {
		c.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	}
	return c
}

// common is a directory that every user may read, with a conch in it.
func common(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "conch-common-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	from, err := exec.LookPath("conch")
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(from)
	if err == nil {
		err = os.Mkdir(filepath.Join(dir, "bin"), 0o755) //nolint:gosec // likewise
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "bin/conch"), data, 0o755) //nolint:gosec // it is to be run
	}
	if err == nil {
		err = os.Chmod(dir, 0o777) //nolint:gosec // it is to be written by that user
	}
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// A program that runs as conch's user reads neither its environment, memory, open files nor root; root finds no key in the environment.
// What it starts anew as, after pairing, has the key all the same.
func TestAProgramOfTheSameUserReadsNothingOfConch(t *testing.T) {
	t.Parallel()
	dir := common(t)
	m := prepare(t, dir, time.Second, "OPENAI_API_KEY="+storyKey, "CONCH_VOICE_URL=ws://127.0.0.1:1/v1")
	if err := os.Chmod(filepath.Join(dir, "notify"), 0o777); err != nil { //nolint:gosec // another user's
		t.Fatal(err)
	}
	m.program.Path = filepath.Join(dir, "bin/conch")
	another(m.program)
	m.start()
	m.until("ready", func() bool { return m.count("READY=1") == 1 })
	try := func(program string, args ...string) (string, error) {
		out, err := another(exec.CommandContext(t.Context(), program, args...)).CombinedOutput()
		return string(out), err
	}
	other := another(exec.CommandContext(t.Context(), "sleep", "1000"))
	if err := other.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = other.Process.Kill(); _ = other.Wait() }()
	for _, way := range [][]string{
		{"head", "-c1", "environ"}, {"head", "-c1", "maps"}, {"head", "-c1", "auxv"}, {"ls", "fd/"}, {"ls", "root/"}, {"ls", "cwd/"}, {"ls", "map_files/"},
		{"sh", "-c", "exec 3<>$0", "mem"},
	} {
		at := func(pid int) []string {
			return append(way[1:len(way)-1:len(way)-1], fmt.Sprintf("/proc/%d/%s", pid, way[len(way)-1]))
		}
		if out, err := try(way[0], at(other.Process.Pid)...); err != nil {
			t.Errorf("what any other process shows is refused, and this shows nothing: %q, %v, %s", way, err, out)
		}
		if out, err := try(way[0], at(m.program.Process.Pid)...); err == nil {
			t.Errorf("%q succeeds: %q", way, out)
		}
	}
	if os.Getuid() == 0 {
		f, err := os.Open("/proc/" + strconv.Itoa(m.program.Process.Pid) + "/environ")
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		text, err := io.ReadAll(f)
		shows := strings.Contains(string(text), storyKey) || strings.Contains(string(text), "ws://")
		if err != nil || !strings.Contains(string(text), "OPENAI_API_KEY=...") || shows {
			t.Errorf("root reads %q, %v", text, err)
		}
	}
	m.until("it has what its environment said", func() bool { return strings.Contains(m.logged(), "at 127.0.0.1:1 (there is a key)") })
	if code := m.end(); code != 0 {
		t.Errorf("it ends with status %d", code)
	}
}
