package membership

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"conch/companions/round"
	"conch/mqtt/broker"
)

// Device is short here.
type Device = round.DeviceID

// Each change of a file fails once. Whoever asked is told, nothing has changed, and the next attempt works.
func TestAFailedWriteChangesNothing(t *testing.T) {
	type step struct {
		name string
		do   func(host, b *device) (*device, error) // who was at work
	}
	welcome := func(t *testing.T, host, b *device) []byte {
		w, err := host.admit(b.party("kitchen"), host.id.ID(), "")
		if err != nil {
			t.Fatal(err)
		}
		return w
	}
	for _, row := range []step{
		{"the first admission", func(host, b *device) (*device, error) {
			_, err := host.Admit(t.Context(), b.party("kitchen"))
			return host, err
		}},
		{"accepting", func(host, b *device) (*device, error) {
			return b, b.Accept(host.party(""), welcome(t, host, b))
		}},
		{"another admission", func(host, b *device) (*device, error) {
			if host.Room() == nil {
				welcome(t, host, b)
			}
			_, err := host.Admit(t.Context(), fresh(t, Clock{}).party("cellar"))
			return host, err
		}},
	} {
		t.Run(row.name, func(t *testing.T) {
			faults := 0
			for n := 0; ; n++ {
				host, b := fresh(t, Clock{}), fresh(t, Clock{})
				if err := host.Found("kitchen", "host", false); err != nil {
					t.Fatal(err)
				}
				var at *device
				switch row.name {
				case "accepting":
					at = b
				case "another admission":
					welcome(t, host, b)
					fallthrough
				default:
					at = host
				}
				was := describe(t, at)
				count, failed := 0, ""
				at.store.before = func(op, path string) error {
					if count++; count == n+1 {
						failed = op + " " + filepath.Base(path)
						return fmt.Errorf("%s %s: %w", op, path, syscall.EIO)
					}
					return nil
				}
				_, err := row.do(host, b)
				at.store.before = nil
				if failed == "" {
					if err != nil {
						t.Error(err)
					}
					break
				}
				faults++
				if !errors.Is(err, syscall.EIO) {
					t.Errorf("%s failed, and %v was said", failed, err)
				}
				// Of a name that could not be made durable nobody knows which it is; it may be the new one.
				if now := describe(t, at); now != was && !(strings.HasPrefix(failed, "sync directory") && at.Room() != nil) {
					t.Errorf("%s failed: it was %s and is %s", failed, was, now)
				}
				if _, err := row.do(host, b); err != nil {
					t.Errorf("%s failed, and the next attempt: %v", failed, err)
				}
			}
			if faults < 4 {
				t.Errorf("%d faults: this test shows nothing", faults)
			}
		})
	}
}

// describe is the state in memory and on disk.
func describe(t *testing.T, d *device) string {
	t.Helper()
	say := func(r *Room) string {
		if r == nil {
			return "no room"
		}
		return fmt.Sprintf("room %s with %d members, version %d", r.ID, len(r.Members), r.Version)
	}
	m, err := Open(d.dir, d.id, Clock{})
	if err != nil {
		return err.Error()
	}
	return say(d.Room()) + "; " + say(m.Room()) + "; " + strings.Join(files(t, d.dir), " ")
}

// A removal counts even where it cannot be written, and is written as soon as it can be.
func TestARemovalDoesNotWaitForTheDisk(t *testing.T) {
	host, b := fresh(t, at(today).Clock()), fresh(t, at(today).Clock())
	pair(t, host, b, "kitchen")
	var full atomic.Bool
	full.Store(true)
	host.mu.Lock()
	host.store.before = func(string, string) error {
		if full.Load() {
			return syscall.ENOSPC
		}
		return nil
	}
	host.mu.Unlock()
	if err := host.Remove(t.Context(), b.id.ID()); !errors.Is(err, syscall.ENOSPC) || !strings.Contains(err.Error(), "free some space") {
		t.Errorf("%v", err)
	}
	host.change(Removed, b.id.ID())
	if host.Member(b.id.ID()) {
		t.Error("it is still a member")
	}
	full.Store(false)
	until(t, "it is written", func() bool { return len(open(t, host.dir, host.id, Clock{}).Room().Members) == 1 })
}

