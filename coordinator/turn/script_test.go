package turn

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
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

// The scripts have tools return in an order that somebody wrote down. Each is played again with the returns of a response in
// other orders, none before its call, and leaves the same behind: what plays, the volume, and an answer to every call.
func TestScriptsInWhateverOrderToolsReturn(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	files, _ := filepath.Glob("testdata/*.txt")
	others := 0
	for _, path := range files {
		src, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		var lines []string
		called, returns := map[string]int{}, map[string][]int{} // line of each call; lines of the returns of each response
		for line := range strings.SplitSeq(string(src), "\n") {
			f := strings.Fields(line)
			if line == "" || strings.HasPrefix(line, " ") || strings.HasPrefix(line, "#") || filepath.Base(path) == "cells.txt" {
				continue
			}
			switch f[0] {
			case "tool-called":
				called[f[3]] = len(lines)
			case "tool-returned":
				response := strings.Fields(lines[called[f[2]]])[2]
				returns[response] = append(returns[response], len(lines))
			}
			lines = append(lines, line)
		}
		want := left(t, lines)
		for range 20 {
			shuffled := clone(lines)
			for _, response := range slices.Sorted(maps.Keys(returns)) { // the seed alone decides
				at := returns[response]
				for i, from := range r.Perm(len(at)) {
					shuffled[at[i]] = lines[at[from]]
				}
			}
			early := slices.ContainsFunc(slices.Concat(slices.Collect(maps.Values(returns))...), func(i int) bool { return called[strings.Fields(shuffled[i])[2]] > i })
			if early || slices.Equal(shuffled, lines) {
				continue
			}
			others++
			if got := left(t, shuffled); got != want {
				t.Errorf("%s, played as\n\t%s\nleaves\n\t%s\nas written\n\t%s", path, strings.Join(shuffled, "\n\t"), got, want)
				break
			}
		}
	}
	if others < 20 {
		t.Errorf("only %d other orders: too tame", others)
	}
}

// left is what a script leaves behind.
func left(t *testing.T, lines []string) string {
	b := newBench(t, Config{})
	for _, line := range lines {
		if line == "room" {
			b.m = New(filled(Config{Room: true}))
			continue
		}
		b.run(line)
	}
	var answers []string
	for _, e := range b.out {
		if e, ok := e.(SendToolOutput); ok {
			answers = append(answers, show(e))
		}
	}
	slices.Sort(answers)
	return fmt.Sprintf("%+v, %v, %q", leftBy(b.out), b.m.State(), answers)
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
