package device

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// A rule has its source beside it: TURNS.md 8.2, audio/FACTS.md 4. Every page that is cited is in the project, and has the section.
func TestCitationsResolve(t *testing.T) {
	cmd := exec.Command("git", "ls-files", "--cached", "--others", "--exclude-standard")
	cmd.Dir = ".."
	out, err := cmd.Output()
	if err != nil {
		t.Skipf("no list of files: git ls-files: %v", err)
	}
	files := strings.Fields(string(out))
	pages := map[string]string{}
	for _, f := range files {
		if strings.HasSuffix(f, ".md") {
			if text, err := os.ReadFile(filepath.Join("..", f)); err == nil {
				pages[f] = string(text)
			}
		}
	}
	cited := 0
	for _, f := range files {
		if !slices.Contains([]string{".go", ".h", ".c", ".sh", ".yml", ".toml", ".txt", ""}, filepath.Ext(f)) && filepath.Base(f) != "Makefile" || f == "device/citations_test.go" {
			continue
		}
		text, err := os.ReadFile(filepath.Join("..", f))
		if err != nil {
			continue // a link, or gone since
		}
		for i, line := range strings.Split(string(text), "\n") {
			for _, c := range citations.FindAllStringSubmatch(line, -1) {
				cited++
				if problem := unresolved(pages, c[1], c[2]); problem != "" {
					t.Errorf("%s:%d cites %s: %s", f, i+1, strings.TrimSpace(c[0]), problem)
				}
			}
		}
	}
	if cited < 100 {
		t.Errorf("%d citations found; is the pattern still right?", cited)
	}
}

// A page names the tests that hold what it says; they are there.
func TestPagesNameTestsThatExist(t *testing.T) {
	cmd := exec.Command("git", "grep", "-hoE", `^func (Test|Fuzz|Benchmark)[A-Za-z0-9_]+`, "--", "*_test.go")
	cmd.Dir = ".."
	out, err := cmd.Output()
	if err != nil {
		t.Skipf("no list of tests: git grep: %v", err)
	}
	there := map[string]bool{}
	for _, line := range strings.Fields(string(out)) {
		there[line] = true
	}
	cmd = exec.Command("git", "grep", "-noE", "`(Test|Fuzz|Benchmark)[A-Za-z0-9_]+`", "--", "*.md")
	cmd.Dir = ".."
	out, err = cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	for _, line := range lines {
		if name := strings.Trim(line[strings.LastIndex(line, ":")+1:], "`"); !there[name] {
			t.Errorf("%s: there is no such test", line)
		}
	}
	if len(lines) < 50 {
		t.Errorf("%d tests are named; is the pattern still right?", len(lines))
	}
}

var citations = regexp.MustCompile(`\b((?:[a-z]+/)*[A-Za-z]+\.md)\b(?: ([0-9]+(?:\.[0-9]+)?))?`)

// unresolved says why a page or its section is not there; empty: it is.
func unresolved(pages map[string]string, page, section string) string {
	var found []string
	for f := range pages {
		if f == page || strings.HasSuffix(f, "/"+page) {
			found = append(found, f)
		}
	}
	switch {
	case len(found) == 0:
		return "no such page is in the project"
	case len(found) > 1:
		return fmt.Sprintf("it may be any of %v", found)
	case section == "":
		return ""
	}
	main, sub, deep := strings.Cut(section, ".")
	in := ""
	for _, line := range strings.Split(pages[found[0]], "\n") {
		if m := heading.FindStringSubmatch(line); m != nil {
			if m[1] == section {
				return ""
			}
			in, _, _ = strings.Cut(m[1], ".")
			continue
		}
		if m := item.FindStringSubmatch(line); m != nil && deep && in == main && m[1] == sub {
			return ""
		}
	}
	return "it has no section " + section
}

var (
	heading = regexp.MustCompile(`^#+ ([0-9]+(?:\.[0-9]+)?)\.? `)
	item    = regexp.MustCompile(`^ *([0-9]+)\. `)
)

func TestCitationCheckCanFail(t *testing.T) {
	pages := map[string]string{"a/TURNS.md": "## 2. Two\n\n1. one\n2. two\n## 3. Three\n### 3.4 Four\n", "a/FACTS.md": "", "b/FACTS.md": ""}
	for citation, want := range map[string]string{
		"TURNS.md": "", "TURNS.md 2": "", "TURNS.md 2.2": "", "TURNS.md 3.4": "", "a/FACTS.md": "",
		"TURNS.md 4": "it has no section 4", "TURNS.md 2.3": "it has no section 2.3", "TURNS.md 3.1": "it has no section 3.1", "room.md 6": "no such page is in the project",
		"FACTS.md": "it may be any of",
	} {
		c := citations.FindStringSubmatch("// see " + citation + ", and more")
		if c == nil {
			t.Errorf("%s is not found", citation)
			continue
		}
		if got := unresolved(pages, c[1], c[2]); got != want && !(want == "it may be any of" && strings.HasPrefix(got, want)) {
			t.Errorf("%s: %q; want %q", citation, got, want)
		}
	}
}
