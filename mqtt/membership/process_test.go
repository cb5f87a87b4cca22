package membership

import (
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"conch/mqtt"
)

// runHelper is a device that loses its power: it does one thing, and is killed before the n-th change of a file, or in the middle of it.
// Its argument is what, n, and the directory.
func runHelper(arg string) int {
	f := strings.SplitN(arg, " ", 4)
	n, _ := strconv.Atoi(f[1])
	id, err := mqtt.OpenIdentity(f[3])
	if err != nil {
		return 2
	}
	m, err := Open(f[3], id, Clock{Missing: 1})
	if err != nil {
		_, _ = fmt.Fprintln(os.Stderr, err)
		return 2
	}
	done := 0
	m.store.before = func(op, path string) error {
		if done++; done <= n {
			return nil
		}
		if f[2] == "torn" && op == "write" {
			_ = os.WriteFile(path+newFile, []byte(`{"v":1,"dev`), 0o600)
		}
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		select {}
	}
	switch f[0] {
	case "found":
		b, _ := mqtt.NewIdentity()
		if err = m.Found("kitchen", "host", false); err == nil {
			_, err = m.admit(Party{b.ID(), b.PublicKey(), "kitchen"}, m.id.ID(), "")
		}
	case "accept", "swap":
		var welcome []byte
		if welcome, err = os.ReadFile(filepath.Join(f[3], "welcome")); err == nil {
			var from []byte
			if from, err = os.ReadFile(filepath.Join(f[3], "from")); err == nil {
				err = m.Accept(Party{Device: Device(from)}, welcome)
			}
		}
	case "again":
		b, _ := mqtt.NewIdentity()
		_, err = m.admit(Party{b.ID(), b.PublicKey(), "cellar"}, m.id.ID(), "")
	case "leave":
		err = m.out(ErrLeft)
	case "keep":
		err = m.Keep()
	case "yield":
		var welcome []byte
		if welcome, err = os.ReadFile(filepath.Join(f[3], "welcome")); err == nil {
			err = m.comeOver(m.Room().Members[1].ID, 1, welcome) // host, then kitchen
		}
	}
	if err != nil {
		_, _ = fmt.Fprintln(os.Stderr, err)
		return 2
	}
	return 0
}

// kill runs the helper; false: it was not killed.
func kill(t *testing.T, what string, n int, torn, dir string) bool {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), self)
	cmd.Env = append(os.Environ(), fmt.Sprintf("CONCH_MEMBERSHIP_HELPER=%s %d %s %s", what, n, torn, dir))
	out, err := cmd.CombinedOutput()
	if s, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); ok && s.Signaled() {
		return true
	}
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return false
}

// files are what is left of a room.
func files(t *testing.T, dir string) (out []string) {
	t.Helper()
	err := filepath.WalkDir(filepath.Join(dir, roomDir), func(path string, d fs.DirEntry, err error) error {
		if os.IsNotExist(err) {
			return nil
		}
		if err == nil && !d.IsDir() {
			out = append(out, d.Name())
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// The power is cut before each change of a file, and in the middle of each write. Afterwards the device is in the room, or it is not, and
// nothing is left of the attempt.
func TestAPowerCutLeavesTheDeviceInOrOut(t *testing.T) {
	for _, what := range []string{"found", "accept", "again", "leave", "keep", "yield", "swap"} {
		for _, torn := range []string{"whole", "torn"} {
			t.Run(what+" "+torn, func(t *testing.T) {
				ins, outs := 0, 0
				for n := 0; ; n++ {
					dir := t.TempDir()
					id, err := mqtt.OpenIdentity(dir)
					if err != nil {
						t.Fatal(err)
					}
					prepare(t, what, dir, id)
					killed := kill(t, what, n, torn, dir)
					m, err := Open(dir, id, Clock{})
					if err != nil {
						t.Fatalf("killed before change %d: %v; left: %v", n, err, files(t, dir))
					}
					room, left := m.Room(), files(t, dir)
					switch {
					case what == "swap" && room != nil && len(room.Members) == 1 && m.IsHost() && m.caKey != nil && len(left) == 2: // the old one
						outs++
					case room == nil:
						outs++
						if len(left) > 0 {
							t.Errorf("killed before change %d: out, and %v are left", n, left)
						}
					case len(room.Members) < 2 || m.IsHost() != (m.caKey != nil) || len(left) > 2 || !m.IsHost() && len(left) > 1:
						t.Errorf("killed before change %d: neither in nor out: %+v, %v", n, room, left)
					case what == "keep" && !m.IsHost(), what == "yield" && m.IsHost(): // as it was
						outs++
					default:
						ins++
					}
					if what == "again" && room == nil {
						t.Errorf("killed before change %d: the room is gone", n)
					}
					if !killed {
						if in := room != nil; in != (what != "leave") {
							t.Errorf("it went well, and in is %v", in)
						}
						break
					}
				}
				t.Logf("in %d times, out %d times", ins, outs)
				if what != "again" && (ins == 0 || outs == 0) {
					t.Error("one of them never happened: this test shows nothing")
				}
			})
		}
	}
}

// prepare is what was before.
func prepare(t *testing.T, what, dir string, id mqtt.Identity) {
	t.Helper()
	switch what {
	case "accept", "swap":
		if what == "swap" { // a room in which nobody else is any more
			d, gone := open(t, dir, id, Clock{}), fresh(t, Clock{})
			pair(t, d, gone, "cellar")
			if err := d.Remove(t.Context(), gone.id.ID()); err != nil {
				t.Fatal(err)
			}
			d.stop()
		}
		host, b := fresh(t, Clock{}), &device{t: t, id: id}
		if err := host.Found("kitchen", "host", false); err != nil {
			t.Fatal(err)
		}
		welcome, err := host.Admit(t.Context(), Party{id.ID(), b.id.PublicKey(), "kitchen"})
		if err != nil {
			t.Fatal(err)
		}
		for name, data := range map[string][]byte{"welcome": welcome, "from": []byte(host.id.ID())} {
			if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
				t.Fatal(err)
			}
		}
	case "keep":
		d, host := open(t, dir, id, Clock{}), fresh(t, Clock{})
		pair(t, host, d, "kitchen")
		d.stop()
	case "yield":
		d, kitchen := open(t, dir, id, Clock{}), open(t, t.TempDir(), identity(t), Clock{Missing: 1})
		pair(t, d, kitchen, "kitchen")
		if err := kitchen.Keep(); err != nil {
			t.Fatal(err)
		}
		kitchen.mu.Lock()
		welcome, _, err := kitchen.welcomeOver(d.party("host"), &meetHello{Host: d.id.ID(), Devices: []Device{d.id.ID(), kitchen.id.ID()}})
		kitchen.mu.Unlock()
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, "welcome"), welcome, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
		d.stop()
	case "again", "leave":
		d := open(t, dir, id, Clock{})
		pair(t, d, fresh(t, Clock{}), "kitchen")
		d.stop()
	}
}
