// Command testlog reads what go test -json says and prints what people want of it: a line a package, each skipped test with its own
// reason, all that failed tests said and nothing of those that passed, and at the very end which failed, or were running when the
// time was up. It ends with status 1 where something failed.
//
// testlog names and testlog packages print which tests are long (long.txt): a pattern for -run and -skip, and where they are.
package main

import (
	"bufio"
	_ "embed"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strings"
)

// listed are the tests that keep real time for some five seconds or more, a package and a test a line. What is not listed runs in
// make test: a line too few makes that longer, and loses no test.
//
//go:embed long.txt
var listed string

func main() {
	switch arg := strings.Join(os.Args[1:], " "); arg {
	case "names":
		fmt.Println(names(listed))
		return
	case "packages":
		fmt.Println(packages(listed))
		return
	}
	if !summarize(os.Stdin, os.Stdout) {
		os.Exit(1)
	}
}

// names is the pattern that go test takes for the listed tests.
func names(list string) string {
	var all []string
	for line := range strings.Lines(list) {
		_, test, _ := strings.Cut(strings.TrimSpace(line), " ")
		all = append(all, "^"+strings.ReplaceAll(test, "/", "$/^")+"$")
	}
	return strings.Join(all, "|")
}

// packages are those of the listed tests, each once.
func packages(list string) string {
	var all []string
	for line := range strings.Lines(list) {
		dir, _, _ := strings.Cut(line, " ")
		all = append(all, "./"+dir)
	}
	return strings.Join(slices.Compact(all), " ")
}

// event is a line of go test -json (go doc test2json); builds that fail have an ImportPath in place of a package.
type event struct {
	Action, Package, Test, Output, ImportPath string
}

type packageLog struct {
	order []string            // tests, as they began; "" is the package itself
	said  map[string][]string // what each has said and is not settled
	ended map[string]string   // how
}

// summarize prints the log, and says whether all is well.
func summarize(in io.Reader, out io.Writer) bool {
	logs := map[string]*packageLog{}
	var failed []string
	packages, skipped := 0, 0
	lines := bufio.NewReader(in)
	for {
		line, err := lines.ReadString('\n')
		if line == "" && err != nil {
			break
		}
		var e event
		if json.Unmarshal([]byte(line), &e) != nil || e.Action == "" {
			fmt.Fprint(out, line) // of the go command itself
			continue
		}
		if e.Action == "build-output" {
			fmt.Fprint(out, e.Output)
			continue
		}
		l := logs[e.Package]
		if l == nil {
			l = &packageLog{said: map[string][]string{}, ended: map[string]string{}}
			logs[e.Package] = l
		}
		switch e.Action {
		case "output":
			if _, known := l.said[e.Test]; !known {
				l.order = append(l.order, e.Test)
			}
			l.said[e.Test] = append(l.said[e.Test], e.Output)
			continue
		case "pass", "fail", "skip":
		default:
			continue
		}
		if e.Test != "" {
			l.ended[e.Test] = e.Action
			switch e.Action {
			case "skip":
				skipped++
				fmt.Fprintf(out, "  skipped: %s (%s)\n", e.Test, reason(l.said[e.Test]))
				l.said[e.Test] = nil
			case "pass":
				l.said[e.Test] = nil
			}
			continue
		}
		if e.Action == "fail" {
			packages++
			failed = append(failed, l.failure(out, e.Package)...)
		}
		for _, said := range l.said[""] {
			if verdict.MatchString(said) {
				fmt.Fprint(out, said)
			}
		}
		delete(logs, e.Package)
	}
	fmt.Fprintf(out, "%d packages failed, %d tests skipped\n", packages, skipped)
	for _, name := range failed {
		fmt.Fprintf(out, "  %s\n", name)
	}
	for name := range logs { // it did not come to an end
		fmt.Fprintf(out, "  %s did not end\n", name)
		packages++
	}
	return packages == 0
}

var (
	verdict = regexp.MustCompile(`^(ok|FAIL)\s`)
	where   = regexp.MustCompile(`^\s*\S+_test\.go:\d+: `)
	frame   = regexp.MustCompile(`^(=== (RUN|PAUSE|CONT|NAME)|\s*--- )`)
)

// reason is what a test said as it was skipped: its last words, from the line that has its place.
func reason(said []string) string {
	text := ""
	for _, line := range said {
		switch {
		case frame.MatchString(line):
		case where.MatchString(line):
			text = strings.TrimSpace(line)
		case text != "":
			text += " " + strings.TrimSpace(line)
		}
	}
	if text == "" {
		return "it does not say why"
	}
	return text
}

// failure prints what the failed tests of a package said, and what the package itself did, and returns their names.
func (l *packageLog) failure(out io.Writer, name string) (failed []string) {
	say := func(test string) {
		for _, line := range l.said[test] {
			if !verdict.MatchString(line) && !strings.HasPrefix(line, "=== ") {
				fmt.Fprint(out, line)
			}
		}
	}
	for _, test := range l.order {
		switch how, ended := l.ended[test]; {
		case test == "":
		case how == "fail":
			inner := func(other string) bool { return l.ended[other] == "fail" && strings.HasPrefix(other, test+"/") }
			if !slices.ContainsFunc(l.order, inner) {
				failed = append(failed, name+" "+test)
			}
			say(test)
		case !ended:
			failed = append(failed, name+" "+test+" (running when it ended)")
			say(test)
		}
	}
	say("")
	if len(failed) == 0 {
		failed = append(failed, name)
	}
	return failed
}
