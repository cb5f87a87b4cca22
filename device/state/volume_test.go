package state_test

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"conch/device/condition"
	"conch/device/config"
	"conch/device/state"
)

// A volume that was asked for by word is found again after a start, and gives way where the configured one was changed since.
func TestTheVolumeThatWasAskedForIsRemembered(t *testing.T) {
	const unset = -1
	// session is a start with a configured volume, and what somebody asks for in it; it tells with what it began.
	session := func(dir string, configured, asked int) int {
		environ := []string{"STATE_DIRECTORY=" + dir}
		if configured != unset {
			environ = append(environ, fmt.Sprintf("CONCH_AUDIO_VOLUME=%d", configured))
		}
		cfg, err := config.Load(config.LoadOptions{Environ: environ})
		if err != nil {
			t.Fatal(err)
		}
		conds := condition.NewBook(slog.New(slog.DiscardHandler))
		m, _ := state.Remember(cfg, conds)
		began := m.Volume()
		if asked != unset {
			m.KeepVolume(asked)
		}
		ctx, end := context.WithCancel(context.Background())
		end()
		if err := m.Run(ctx); err != nil || len(conds.List()) > 0 {
			t.Errorf("%v, conditions %+v", err, conds.List())
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
		session(dir, row.first, row.asked)
		if got := session(dir, row.second, unset); got != row.want {
			t.Errorf("configured %d, asked for %d, configured %d: %d; want %d", row.first, row.asked, row.second, got, row.want)
		}
		if got := session(dir, row.second, unset); got != row.want {
			t.Errorf("configured %d, asked for %d, configured %d, a start later: %d; want %d", row.first, row.asked, row.second, got, row.want)
		}
	}
}

// A volume that cannot be written down sounds, and whoever asked for it is told so.
func TestAVolumeThatIsNotKeptSaysSo(t *testing.T) {
	parent := filepath.Join(t.TempDir(), "parent")
	if err := os.WriteFile(parent, nil, 0o600); err != nil { // a file where the directory should be, as good as a full disk
		t.Fatal(err)
	}
	cfg := config.Default()
	cfg.State.Dir = filepath.Join(parent, "state")
	m, _ := state.Remember(&cfg, condition.NewBook(slog.New(slog.DiscardHandler)))
	mux := http.NewServeMux()
	sounds := 0
	m.ServeVolume(mux, func(percent int) { sounds = percent })
	asks := func(unkept bool) {
		t.Helper()
		w := httptest.NewRecorder()
		mux.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/volume", strings.NewReader(`{"percent": 33}`)))
		if w.Code != http.StatusOK || sounds != 33 || strings.Contains(w.Body.String(), `"unkept":true`) != unkept {
			t.Errorf("%d, %s, and %d sounds", w.Code, w.Body, sounds)
		}
	}
	asks(true)
	if err := os.Remove(parent); err != nil {
		t.Fatal(err)
	}
	asks(false)
}
