package web_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// read is a file of the page.
func read(t testing.TB, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("page", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// files are those of the page.
func files(t testing.TB) (names []string) {
	t.Helper()
	all, err := os.ReadDir("page")
	if err != nil || len(all) < 5 {
		t.Fatalf("%d files of the page: %v", len(all), err)
	}
	for _, f := range all {
		names = append(names, f.Name())
	}
	return names
}

// texts are the table of words.js.
func texts(t *testing.T) map[string]map[string]string {
	t.Helper()
	source := read(t, "words.js")
	begin, end := strings.Index(source, "export const words = "), strings.LastIndex(source, ";")
	if begin < 0 || end < begin {
		t.Fatal("words.js has no table")
	}
	var table map[string]map[string]string
	if err := json.Unmarshal([]byte(source[begin+len("export const words = "):end]), &table); err != nil {
		t.Fatalf("the table of words.js is no JSON: %v", err)
	}
	return table
}

var gap = regexp.MustCompile(`\{\w+\}`)

// gaps are the {gaps} of a text, each once.
func gaps(text string) []string {
	all := gap.FindAllString(text, -1)
	slices.Sort(all)
	return slices.Compact(all)
}

func TestEachLanguageHasEveryText(t *testing.T) {
	table := texts(t)
	for _, l := range []string{"en", "de", "es", "fr"} {
		if len(table[l]) == 0 {
			t.Fatalf("there is no table of %s", l)
		}
	}
	for l, own := range table {
		for key, text := range table["en"] {
			switch other, ok := own[key]; {
			case !ok:
				t.Errorf("%s: nobody has said %q (in English %q)", l, key, text)
			case strings.TrimSpace(other) == "":
				t.Errorf("%s: %q is empty", l, key)
			case !slices.Equal(gaps(text), gaps(other)):
				t.Errorf("%s: %q has the gaps %q; in English %q", l, key, gaps(other), gaps(text))
			}
		}
		for key := range own {
			if _, ok := table["en"][key]; !ok {
				t.Errorf("%s: %q is said in no other language", l, key)
			}
		}
	}
}

var (
	quoted = regexp.MustCompile(`'([a-zA-Z][\w.]*)'`)
	marked = regexp.MustCompile(`data-say(?:-[a-z-]+)?="([\w.]+)"`)
)

// What the page says is in the table, and what is in the table is said.
func TestEveryTextIsSaid(t *testing.T) {
	table := texts(t)["en"]
	said := map[string]bool{}
	all := ""
	for _, name := range files(t) {
		if name == "words.js" {
			continue
		}
		source := read(t, name)
		all += source
		for _, m := range marked.FindAllStringSubmatch(source, -1) {
			said[m[1]] = true
			if _, ok := table[m[1]]; !ok {
				t.Errorf("%s says %q, which is no text", name, m[1])
			}
		}
		for _, call := range regexp.MustCompile(`\bsay\('([\w.]+)'`).FindAllStringSubmatch(source, -1) {
			if _, ok := table[call[1]]; !ok {
				t.Errorf("%s says %q, which is no text", name, call[1])
			}
		}
		for _, m := range quoted.FindAllStringSubmatch(source, -1) {
			said[m[1]] = true
		}
	}
	for key := range table {
		family, _, many := strings.Cut(key, ".")
		if !said[key] && !(many && strings.Contains(all, "`"+family+".${")) {
			t.Errorf("nobody says %q", key)
		}
	}
}

func TestThePageIsLight(t *testing.T) {
	sum := 0
	for _, name := range files(t) {
		sum += len(read(t, name))
	}
	t.Logf("%d files, %d bytes", len(files(t)), sum)
	if sum >= 150_000 {
		t.Errorf("the page is %d bytes; less than 150,000", sum)
	}
}

// What would make markup or a program of a text, or fetch something from elsewhere, is not in the page at all. The policy that the server
// sends forbids it too.
func TestThePageMakesNoMarkupOfText(t *testing.T) {
	forbidden := regexp.MustCompile(`innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function|setHTML|srcdoc|DOMParser|createContextualFragment|javascript:|\.src\s*=|import\(`)
	elsewhere := regexp.MustCompile(`(?i)(?:https?:)?//[a-z0-9-]+\.[a-z]`)
	inline := regexp.MustCompile(`(?i)<[^>]+\s(?:style|on\w+)\s*=|<script>|<style`)
	for _, name := range files(t) {
		for i, line := range strings.Split(read(t, name), "\n") {
			line = strings.ReplaceAll(line, "http://www.w3.org/2000/svg", "")
			if m := forbidden.FindString(line); m != "" {
				t.Errorf("%s:%d: %s", name, i+1, m)
			}
			if m := elsewhere.FindString(line); m != "" {
				t.Errorf("%s:%d: goes elsewhere: %s", name, i+1, m)
			}
			if m := inline.FindString(line); m != "" && strings.HasSuffix(name, ".html") {
				t.Errorf("%s:%d: the policy allows no %s", name, i+1, m)
			}
		}
	}
}
