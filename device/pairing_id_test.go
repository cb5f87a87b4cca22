package device

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"conch/device/config"
	"conch/device/join"
)

// conch room id, asked by another user than the one that the appliance runs as, tells the appliance's id and not one of his own,
// and makes no file.
func TestOwnIDIsTheRunningAppliances(t *testing.T) {
	loaded, err := config.Load(config.LoadOptions{Environ: []string{}, Flags: map[string]string{"state.dir": t.TempDir(), "state.runtime": shortDir(t)}})
	if err != nil {
		t.Fatal(err)
	}
	cfg := *loaded
	cfg.Audio.Backend, cfg.Button.Source, cfg.Room.Discovery = "null", "none", "off"
	d, err := New(cfg, Options{Control: true, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- d.Run(ctx) }() // awaited below
	defer func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}()
	if err := d.WaitReady(ctx, 30*time.Second); err != nil {
		t.Fatal(err)
	}
	other := cfg
	other.State.Dir = filepath.Join(t.TempDir(), "of-root")
	id, whose, err := join.OwnID(ctx, other)
	if err != nil || id != d.self || id == "" || !strings.Contains(whose, "running appliance") {
		t.Errorf("it says %q, %s, %v; the appliance is %s", id, whose, err, d.self)
	}
	if _, err := os.Stat(other.State.Dir); err == nil {
		t.Error("an identity was made for who asked")
	}
	other.State.Runtime = shortDir(t) // nothing runs there
	own, whose, err := join.OwnID(ctx, other)
	if err != nil || own == id || !strings.Contains(whose, "this user runs") || !strings.Contains(whose, "made just now") {
		t.Errorf("where nothing runs: %q, %s, %v", own, whose, err)
	}
	if again, whose, err := join.OwnID(ctx, other); err != nil || again != own || strings.Contains(whose, "made") {
		t.Errorf("again: %q, %s, %v", again, whose, err)
	}
}