func TestAFullDisk(t *testing.T) {
	dir := t.TempDir()
	if err := syscall.Mount("conch-test", dir, "tmpfs", 0, "size=64k"); err != nil {
		t.Skipf("cannot mount a small disk (run as root): %v", err)
	}
	t.Cleanup(func() { _ = syscall.Unmount(dir, syscall.MNT_DETACH) })
	host, b := open(t, dir, identity(t), Clock{}), fresh(t, Clock{})
	if err := host.Found("kitchen", "host", false); err != nil {
		t.Fatal(err)
	}
	fill := filepath.Join(dir, "music")
	f, err := os.Create(fill)
	if err != nil {
		t.Fatal(err)
	}
	for { // to the last page
		if _, err := f.Write(bytes.Repeat([]byte{1}, 4096)); err != nil {
			break
		}
	}
	_ = f.Close()
	if _, err := host.Admit(t.Context(), b.party("kitchen")); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("%v", err)
	} else {
		t.Log(err)
	}
	if left := files(t, dir); host.Room() != nil || len(left) > 0 {
		t.Errorf("left: %+v %v", host.Room(), left)
	}
	if err := os.Remove(fill); err != nil {
		t.Fatal(err)
	}
	pair(t, host, b, "kitchen")
	if open(t, dir, host.id, Clock{}).Room() == nil {
		t.Error("not written when there was room again")
	}
}

