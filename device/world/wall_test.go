package world

import (
	"encoding/binary"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"
)

// zoneFile is one of tzfile(5) that has a single offset.
func zoneFile(hours int, name string) []byte {
	b := append([]byte("TZif\x00"), make([]byte, 15)...)
	for _, n := range []uint32{0, 0, 0, 0, 1, uint32(len(name) + 1)} {
		b = binary.BigEndian.AppendUint32(b, n)
	}
	b = binary.BigEndian.AppendUint32(b, uint32(int32(hours*3600)))
	return append(append(b, 0, 0), name+"\x00"...)
}

// The zone is that of the file as it is now: replaced, written anew, led elsewhere. What is no zone changes nothing.
func TestTheZoneIsThatOfTheSystemNow(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "localtime")
	zones := filepath.Join(dir, "zoneinfo")
	for name, hours := range map[string]int{"Asia/Tokyo": 9, "America/Lima": -5} {
		to := filepath.Join(zones, name)
		if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(to, zoneFile(hours, "ABC"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	do := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	synctest.Test(t, func(t *testing.T) {
		w := &Wall{path: path, log: slog.New(slog.DiscardHandler)}
		w.zone.Store(time.UTC)
		is := func(what string, hours int, name string) {
			t.Helper()
			time.Sleep(zoneEvery)
			w.Now() // has it looked at
			synctest.Wait()
			_, offset := w.Now().Zone()
			if offset != hours*3600 || w.Now().Location().String() != name {
				t.Errorf("%s: %d s from UTC, %s; want %d h, %s", what, offset, w.Now().Location(), hours, name)
			}
		}
		is("no file", 0, "UTC")
		do(os.Symlink(filepath.Join(zones, "Asia/Tokyo"), path))
		is("a link", 9, "Asia/Tokyo")
		do(os.Remove(path))
		is("gone for a moment", 9, "Asia/Tokyo")
		do(os.Symlink(filepath.Join(zones, "America/Lima"), path))
		is("another link", -5, "America/Lima")
		do(os.Remove(path))
		do(os.WriteFile(path, zoneFile(2, "EET"), 0o600))
		is("a file", 2, "Local")
		do(os.WriteFile(path, []byte("no zone"), 0o600))
		is("no zone", 2, "Local")
		do(os.WriteFile(path, zoneFile(3, "MSKX"), 0o600))
		is("written anew", 3, "Local")
	})
}
