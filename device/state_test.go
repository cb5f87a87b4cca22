package device

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"testing"

	"conch/device/condition"
	"conch/device/config"
)

// A power cut at a bad moment, a worn card, a directory in the way: the appliance starts all the same, and says so.
func TestUsageThatCannotBeReadKeepsNobodyFromTalking(t *testing.T) {
	for name, spoil := range map[string]func(path string) error{
		"torn":        func(path string) error { return os.WriteFile(path, []byte("{"), 0o600) },
		"a directory": func(path string) error { return os.Mkdir(path, 0o700) },
		"huge":        func(path string) error { return os.WriteFile(path, make([]byte, maxValue+1), 0o600) },
	} {
		dir := t.TempDir()
		if err := spoil(filepath.Join(dir, "usage.json")); err != nil {
			t.Fatal(err)
		}
		s, err := openStore(dir)
		if err != nil {
			t.Fatal(err)
		}
		d := &Device{store: s, conds: condition.NewBook(slog.New(slog.DiscardHandler))}
		data, err := d.loadUsage(usageName)
		if err != nil || data != nil {
			t.Errorf("%s: loadUsage() = %q, %v; want nothing", name, data, err)
		}
		if l := d.conds.List(); len(l) != 1 || l[0].Code != "state.unreadable" || l[0].Do == "" {
			t.Errorf("%s: conditions %+v; want that it could not be read", name, l)
		}
	}
}

// A volume that was asked for by word is found again after a start, and gives way where the configured one was changed since.
func TestTheVolumeThatWasAskedForIsRemembered(t *testing.T) {
	const unset = -1
	// life is a start with a configured volume, and what somebody asks for in it; it tells with what it began.
	life := func(dir string, configured, asked int) int {
		environ := []string{"STATE_DIRECTORY=" + dir}
		if configured != unset {
			environ = append(environ, fmt.Sprintf("CONCH_AUDIO_VOLUME=%d", configured))
		}
		cfg, err := config.Load(config.LoadOptions{Environ: environ})
		if err != nil {
			t.Fatal(err)
		}
		d := &Device{cfg: *cfg, saves: make(chan struct{}, 1), conds: condition.NewBook(slog.New(slog.DiscardHandler))}
		d.openState()
		began := int(d.volume.Load())
		if asked != unset {
			d.keepVolume(asked)
		}
		ctx, end := context.WithCancel(context.Background())
		end()
		if err := d.writeState(ctx); err != nil || len(d.conds.List()) > 0 {
			t.Errorf("%v, conditions %+v", err, d.conds.List())
		}
		return began
	}
	usual := config.Default().Audio.Volume
	for _, row := range []struct{ first, asked, second, want int }{
		{unset, unset, unset, usual},
		{unset, 35, unset, 35},
		{60, 35, 60, 35},
		{60, 35, 70, 70},
		{unset, 35, 70, 70},
		{60, 35, unset, 35},
		{60, 0, 60, 0},
	} {
		dir := t.TempDir()
		life(dir, row.first, row.asked)
		if got := life(dir, row.second, unset); got != row.want {
			t.Errorf("configured %d, asked for %d, configured %d: %d; want %d", row.first, row.asked, row.second, got, row.want)
		}
		if got := life(dir, row.second, unset); got != row.want {
			t.Errorf("configured %d, asked for %d, configured %d, a start later: %d; want %d", row.first, row.asked, row.second, got, row.want)
		}
	}
}

// A directory that cannot be made at the start is made when it can be, and what was owed is in it then.
func TestStoreComesIntoBeingLater(t *testing.T) {
	parent := filepath.Join(t.TempDir(), "parent")
	if err := os.WriteFile(parent, nil, 0o600); err != nil { // a file where the directory should be, as good as a disk that is read-only
		t.Fatal(err)
	}
	s, err := openStore(filepath.Join(parent, "state"))
	if err == nil || s == nil {
		t.Fatalf("openStore = %v, %v; want a store and an error", s, err)
	}
	if s.save("volume", struct{ Percent int }{30}) == nil || !s.owes() || s.writable() == nil {
		t.Error("nothing could be written, and yet all is well")
	}
	if err := os.Remove(parent); err != nil {
		t.Fatal(err)
	}
	if err := s.settle(); err != nil || s.owes() || s.writable() != nil {
		t.Errorf("settle = %v, owes %v", err, s.owes())
	}
	var v struct{ Percent int }
	if ok, err := s.load("volume", &v); !ok || err != nil || v.Percent != 30 {
		t.Errorf("load = %v, %v, %+v", ok, err, v)
	}
}

// What a power cut left half written is removed at the start; what is forgotten is gone, and may be forgotten twice.
func TestStoreTidiesAndForgets(t *testing.T) {
	dir := t.TempDir()
	s, err := openStore(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"volume.json.123.tmp", "room-x-1.jsonl.9.tmp", "ledger.jsonl"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("{"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.save("talk-ada", keptTalk{}); err != nil {
		t.Fatal(err)
	}
	s.tidy()
	for range 2 {
		if err := s.remove("talk-ada"); err != nil {
			t.Error(err)
		}
	}
	left, err := os.ReadDir(dir)
	if err != nil || len(left) != 1 || left[0].Name() != "ledger.jsonl" {
		t.Errorf("left: %v, %v; want the ledger alone", left, err)
	}
}
