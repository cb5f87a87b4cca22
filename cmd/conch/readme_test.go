package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/alecthomas/kong"

	"conch/device/config"
)

// Each command that the README names is one, with its flags; each line of configuration is taken.
func TestTheReadmeIsTrue(t *testing.T) {
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	commands, settings := 0, 0
	setting := regexp.MustCompile(`^([a-z]+)\.([a-z_]+ = .+)$`)
	for _, m := range regexp.MustCompile("`([^`\n]+)`").FindAllStringSubmatch(string(readme), -1) {
		words := strings.TrimPrefix(m[1], "sudo ")
		switch line := setting.FindStringSubmatch(words); {
		case strings.HasPrefix(words, "conch ") && !strings.Contains(words, "…"):
			commands++
			k, err := kong.New(&cli{}, kong.Name("conch"), kong.Exit(func(int) {}))
			if err != nil {
				t.Fatal(err)
			}
			if _, err := k.Parse(fields(words)[1:]); err != nil {
				t.Errorf("%s: %v", words, err)
			}
		case line != nil:
			settings++
			file := filepath.Join(t.TempDir(), "conch.toml")
			if err := os.WriteFile(file, []byte(words+"\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			if _, err := config.Load(config.LoadOptions{File: file, Environ: []string{}}); err != nil {
				t.Errorf("%s: %v", words, err)
			}
		}
	}
	if commands < 20 || settings < 8 {
		t.Errorf("only %d commands and %d settings were found", commands, settings)
	}
}

// fields are the words of a command line; what stands in quotes is one.
func fields(line string) (all []string) {
	for i, part := range strings.Split(line, `"`) {
		if i%2 == 1 {
			all = append(all, part)
		} else {
			all = append(all, strings.Fields(part)...)
		}
	}
	return all
}
