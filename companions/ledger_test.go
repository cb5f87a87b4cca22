package companions

import (
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"conch/companions/round"
)

func ledgerOf(dir string) (l *Ledger, troubles *[]string, stop func()) {
	troubles = &[]string{}
	l = newLedger(dir, slog.New(slog.DiscardHandler), func(what string, err error) {
		*troubles = append(*troubles, fmt.Sprintf("%s: %v", what, err))
	})
	done, gone := make(chan struct{}), make(chan struct{})
	return l, troubles, func() {
		go func() { l.writing(done); close(gone) }()
		close(done)
		<-gone
	}
}

func entry(n int) round.Entry {
	return round.Entry{Kind: round.EntryClaim, AtMS: float64(n), Device: "d-kitchen", Companion: "ada", Why: fmt.Sprint("entry ", n)}
}

func TestLedgerIsWrittenAndReadBack(t *testing.T) {
	dir := t.TempDir()
	for run := range 2 { // a second run goes on where the first ended, which anybody could read
		_ = os.Chmod(filepath.Join(dir, LedgerFile), 0o644)
		l, _, stop := ledgerOf(dir)
		for n := range 10 {
			l.add(entry(run*10 + n))
		}
		stop()
	}
	for _, path := range []string{dir, filepath.Join(dir, LedgerFile)} {
		got, skipped, err := ReadLedger(path)
		if err != nil || skipped != 0 || len(got) != 20 || got[19].Why != "entry 19" {
			t.Errorf("ReadLedger(%s): %d entries, %d skipped, %v; want 20", path, len(got), skipped, err)
		}
	}
	if st, err := os.Stat(filepath.Join(dir, LedgerFile)); err != nil || st.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v; want 0600: what people said is for nobody else", st.Mode(), err)
	}
	data, _ := os.ReadFile(filepath.Join(dir, LedgerFile))
	if !strings.HasPrefix(string(data), `{"time":"2`) {
		t.Errorf("a line begins with %.40s, want the time on the wall", data)
	}
}

func TestLedgerToleratesTornLine(t *testing.T) {
	dir := t.TempDir()
	l, _, stop := ledgerOf(dir)
	l.add(entry(1))
	l.add(entry(2))
	stop()
	path := filepath.Join(dir, LedgerFile)
	whole, _ := os.ReadFile(path)
	first := strings.IndexByte(string(whole), '\n') + 1
	for cut := first; cut < len(whole); cut++ {
		if err := os.WriteFile(path, whole[:cut], 0o600); err != nil {
			t.Fatal(err)
		}
		l, _, stop := ledgerOf(dir)
		l.add(entry(3))
		stop()
		got, _, err := ReadLedger(dir)
		if err != nil || len(got) < 2 || got[0].Why != "entry 1" || got[len(got)-1].Why != "entry 3" {
			t.Fatalf("cut at %d: %+v, %v; want the first entry and the one after the cut", cut, got, err)
		}
	}
}

func TestLedgerIsBounded(t *testing.T) {
	dir := t.TempDir()
	l, _, stop := ledgerOf(dir)
	l.limit = 10_000
	for n := range 1000 {
		l.add(entry(n))
		if _, err := l.write(); err != nil {
			t.Fatal(err)
		}
	}
	stop()
	for _, name := range []string{LedgerFile, LedgerOldFile} {
		st, err := os.Stat(filepath.Join(dir, name))
		if err != nil || st.Size() > l.limit {
			t.Errorf("%s: %v, %v; want at most %d bytes", name, st, err, l.limit)
		}
	}
	got, skipped, err := ReadLedger(dir)
	if err != nil || skipped != 0 || len(got) < 50 {
		t.Fatalf("%d entries, %d skipped, %v", len(got), skipped, err)
	}
	for i, e := range got {
		if want := 1000 - len(got) + i; int(e.AtMS) != want {
			t.Fatalf("entry %d is %v, want %d: the last ones, in order, none missing", i, e.AtMS, want)
		}
	}
}

// TestLedgerOnFullDisk writes to the kernel's own full device, then to a disk with room.
func TestLedgerOnFullDisk(t *testing.T) {
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Skipf("no device that is always full: %v", err)
	}
	full.Close()
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		path := filepath.Join(dir, LedgerFile)
		if err := os.Symlink("/dev/full", path); err != nil {
			t.Fatal(err)
		}
		l, troubles, _ := ledgerOf(dir)
		done := make(chan struct{})
		go l.writing(done)
		for n := range maxEntries + 100 {
			l.add(entry(n))
			if n == 10 {
				synctest.Wait()
			}
		}
		time.Sleep(time.Minute + time.Second) // not at a time when it tries
		synctest.Wait()
		if len(*troubles) != 1 || !strings.Contains((*troubles)[0], "no space left on device") {
			t.Fatalf("troubles %q, want that the disk is full, once", *troubles)
		}
		if s := l.stats(); s.Waiting != maxEntries || s.Dropped != 100 || s.Written != 0 {
			t.Errorf("stats %+v; want the latest %d waiting and 100 dropped", s, maxEntries)
		}
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
		time.Sleep(diskPatience + time.Second)
		close(done)
		synctest.Wait()
		got, skipped, err := ReadLedger(dir)
		if err != nil || skipped != 0 || len(got) != maxEntries || int(got[0].AtMS) != 100 {
			t.Errorf("%d entries, %d skipped, %v; want all that waited", len(got), skipped, err)
		}
		if len(*troubles) != 2 || (*troubles)[1] != "ledger: <nil>" {
			t.Errorf("troubles %q, want the end of it", *troubles)
		}
	})
}
