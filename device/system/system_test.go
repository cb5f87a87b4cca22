package system

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// Of several files the first that can be read is named; of none, when the time is over.
func TestWait(t *testing.T) {
	var ends [2][2]*os.File
	for i := range ends {
		r, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		defer w.Close()
		ends[i] = [2]*os.File{r, w}
	}
	for _, c := range []struct{ write, want int }{{-1, -1}, {1, 1}, {0, 0}} {
		if c.write >= 0 {
			if _, err := ends[c.write][1].WriteString("x"); err != nil {
				t.Fatal(err)
			}
		}
		if got, err := Wait(10*time.Millisecond, ends[0][0], ends[1][0]); got != c.want || err != nil {
			t.Errorf("after a byte in %d: %d, %v; want %d", c.write, got, err, c.want)
		}
	}
}

// A file and a directory that are locked are locked for others, until they are closed.
func TestLock(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "file")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, lock := range map[string]func() (*os.File, error){
		"file": func() (*os.File, error) {
			f, err := os.OpenFile(path, os.O_RDWR, 0)
			if err != nil {
				t.Fatal(err)
			}
			return f, Lock(f)
		},
		"directory": func() (*os.File, error) { return LockDirectory(dir) },
	} {
		first, err := lock()
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if second, err := lock(); !errors.Is(err, ErrTaken) {
			t.Errorf("%s, locked: %v", name, err)
		} else {
			_ = second.Close() // of a directory there is none
		}
		_ = first.Close()
		third, err := lock()
		if err != nil {
			t.Errorf("%s, given back: %v", name, err)
		}
		_ = third.Close()
	}
}

// What is written into a file in memory can be read from its beginning, and it has no name in the folder for such files.
func TestMemoryFile(t *testing.T) {
	f, err := MemoryFile("conch-test")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteString("words"); err != nil {
		t.Fatal(err)
	}
	var b [5]byte
	if _, err := f.ReadAt(b[:], 0); err != nil || string(b[:]) != "words" {
		t.Errorf("%q, %v", b, err)
	}
}

// Whoever comes through a socket of this process is this user, and, where the system says it, this process.
func TestPeer(t *testing.T) {
	l, err := net.Listen("unix", filepath.Join(t.TempDir(), "s"))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	near, err := net.Dial("unix", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer near.Close()
	far, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer far.Close()
	if uid, pid, ok := Peer(far); !ok || uid != os.Getuid() || pid != 0 && pid != os.Getpid() {
		t.Errorf("uid %d, pid %d, %v", uid, pid, ok)
	}
}
