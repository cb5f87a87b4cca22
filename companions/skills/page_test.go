package skills

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// What an author reads is right: the signatures are those of the source, and the skill compiles and plays, as it stands on the page.
func TestTheSkillOfThePage(t *testing.T) {
	b, err := os.ReadFile("SKILLS.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(b), "\n## 5. ")
	section, _, _ = strings.Cut(section, "\n## ")
	if n := len(strings.Fields(section)); n > 1000 {
		t.Errorf("it has %d words; nobody reads more than 1000", n)
	}
	var blocks []string
	for _, block := range strings.Split(section, "\n```go\n")[1:] {
		block, _, _ = strings.Cut(block, "\n```")
		blocks = append(blocks, block+"\n")
	}
	if len(blocks) != 2 {
		t.Fatalf("%d blocks of Go", len(blocks))
	}
	source, err := os.ReadFile("skill.go")
	if err != nil {
		t.Fatal(err)
	}
	have := map[string]bool{}
	for line := range strings.Lines(string(source)) {
		code, _, _ := strings.Cut(line, "//")
		have[strings.Join(strings.Fields(code), " ")] = true
	}
	for line := range strings.Lines(blocks[0]) {
		if line = strings.Join(strings.Fields(line), " "); !have[line] {
			t.Errorf("the source has no %q", line)
		}
	}
	if n := strings.Count(blocks[1], "\n"); n > 80 {
		t.Errorf("it has %d lines; want 80 at most", n)
	}
	dir := t.TempDir()
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	test, err := os.ReadFile("testdata/waves_test.go.txt")
	if err != nil {
		t.Fatal(err)
	}
	replace := map[string]string{} // where the files seem to be
	for name, text := range map[string]string{"waves.go": blocks[1], "waves_test.go": string(test)} {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		replace[filepath.Join(here, "waves", name)] = path
	}
	overlay, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		t.Fatal(err)
	}
	list := filepath.Join(dir, "overlay.json")
	if err := os.WriteFile(list, overlay, 0o600); err != nil {
		t.Fatal(err)
	}
	binary := filepath.Join(dir, "waves.test")
	for _, args := range [][]string{{"go", "test", "-c", "-vet=off", "-o", binary, "-overlay", list, "./waves"}, {binary}} {
		if out, err := exec.CommandContext(t.Context(), args[0], args[1:]...).CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	if out, err := exec.CommandContext(t.Context(), "gofmt", "-l", dir).CombinedOutput(); err != nil || len(out) > 0 {
		t.Errorf("gofmt: %v\n%s", err, out)
	}
}
