package device

import (
	"context"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// A whisper through three binaries: `conch ask --to` in the kitchen is answered by Ben in the bedroom, and what watches in the hall, and all that
// the hall has written and logged, knows of it and has none of its words. To a member with an older conch nothing is said, and the command says why.
func TestWhisperThroughThreeBinaries(t *testing.T) {
	t.Parallel()
	h := newPairHouse(t)
	kitchen, _, hall, attic := h.box("kitchen", "Ada", 11), h.box("bedroom", "Ben", 12), h.box("hall", "Cleo", 13), h.box("attic", "Zed", 14)
	for i, b := range h.boxes {
		b.start()
		if i > 0 {
			h.joins(kitchen, b)
			h.together(i+1, time.Minute, h.boxes[:i+1]...)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	watch := &lastWords{}
	watcher := exec.CommandContext(ctx, "ip", append([]string{"netns", "exec", h.ns("hall"), h.binary}, hall.args("room", "watch")...)...)
	watcher.Stdout, watcher.Stderr = watch, watch
	if err := watcher.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { cancel(); _ = watcher.Wait() }()

	ask := func(args ...string) (string, error) {
		return h.in("kitchen", time.Minute, h.binary, kitchen.args(append([]string{"ask"}, args...)...)...)
	}
	out, err := ask("--to", "ben", "what is nineteen plus seventy")
	if err != nil || !strings.Contains(out, "89") || !strings.Contains(out, "Ben (bedroom)") {
		t.Fatalf("conch ask --to ben: %v\n%s", err, out)
	}
	if out, err := ask("Cleo, what is two plus three"); err != nil || !strings.Contains(out, "5") { // which all may know
		t.Fatalf("conch ask Cleo: %v\n%s", err, out)
	}
	hall.until("what all may know is watched", 20*time.Second, func() bool { return strings.Contains(watch.String(), "two plus three") })
	why, err := h.in("hall", 20*time.Second, h.binary, hall.args("why", "--all")...)
	all := map[string]string{"room watch": watch.String(), "why": why, "log": hall.log.String()}
	if err := filepath.WalkDir(hall.dir, func(path string, e fs.DirEntry, err error) error {
		if err == nil && e.Type().IsRegular() {
			data, _ := os.ReadFile(path)
			all[path] = string(data)
		}
		return err
	}); err != nil {
		t.Error(err)
	}
	if err != nil || len(all) < 6 || !strings.Contains(watch.String(), "ben") && !strings.Contains(watch.String(), "Ben") {
		t.Errorf("%v; %d places, and what was watched is %q: this proves nothing", err, len(all), watch.String())
	}
	for where, text := range all {
		for _, word := range []string{"nineteen", "seventy", "89"} {
			if word == "89" && where != "room watch" {
				continue // a number that may stand in a time or a key
			}
			if strings.Contains(text, word) {
				t.Errorf("in the hall %q is in %s", word, where)
			}
		}
	}

	attic.kill()
	h.liar(attic, "older")
	kitchen.until("the older one is there", 30*time.Second, func() bool {
		for _, m := range kitchen.room().Members {
			if m.Version == 1 && len(m.Cards) == 1 {
				return true
			}
		}
		return false
	})
	out, err = ask("--to", "zed", "what is nineteen plus seventy")
	if err == nil && !strings.Contains(out, "nobody answers") || !strings.Contains(out, "older conch") || !strings.Contains(out, "upgrade") {
		t.Errorf("conch ask --to zed, who has an older conch: %v\n%s", err, out)
	}
	if s := attic.log.String(); strings.Contains(s, "nineteen") {
		t.Errorf("it has heard: %s", s)
	}
	if out, err := ask("--to", "ben", "what is two plus two"); err != nil || !strings.Contains(out, "4") {
		t.Errorf("after that: %v\n%s", err, out)
	}
}
