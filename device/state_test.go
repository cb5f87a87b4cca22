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
	"conch/device/state"
)

// A power cut at a bad moment, a worn card, a directory in the way: the appliance starts all the same, and says so.
func TestUsageThatCannotBeReadKeepsNobodyFromTalking(t *testing.T) {
	for name, spoil := range map[string]func(path string) error{
		"torn":        func(path string) error { return os.WriteFile(path, []byte("{"), 0o600) },
		"a directory": func(path string) error { return os.Mkdir(path, 0o700) },
		"huge":        func(path string) error { return os.WriteFile(path, make([]byte, state.MaxValue+1), 0o600) },
	} {
		dir := t.TempDir()
		if err := spoil(filepath.Join(dir, "usage.json")); err != nil {
			t.Fatal(err)
		}
		s, err := state.Open(dir)
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
