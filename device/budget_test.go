package device

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A package fits in a head: so many lines and files, without tests.
const (
	maxLines = 6000
	maxFiles = 40
)

// overBudget are the packages that are larger, and why. Their numbers only ever become smaller.
var overBudget = map[string]struct {
	lines, files int
	why          string
}{}

func TestPackagesFitInAHead(t *testing.T) {
	for _, p := range listed(t) {
		name := strings.TrimPrefix(p.ImportPath, module)
		lines, files := 0, 0
		for _, list := range [][]string{p.GoFiles, p.CgoFiles, p.IgnoredGoFiles} {
			for _, file := range list {
				if strings.HasSuffix(file, "_test.go") {
					continue
				}
				text, err := os.ReadFile(filepath.Join(p.Dir, file))
				if err != nil {
					t.Fatal(err)
				}
				files++
				lines += bytes.Count(text, []byte("\n"))
			}
		}
		if problem := budgetProblem(name, lines, files); problem != "" {
			t.Error(problem)
		}
	}
}

func budgetProblem(name string, lines, files int) string {
	most, over := overBudget[name]
	switch {
	case over && lines <= maxLines && files <= maxFiles:
		return fmt.Sprintf("%s: %d lines, %d files: it fits; take it out of overBudget", name, lines, files)
	case over && (lines > most.lines || files > most.files):
		return fmt.Sprintf("%s: %d lines in %d files, more than the %d in %d that it has had (%s)", name, lines, files, most.lines, most.files, most.why)
	case !over && (lines > maxLines || files > maxFiles):
		return fmt.Sprintf("%s: %d lines in %d files; a package has %d in %d at most: what in it is a concern of its own?", name, lines, files, maxLines, maxFiles)
	}
	return ""
}

func TestBudgetCanFail(t *testing.T) {
	for _, c := range []struct {
		name         string
		lines, files int
		ok           bool
	}{
		{"audio", maxLines, maxFiles, true}, {"audio", maxLines + 1, 1, false}, {"audio", 1, maxFiles + 1, false},
	} {
		if got := budgetProblem(c.name, c.lines, c.files); (got == "") != c.ok {
			t.Errorf("%s with %d lines in %d files: %q", c.name, c.lines, c.files, got)
		}
	}
}
