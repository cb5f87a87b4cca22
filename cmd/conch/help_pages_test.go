package main

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/alecthomas/kong"
)

// A page that a command's help names is there.
func TestHelpNamesPagesThatAreThere(t *testing.T) {
	k, err := kong.New(&cli{}, kong.Name("conch"))
	if err != nil {
		t.Fatal(err)
	}
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	named := 0
	page, chapter := regexp.MustCompile(`[\w/]+\.md\b`), regexp.MustCompile(`README, ([A-Z][\w ]*)`)
	look := func(of, text string) {
		for _, path := range page.FindAllString(text, -1) {
			named++
			if _, err := os.Stat(filepath.Join("../..", path)); err != nil {
				t.Errorf("%s: %v", of, err)
			}
		}
		for _, m := range chapter.FindAllStringSubmatch(text, -1) {
			if !regexp.MustCompile(`(?m)^#+ ` + m[1] + `$`).Match(readme) {
				t.Errorf("%s: the README has no chapter %q", of, m[1])
			}
		}
	}
	err = kong.Visit(k.Model, func(v kong.Visitable, next kong.Next) error {
		switch n := v.(type) {
		case *kong.Application:
			look("conch", n.Help+n.Detail)
		case *kong.Node:
			look(n.Path(), n.Help+n.Detail)
		case *kong.Flag:
			look("--"+n.Name, n.Help)
		case *kong.Value:
			look(n.Name, n.Help)
		}
		return next(nil)
	})
	if err != nil || named == 0 {
		t.Errorf("%d pages: %v", named, err)
	}
}
