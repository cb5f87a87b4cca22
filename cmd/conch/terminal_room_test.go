package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestPersonHearsTheRoom: at the terminal of one device stands what another one answers, and why nobody does.
func TestPersonHearsTheRoom(t *testing.T) {
	t.Parallel()
	address := "127.0.0.1:" + unusedPort(t)
	dir := t.TempDir()
	env := []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "CONCH_AUDIO_BACKEND=null", "CONCH_VOICE_KIND=rehearsal"}
	settings := func(name, companion string) []string {
		state := filepath.Join(dir, name)
		var set []string
		for _, s := range []string{"device.name=" + name, "device.companion=" + companion, "state.dir=" + state, "state.runtime=" + state} {
			set = append(set, "--set", s)
		}
		return set
	}
	kitchen, bedroom := settings("kitchen", "Ada"), settings("bedroom", "Ben")
	var ids []string
	for _, s := range [][]string{kitchen, bedroom} {
		c := exec.CommandContext(t.Context(), "conch", append([]string{"room", "id"}, s...)...)
		c.Env = env
		id, err := c.Output()
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, strings.TrimSpace(string(id)))
	}
	members := []string{"--set", "room.members=" + strings.Join(ids, ",")}
	other := exec.Command("conch", append(append([]string{"run", "--set", "room.broker=mqtt://" + address}, bedroom...), members...)...)
	other.Env = env
	if err := other.Start(); err != nil {
		t.Fatal(err)
	}
	ended := false
	end := func() {
		if !ended {
			ended = true
			_ = other.Process.Signal(syscall.SIGTERM)
			_ = other.Wait()
		}
	}
	defer end()

	p := sitDown(t, append(append([]string{"--set", "room.broker=embedded", "--set", "room.listen=" + address}, kitchen...), members...)...)
	p.sees(`^room    home, broker embedded at 127\.0\.0\.1:[0-9]+; here Ada; this device is ` + ids[0] + `$`)
	p.sees(`^\(bedroom brings Ben\)$`)
	p.types("Ben, what is one plus one\r")
	p.sees(`^you: Ben, what is one plus one\n(.*\n)*Ben \(bedroom\): 1 plus 1 is 2\.$`)
	p.types("thanks\r")
	p.sees(`^\(nobody answers: .*thanks.*\)$`)
	end()
	p.sees(`^\(bedroom is gone: .*\)$`)
	p.types("what is two plus three\r")
	p.sees(`^Ada: .*2 plus 3 is 5\.$`)
	p.types("q\r")
	p.leaves()
}
