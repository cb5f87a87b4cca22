package turn

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestScripts replays testdata/*.txt: a line is a fact as parseFact reads it, or "wait 500ms", or "room" at the top; the
// lines below it, behind "->", are what was ordered, and are written by -update. A wait fires the deadlines in it.
func TestScripts(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) < 10 {
		t.Fatalf("%d scripts in testdata, %v; want at least 10", len(files), err)
	}
	for _, path := range files {
		if filepath.Base(path) == "cells.txt" {
			continue // TestTable writes it
		}
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txt"), func(t *testing.T) {
			src, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			golden(t, path, replay(t, string(src)))
		})
	}
}

func replay(t *testing.T, src string) string {
	b := newBench(t, Config{})
	var out strings.Builder
	for line := range strings.SplitSeq(strings.TrimRight(src, "\n"), "\n") {
		if strings.HasPrefix(line, "  ") {
			continue
		}
		out.WriteString(line + "\n")
		switch {
		case line == "" || strings.HasPrefix(line, "#"):
			continue
		case line == "room":
			b.m = New(filled(Config{Room: true}))
			continue
		}
		before := b.m.State()
		seen := func(s string) { fmt.Fprintf(&out, "  %v -> %s\n", b.now.Round(time.Millisecond), s) }
		if d, ok := strings.CutPrefix(line, "wait "); ok {
			w, err := time.ParseDuration(d)
			if err != nil {
				t.Fatal(err)
			}
			b.wait(w, seen)
		} else {
			ev, err := parseFact(line, b.now)
			if err != nil {
				t.Fatal(err)
			}
			for _, e := range b.feed(ev) {
				seen(show(e))
			}
		}
		if s := b.m.State(); s != before {
			fmt.Fprintf(&out, "  %v == %v\n", b.now.Round(time.Millisecond), s)
		}
	}
	return out.String()
}
