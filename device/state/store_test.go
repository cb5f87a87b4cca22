package state

import (
	"os"
	"path/filepath"
	"testing"
)

// A directory that cannot be made at the start is made when it can be, and what was owed is in it then.
func TestStoreComesIntoBeingLater(t *testing.T) {
	parent := filepath.Join(t.TempDir(), "parent")
	if err := os.WriteFile(parent, nil, 0o600); err != nil { // a file where the directory should be, as good as a disk that is read-only
		t.Fatal(err)
	}
	s, err := Open(filepath.Join(parent, "state"))
	if err == nil || s == nil {
		t.Fatalf("openStore = %v, %v; want a store and an error", s, err)
	}
	if s.Save("volume", struct{ Percent int }{30}) == nil || !s.Owes() || s.Writable() == nil {
		t.Error("nothing could be written, and yet all is well")
	}
	if err := os.Remove(parent); err != nil {
		t.Fatal(err)
	}
	if err := s.Settle(); err != nil || s.Owes() || s.Writable() != nil {
		t.Errorf("settle = %v, owes %v", err, s.Owes())
	}
	var v struct{ Percent int }
	if ok, err := s.Load("volume", &v); !ok || err != nil || v.Percent != 30 {
		t.Errorf("load = %v, %v, %+v", ok, err, v)
	}
}

// What a power cut left half written is removed at the start; what is forgotten is gone, and may be forgotten twice.
func TestStoreTidiesAndForgets(t *testing.T) {
	dir := t.TempDir()
	s, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"volume.json.123.tmp", "room-x-1.jsonl.9.tmp", "ledger.jsonl"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("{"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Save("talk-ada", map[string]string{"a": "talk"}); err != nil {
		t.Fatal(err)
	}
	s.Tidy()
	for range 2 {
		if err := s.Remove("talk-ada"); err != nil {
			t.Error(err)
		}
	}
	left, err := os.ReadDir(dir)
	if err != nil || len(left) != 1 || left[0].Name() != "ledger.jsonl" {
		t.Errorf("left: %v, %v; want the ledger alone", left, err)
	}
}
