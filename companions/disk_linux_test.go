package companions_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"conch/companions"
	"conch/companions/roomtest"
	"conch/companions/round"
)

// TestRoomTalksOnFullAndReadOnlyDisk uses a real file system that is full, then one that is read-only, then both are over.
func TestRoomTalksOnFullAndReadOnlyDisk(t *testing.T) {
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=256k"); err != nil {
		t.Skipf("a small file system could not be mounted (%v): this needs root and Linux", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, 0); err != nil {
			t.Errorf("unmount: %v (a file is still open)", err)
		}
	})
	inHouse(t, func(t *testing.T, h *roomtest.House) {
		var mu sync.Mutex
		var troubles []string
		take := func() []string { mu.Lock(); defer mu.Unlock(); all := troubles; troubles = nil; return all }
		plan := living("ada", "ben")
		plan.Alone = true
		plan.Options.Dir = dir
		plan.Options.OnTrouble = func(what string, err error) {
			mu.Lock()
			defer mu.Unlock()
			troubles = append(troubles, fmt.Sprint(what, ": ", err))
		}
		d := h.Add("kitchen", plan)
		after(time.Second)
		asked := 0
		talk := func() {
			t.Helper()
			asked++
			id := d.Ask(fmt.Sprintf("Ada, how long does egg number %d have to boil? %s.", asked, strings.Repeat("It is a big one", 300)))
			after(9 * time.Second)
			wantEnd(t, id, round.EntryAnswered, d)
		}
		want := func(why string) {
			t.Helper()
			got := take()
			slices.Sort(got)
			if len(got) != 2 || !strings.Contains(got[0], "ledger: ") || !strings.Contains(got[0], why) || !strings.Contains(got[1], "memory: ") || !strings.Contains(got[1], why) {
				t.Errorf("troubles %q, want one of the memory and one of the ledger: %q", got, why)
			}
		}
		talk()
		if got := take(); len(got) > 0 {
			t.Fatalf("troubles %q on a good disk", got)
		}
		filler := filepath.Join(dir, "filler")
		fill(t, filler)
		talk()
		talk()
		want("no space left on device")
		if err := os.Remove(filler); err != nil {
			t.Fatal(err)
		}
		after(11 * time.Second)
		want("<nil>")
		if err := syscall.Mount("", dir, "", syscall.MS_REMOUNT|syscall.MS_RDONLY, ""); err != nil {
			t.Fatalf("read-only: %v (is a file open for writing?)", err)
		}
		talk()
		want("read-only file system")
		if err := syscall.Mount("", dir, "", syscall.MS_REMOUNT, "size=256k"); err != nil {
			t.Fatal(err)
		}
		after(11 * time.Second)
		want("<nil>")
		before, happened := d.Room.Recent(), len(d.Entries())
		if err := d.Stop(); err != nil {
			t.Error(err)
		}
		if read, _, err := companions.ReadLedger(dir); err != nil || len(read) != happened {
			t.Errorf("the ledger has %d entries (%v), want all %d, those of the bad times too", len(read), err, happened)
		}
		d = h.Add("kitchen", plan)
		after(time.Second)
		if got := d.Room.Recent(); fmt.Sprint(got) != fmt.Sprint(before) {
			t.Errorf("after it all %d messages are remembered, want %d", len(got), len(before))
		}
	})
}

// fill writes until nothing more fits.
func fill(t *testing.T, path string) {
	t.Helper()
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for size := 4096; size > 0; {
		if _, err := f.Write(make([]byte, size)); err != nil {
			size /= 2
		}
	}
}
