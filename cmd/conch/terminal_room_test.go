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
	kitchen, bedroom := household(t)
	other := exec.Command("conch", append([]string{"run", "--set", "room.broker=mqtt://" + address}, bedroom.settings...)...)
	other.Env = bedroom.env
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

	p := sitDown(t, append([]string{"--set", "room.broker=embedded", "--set", "room.listen=" + address}, kitchen.settings...)...)
	p.sees(`^room    home, broker embedded at 127\.0\.0\.1:[0-9]+; here Ada; this device is ` + kitchen.id + `$`)
	p.sees(`^\(bedroom brings Ben\)$`)
	p.types("Ben, what is one plus one\r")
	p.sees(`^you: Ben, what is one plus one\n(.*\n)*Ben \(bedroom\): 1 plus 1 is 2\.$`)
	p.types("thanks\r")
	p.sees(`^\(nobody answers: .*thanks.*\)$`)
	p.types("Dora, hello\r")
	p.sees(`^\(nobody here is called Dora; Ada, Ben\)$`)
	p.types("leave it to us\r")
	p.sees(`^\(everybody: as somebody said at kitchen: only when asked; to undo: join in again\)$`)
	p.types("join in again\r")
	p.sees(`^\(everybody: as somebody said at kitchen: as before\)$`)
	end()
	p.sees(`^\(bedroom is gone: .*\)$`)
	p.types("Ben, are you there\r")
	p.sees(`^you: Ben, are you there\n\(Ben is not here: bedroom is off\)$`)
	p.types("what is two plus three\r")
	p.sees(`^Ada: .*2 plus 3 is 5\.$`)
	p.types("q\r")
	p.leaves()
}

// resident is a device of a household: its id, and how conch is started as it.
type resident struct {
	id       string
	env      []string
	settings []string
}

// household is two devices that know each other.
func household(t *testing.T) (kitchen, bedroom resident) {
	t.Helper()
	dir := t.TempDir()
	env := []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "CONCH_AUDIO_BACKEND=null", "CONCH_VOICE_KIND=rehearsal"}
	settle := func(name, companion string) resident {
		r := resident{env: env}
		state := filepath.Join(dir, name)
		for _, s := range []string{"device.name=" + name, "device.companion=" + companion, "state.dir=" + state, "state.runtime=" + state} {
			r.settings = append(r.settings, "--set", s)
		}
		c := exec.CommandContext(t.Context(), "conch", append([]string{"room", "id"}, r.settings...)...)
		c.Env = env
		id, err := c.Output()
		if err != nil {
			t.Fatal(err)
		}
		r.id = strings.TrimSpace(string(id))
		return r
	}
	kitchen, bedroom = settle("kitchen", "Ada"), settle("bedroom", "Ben")
	for _, r := range []*resident{&kitchen, &bedroom} {
		r.settings = append(r.settings, "--set", "room.members="+kitchen.id+","+bedroom.id)
	}
	return kitchen, bedroom
}
