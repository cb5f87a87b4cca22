package pairing

import (
	"bytes"
	"context"
	"encoding/hex"
	"fmt"
	"go/parser"
	"go/token"
	"io/fs"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"

	"conch/mqtt/cpace"
)

// TestCodeIsNowhere: however a pairing ends, the code is in no error, no event, no frame, and in nothing of ours that somebody
// prints or logs.
func TestCodeIsNowhere(t *testing.T) {
	var seen bytes.Buffer
	log := slog.New(slog.NewJSONHandler(&seen, nil))
	text := slog.New(slog.NewTextHandler(&seen, nil))
	see := func(x any) {
		fmt.Fprintf(&seen, "%v\n%+v\n%#v\n%s\n", x, x, x, x)
		log.Info("pairing.test", "x", x)
		text.Info("pairing.test", "x", x)
	}
	synctest.Test(t, func(t *testing.T) {
		for _, code := range []string{testCode, "111111"} {
			for _, bad := range []func([]byte) []byte{nil, badFrames["no JSON"], badFrames["a stored"], badFrames["a field more"]} {
				for step := range 4 {
					var cfg WindowConfig
					h := open(t, func(c *WindowConfig) { cfg = *c })
					g := newGuest(t, "bedroom")
					g.code = code
					j, w := pipe(g.id, h.id, "tls")
					n := 0
					j.on = func(_ *wire, f []byte) [][]byte {
						if n++; bad != nil && n == step+1 {
							f = bad(append([]byte(nil), f...))
						}
						fmt.Fprintf(&seen, "%s\n", f)
						return [][]byte{f}
					}
					w.on = func(_ *wire, f []byte) [][]byte { fmt.Fprintf(&seen, "%s\n", f); return [][]byte{f} }
					served := make(chan error, 1)
					go func() { served <- h.Serve(context.Background(), w) }()
					joiner := NewJoiner(g.cfg)
					_, err := joiner.Join(t.Context(), j, code)
					for _, x := range []any{err, <-served, h.events, cfg, &cfg, g.cfg, &g.cfg, h.Window, joiner} {
						see(x)
					}
					h.Close()
					see(<-h.ran)
				}
			}
		}
	})
	if _, err := NewWindow(WindowConfig{Identity: identity(t), RoomID: "r", Code: testCode + "x"}); err != nil {
		see(err)
	}
	for _, code := range []string{testCode, "111111", hex.EncodeToString([]byte(testCode)), fmt.Sprint([]byte(testCode))} {
		for line := range strings.Lines(seen.String()) {
			if strings.Contains(strings.ReplaceAll(line, "0x111111", ""), code) && !strings.Contains(line, `"tag"`) && !strings.Contains(line, `"share"`) {
				t.Fatalf("the code is in: %.300s", line)
			}
		}
	}
}

// TestNothingLogs: neither package can log, or print.
func TestNothingLogs(t *testing.T) {
	for _, dir := range []string{".", "../cpace"} {
		packages, err := parser.ParseDir(token.NewFileSet(), dir, func(f fs.FileInfo) bool { return !strings.HasSuffix(f.Name(), "_test.go") }, parser.ImportsOnly) //nolint:staticcheck // one directory, no build tags
		if err != nil || len(packages) != 1 {
			t.Fatal(err, len(packages))
		}
		for _, p := range packages {
			for name, f := range p.Files {
				for _, i := range f.Imports {
					if strings.HasPrefix(strings.Trim(i.Path.Value, `"`), "log") {
						t.Errorf("%s imports %s", name, i.Path.Value)
					}
				}
			}
		}
	}
}

// TestWelcomeIsSealed: what a member must know cannot be read on the way, nor be changed, nor opened in another run.
func TestWelcomeIsSealed(t *testing.T) {
	pair := func() (joiner, window *secrets) {
		a, b := identity(t), identity(t)
		joiner, err := newSecrets(cpace.Initiator, a, "a", "", "", []byte("tls"))
		if err != nil {
			t.Fatal(err)
		}
		window, err = newSecrets(cpace.Responder, b, "b", "rabc", "", []byte("tls"))
		if err != nil {
			t.Fatal(err)
		}
		if err := joiner.begin(testCode, window.self, window.mine); err != nil {
			t.Fatal(err)
		}
		if err := window.begin(testCode, joiner.self, joiner.mine); err != nil {
			t.Fatal(err)
		}
		if err := window.finish(joiner.share); err != nil {
			t.Fatal(err)
		}
		if err := joiner.finish(window.share); err != nil {
			t.Fatal(err)
		}
		return joiner, window
	}
	joiner, window := pair()
	if !window.joinerIsRight(joiner.joinerTag) || !joiner.windowIsRight(window.windowTag) || window.joinerIsRight(window.windowTag) {
		t.Fatal("confirmations")
	}
	sealed, err := window.seal([]byte("the members of the room"))
	if err != nil || bytes.Contains(sealed, []byte("members")) {
		t.Fatalf("%q, %v", sealed, err)
	}
	if plain, err := joiner.open(sealed); err != nil || string(plain) != "the members of the room" {
		t.Fatalf("%q, %v", plain, err)
	}
	for i := range sealed {
		changed := bytes.Clone(sealed)
		changed[i] ^= 1
		if _, err := joiner.open(changed); err == nil {
			t.Fatalf("changed at %d, and opened", i)
		}
	}
	stranger, _ := pair()
	if _, err := stranger.open(sealed); err == nil {
		t.Fatal("opened in another run")
	}
}