func TestADamagedRoomSaysWhatToDo(t *testing.T) {
	write := func(name string, data []byte) func(*testing.T, string) {
		return func(t *testing.T, dir string) {
			if err := os.WriteFile(filepath.Join(dir, roomDir, name), data, 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	replace := func(old, new string) func(*testing.T, string) {
		return func(t *testing.T, dir string) {
			data, err := os.ReadFile(filepath.Join(dir, roomDir, roomFile))
			if err != nil {
				t.Fatal(err)
			}
			changed := bytes.Replace(data, []byte(old), []byte(new), 1)
			if bytes.Equal(changed, data) {
				t.Fatalf("%q is not in it", old)
			}
			write(roomFile, changed)(t, dir)
		}
	}
	mode := func(name string) func(*testing.T, string) {
		return func(t *testing.T, dir string) {
			if err := os.Chmod(filepath.Join(dir, roomDir, name), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	leave, chmod := []string{"damaged", "conch room leave", "backup"}, []string{"others can read it", "chmod 600"}
	for _, row := range []struct {
		name string
		do   func(*testing.T, string)
		want []string
	}{
		{"empty", write(roomFile, nil), leave},
		{"half of it", replace(`"members":[`, `"members":`), leave},
		{"no JSON", write(roomFile, []byte("room = kitchen\n")), leave},
		{"too large", write(roomFile, bytes.Repeat([]byte("a"), maxRecord+1)), leave},
		{"a field nobody knows", replace(`{"v":1`, `{"v":1,"admin":true`), leave},
		{"something behind it", replace("}\n", "}\n{}"), leave},
		{"another version", replace(`"v":1`, `"v":2`), leave},
		{"version 0 of the list", replace(`"version":2`, `"version":0`), leave},
		{"another certificate", replace(`"cert":"MII`, `"cert":"MIJ`), leave},
		{"a certificate with a flipped bit", replace(`"ca":"MIIB`, `"ca":"MIIC`), leave},
		{"a room's name that is a topic", replace(`"name":"kitchen"`, `"name":"kitchen/+"`), leave},
		{"a name with a line break", replace(`"name":"host"`, `"name":"ho\nst"`), leave},
		{"world-readable", mode(roomFile), chmod},
		{"a key that others can read", mode(keyFile), chmod},
		{"a damaged key", write(keyFile, []byte("secret")), leave},
		{"no key", func(t *testing.T, dir string) {
			if err := os.Remove(filepath.Join(dir, roomDir, keyFile)); err != nil {
				t.Fatal(err)
			}
		}, leave},
		{"a directory in its place", func(t *testing.T, dir string) {
			path := filepath.Join(dir, roomDir, roomFile)
			if err := errors.Join(os.Remove(path), os.Mkdir(path, 0o700)); err != nil {
				t.Fatal(err)
			}
		}, leave},
	} {
		t.Run(row.name, func(t *testing.T) {
			host := fresh(t, Clock{})
			pair(t, host, fresh(t, Clock{}), "den")
			row.do(t, host.dir)
			_, err := Open(host.dir, host.id, Clock{})
			if err == nil {
				t.Fatal("it is taken")
			}
			for _, w := range row.want {
				if !strings.Contains(err.Error(), w) {
					t.Errorf("%v: want %q in it", err, w)
				}
			}
			if strings.Contains(err.Error(), "secret") {
				t.Errorf("the key is in the error: %v", err)
			}
			if row.name == "a directory in its place" {
				return // which nobody made but a person
			}
			if err := Forget(host.dir); err != nil {
				t.Fatal(err)
			}
			if m, err := Open(host.dir, host.id, Clock{}); err != nil || m.Room() != nil || len(files(t, host.dir)) > 0 {
				t.Errorf("and then: %v, %v", err, files(t, host.dir))
			}
		})
	}
	t.Run("the identity was replaced", func(t *testing.T) {
		host := fresh(t, Clock{})
		pair(t, host, fresh(t, Clock{}), "den")
		if _, err := Open(host.dir, identity(t), Clock{}); !errors.Is(err, ErrDamaged) || !strings.Contains(err.Error(), "identity.key") {
			t.Errorf("%v", err)
		}
	})
}

func TestFilesAreForNobodyElse(t *testing.T) {
	old := syscall.Umask(0)
	defer syscall.Umask(old)
	host := fresh(t, Clock{})
	pair(t, host, fresh(t, Clock{}), "den")
	for name, want := range map[string]fs.FileMode{".": 0o700, roomFile: 0o600, keyFile: 0o600} {
		info, err := os.Stat(filepath.Join(host.dir, roomDir, name))
		if err != nil || info.Mode().Perm() != want {
			t.Errorf("%s: %v %v; want %v", name, info.Mode(), err, want)
		}
	}
}

// Nothing is on disk, and nothing admits anybody, before somebody has been let in.
func TestAnEmptyRoomIsNoRoom(t *testing.T) {
	host := fresh(t, Clock{})
	if err := host.Found("kitchen", "host", false); err != nil {
		t.Fatal(err)
	}
	if host.Room() != nil || host.IsHost() || host.BrokerTLS() != nil || len(files(t, host.dir)) > 0 || host.Founding() == nil {
		t.Errorf("%+v %v", host.Room(), files(t, host.dir))
	}
	if err := host.Admits(broker.Peer{Device: host.id.ID()}); !errors.Is(err, ErrNotPaired) {
		t.Errorf("%v", err)
	}
	if _, err := host.ClientTLS(); !errors.Is(err, ErrNotPaired) {
		t.Errorf("%v", err)
	}
}

func TestLeavingThatCannotBeWrittenIsNoLeaving(t *testing.T) {
	host, b := fresh(t, Clock{}), fresh(t, Clock{})
	pair(t, host, b, "kitchen")
	b.store.before = func(string, string) error { return syscall.EROFS }
	if err := b.Leave(t.Context()); !errors.Is(err, syscall.EROFS) || !strings.Contains(err.Error(), "still in") {
		t.Errorf("%v", err)
	}
	b.store.before = nil
	if b.Room() == nil {
		t.Fatal("it is out, until it starts again")
	}
	if err := b.Leave(expired(t)); err != nil || b.Room() != nil || len(files(t, b.dir)) > 0 {
		t.Errorf("%v", err)
	}
}

// A key without a room is the trace of a power cut.
func TestAnOrphanedKeyIsRemoved(t *testing.T) {
	host := fresh(t, Clock{})
	pair(t, host, fresh(t, Clock{}), "den")
	if err := os.Remove(filepath.Join(host.dir, roomDir, roomFile)); err != nil {
		t.Fatal(err)
	}
	if m, err := Open(host.dir, host.id, Clock{}); err != nil || m.Room() != nil {
		t.Errorf("%v", err)
	}
	if left := files(t, host.dir); len(left) > 0 {
		t.Errorf("%v are left", left)
	}
}
