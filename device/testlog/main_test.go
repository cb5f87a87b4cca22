package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// told makes a log of lines "action test output".
func told(t *testing.T, lines ...string) string {
	t.Helper()
	var b strings.Builder
	for _, line := range lines {
		action, rest, _ := strings.Cut(line, " ")
		test, output, _ := strings.Cut(rest, " ")
		if test == "-" {
			test = ""
		}
		e := map[string]string{"Action": action, "Package": "conch/p", "Test": test}
		if action == "output" {
			e["Output"] = output + "\n"
		}
		data, err := json.Marshal(e)
		if err != nil {
			t.Fatal(err)
		}
		b.Write(append(data, '\n'))
	}
	return b.String()
}

func TestWhatPeopleWantOfALog(t *testing.T) {
	for name, c := range map[string]struct {
		in   string
		want string
		ok   bool
	}{
		"all is well": {told(t, "output TestA hello", "pass TestA", "output - ok  \tconch/p\t1s", "pass -"), "ok  \tconch/p\t1s\n0 packages failed, 0 tests skipped\n", true},
		"each skip has its own reason": {told(t, "output TestA === RUN   TestA", "output TestB/x     b_test.go:3: no card", "output TestA     a_test.go:7: no root:", "output TestA     run as root",
			"skip TestB/x", "skip TestA", "skip TestC", "pass TestB", "output - ok  \tconch/p\t1s", "pass -"),
			"  skipped: TestB/x (b_test.go:3: no card)\n  skipped: TestA (a_test.go:7: no root: run as root)\n  skipped: TestC (it does not say why)\nok  \tconch/p\t1s\n0 packages failed, 3 tests skipped\n", true},
		"only what failed is told": {told(t, "output TestA loud", "output TestB/x     b_test.go:3: 2; want 1", "output TestB/x --- FAIL: TestB/x", "output TestB --- FAIL: TestB", "pass TestA", "fail TestB/x", "fail TestB",
			"output - FAIL\tconch/p\t1s", "fail -"), "    b_test.go:3: 2; want 1\n--- FAIL: TestB/x\n--- FAIL: TestB\nFAIL\tconch/p\t1s\n1 packages failed, 0 tests skipped\n  conch/p TestB/x\n", false},
		"the time was up": {told(t, "output TestA waiting", "output TestB done", "pass TestB", "output - panic: test timed out", "output - FAIL\tconch/p\t600s", "fail -"),
			"waiting\npanic: test timed out\nFAIL\tconch/p\t600s\n1 packages failed, 0 tests skipped\n  conch/p TestA (running when it ended)\n", false},
		"it cannot be built": {`{"ImportPath":"conch/p","Action":"build-output","Output":"p.go:1: undefined: x\n"}` + "\n" + told(t, "output - FAIL\tconch/p [build failed]", "fail -"),
			"p.go:1: undefined: x\nFAIL\tconch/p [build failed]\n1 packages failed, 0 tests skipped\n  conch/p\n", false},
		"it is cut off":              {told(t, "output TestA x"), "0 packages failed, 0 tests skipped\n  conch/p did not end\n", false},
		"the go command has a word":  {"go: no such tool\n", "go: no such tool\n0 packages failed, 0 tests skipped\n", true},
		"a package without any test": {told(t, "output - ?   \tconch/p\t[no test files]", "skip -"), "0 packages failed, 0 tests skipped\n", true},
	} {
		var out strings.Builder
		if ok := summarize(strings.NewReader(c.in), &out); ok != c.ok || out.String() != c.want {
			t.Errorf("%s: %v\n got %q\nwant %q", name, ok, out.String(), c.want)
		}
	}
}

// A test that was renamed would run in make test again, and its line would name nothing.
func TestEachLongTestIsThere(t *testing.T) {
	for line := range strings.Lines(listed) {
		dir, test, _ := strings.Cut(strings.TrimSpace(line), " ")
		files, err := filepath.Glob(filepath.Join("../..", dir, "*_test.go"))
		if err != nil {
			t.Fatal(err)
		}
		top, story, _ := strings.Cut(test, "/")
		found := false
		for _, name := range files {
			text, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			found = found || strings.Contains(string(text), "\nfunc "+top+"(")
		}
		if story != "" {
			scripts, err := filepath.Glob(filepath.Join("../..", dir, "testdata", "*", story+".txtar"))
			_, missing := os.Stat(filepath.Join("../..", dir, "testdata", story+".txtar"))
			found = found && (len(scripts) > 0 && err == nil || missing == nil)
		}
		if !found {
			t.Errorf("long.txt: %s has no %s", dir, test)
		}
	}
}

func TestNamesOfLongTests(t *testing.T) {
	const list = "a/b TestOne\na/b TestTwo/part\nc TestThree\n"
	if got := names(list); got != "^TestOne$|^TestTwo$/^part$|^TestThree$" {
		t.Error(got)
	}
	if got := packages(list); got != "./a/b ./c" {
		t.Error(got)
	}
}
