package benchtest

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"testing"
	"text/tabwriter"
)

// resultsEnv names the file to which benchmarks append what became of their promises, a line of JSON each; without it they only
// print it. make bench sets it, and has device/benchtest/report read the file.
const resultsEnv = "CONCH_BENCH_RESULTS"

// Result is what became of a promise, or a row to compare with, for which nothing is promised.
type Result struct {
	Benchmark string  `json:"benchmark"`
	What      string  `json:"what"`
	Bound     float64 `json:"bound,omitempty"` // 0: nothing is promised
	Figure    float64 `json:"figure"`
	Unit      string  `json:"unit"`
	N         int     `json:"n,omitempty"`
	Excused   int     `json:"excused,omitempty"` // beyond the bound, in a stall of the machine
	Broken    bool    `json:"broken,omitempty"`
	Note      string  `json:"note,omitempty"`
	Strip     *Strip  `json:"strip,omitempty"` // for the picture alone
}

// Report has a benchmark's result stand in the table.
func Report(tb testing.TB, r Result) {
	tb.Helper()
	path := os.Getenv(resultsEnv)
	if path == "" {
		return
	}
	r.Benchmark = strings.TrimPrefix(tb.Name(), "Benchmark")
	line, err := json.Marshal(r)
	if err != nil { // a figure that is no number
		tb.Fatalf("benchtest: %s: %v", r.What, err)
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if err == nil {
		_, err = f.Write(append(line, '\n'))
		err = errors.Join(err, f.Close())
	}
	if err != nil {
		tb.Fatalf("benchtest: %v", err)
	}
}

// Results are those of a run.
func Results(r io.Reader) (all []Result, err error) {
	sc := bufio.NewScanner(r)
	sc.Buffer(nil, 1<<20)
	for sc.Scan() {
		var x Result
		if err := json.Unmarshal(sc.Bytes(), &x); err != nil {
			return nil, fmt.Errorf("benchtest: %q: %w", sc.Text(), err)
		}
		all = append(all, x)
	}
	return all, sc.Err()
}

// Table prints the results in the order of the benchmarks that must have one, and returns how many promises are broken. A benchmark
// that has told nothing has not kept its promise.
func Table(w io.Writer, all []Result, must []string) (broken int) {
	var text bytes.Buffer
	t := tabwriter.NewWriter(&text, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "benchmark\tpromise\tbound\tfigure\tn\texcused\t\t")
	all = slices.DeleteFunc(slices.Clone(all), func(r Result) bool { return r.Strip != nil })
	row := func(r Result) {
		verdict, bound := "kept", fmt.Sprintf("%.4g %s", r.Bound, r.Unit)
		switch {
		case r.Broken:
			verdict = "BROKEN"
			broken++
		case r.Bound == 0:
			verdict, bound = "-", "-"
		case r.Figure > r.Bound:
			verdict = "kept, but for stalls"
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%.4g %s\t%d\t%d\t%s\t%s\n", r.Benchmark, r.What, bound, r.Figure, r.Unit, r.N, r.Excused, verdict, r.Note)
	}
	rest := all
	for _, name := range must {
		var others []Result
		for _, r := range rest {
			if r.Benchmark == name {
				row(r)
			} else {
				others = append(others, r)
			}
		}
		if len(others) == len(rest) {
			fmt.Fprintf(t, "%s\t(it told nothing)\t\t\t\t\tMISSING\t\n", name)
			broken++
		}
		rest = others
	}
	for _, r := range rest {
		row(r)
	}
	_ = t.Flush() // to memory
	for line := range strings.Lines(text.String()) {
		fmt.Fprintln(w, strings.TrimRight(line, " \n"))
	}
	return broken
}
