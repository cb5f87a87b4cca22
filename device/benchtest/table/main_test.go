package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"conch/device/benchtest"
)

// What benchmarks tell is in the table, and a broken promise, or none where there should be one, is status 1.
func TestStatus(t *testing.T) {
	whole := func(t *testing.T) {
		var lines []byte
		for _, name := range promising {
			lines = fmt.Appendf(lines, `{"benchmark":%q,"what":"x","bound":10,"figure":7.5,"unit":"ms"}`+"\n", name)
		}
		if err := os.WriteFile(os.Getenv("CONCH_BENCH_RESULTS"), lines, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		name   string
		tell   func(*testing.T)
		args   []string
		status int
		want   string
	}{
		{"kept", func(t *testing.T) {
			benchtest.Judge(t, benchtest.Figures{{MS: 7}}, benchtest.Stalls{}, benchtest.Promise{What: "silence", Bound: 8})
		}, nil, 0, "silence, max  8 ms   7 ms    1  0        kept"},
		{"only compared", func(t *testing.T) {
			benchtest.Report(t, benchtest.Result{What: "the library's default", Figure: 42, Unit: "ms", Note: "skipped: mpv is not here"})
		}, nil, 0, "skipped: mpv is not here"},
		{"broken", func(t *testing.T) {
			r, err := benchtest.Promise{What: "silence", Bound: 8, Share: 0.01}.Kept(benchtest.Figures{{MS: 9}}, benchtest.Stalls{})
			if err == nil {
				t.Error("9 is within 8")
			}
			benchtest.Report(t, r)
		}, nil, 1, "silence, p99  8 ms   9 ms    1  0        BROKEN"},
		{"nothing", func(*testing.T) {}, nil, 1, ""},
		{"not all of them", func(t *testing.T) {
			benchtest.AtMost(t, "gap", 7, 8, "ms", "")
		}, []string{"-all"}, 1, "MISSING"},
		{"all of them", whole, []string{"-all"}, 0, "RoomGap"},
		{"no such flag", whole, []string{"-some"}, 2, ""},
	} {
		path := filepath.Join(t.TempDir(), "results")
		t.Setenv("CONCH_BENCH_RESULTS", path)
		t.Run(c.name, c.tell)
		var out, errs bytes.Buffer
		status := run(append(c.args, path), &out, &errs)
		if status != c.status || !strings.Contains(out.String(), c.want) {
			t.Errorf("%s: status %d, want %d and %q\n%s%s", c.name, status, c.status, c.want, out.String(), errs.String())
		}
	}
}
