package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

var update = flag.Bool("update", false, "write what conch says into the tables of testdata/wrong; read the diff")

// Each line of testdata/wrong/lines.txt that begins with $ is a command line with a mistake; below it stands what conch says of it.
// All are refused, and nothing is begun.
func TestWrongLines(t *testing.T) {
	t.Parallel()
	tried := wrongTable(t, "lines.txt", func(box *wrongBox, wrong string) string {
		return box.run(t, "-c", "exec "+strings.TrimPrefix(wrong, "$ "))
	})
	if tried < 60 {
		t.Errorf("%d command lines; want 60 or more", tried)
	}
}

// Each block of testdata/wrong/files.txt is a configuration with a mistake, and below -- what conch check says of it.
func TestWrongFiles(t *testing.T) {
	t.Parallel()
	tried := wrongTable(t, "files.txt", func(box *wrongBox, wrong string) string {
		if err := os.WriteFile(filepath.Join(box.dir, "conch.toml"), []byte(wrong), 0o600); err != nil {
			t.Fatal(err)
		}
		return box.run(t, "-c", "exec conch check --config conch.toml --changed")
	})
	if tried < 60 {
		t.Errorf("%d configurations; want 60 or more", tried)
	}
}

// wrongTable goes through a table: blocks with an empty line between them, the mistake above --, what is said of it below.
func wrongTable(t *testing.T, name string, say func(box *wrongBox, wrong string) string) (tried int) {
	t.Helper()
	path := filepath.Join("testdata/wrong", name)
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var written []string
	for i, block := range strings.Split(strings.TrimSpace(string(text)), "\n\n") {
		if strings.HasPrefix(block, "//") { // a remark
			written = append(written, block)
			continue
		}
		wrong, want, _ := strings.Cut(block+"\n", "--\n")
		tried++
		box := newWrongBox(t)
		got := strings.TrimSpace(say(box, wrong))
		if problem := unfit(got); problem != "" {
			t.Errorf("%s, block %d: %s:\n%s%s", name, i+1, problem, wrong, got)
		}
		if left := box.left(); left != "" {
			t.Errorf("%s, block %d: it was refused, and left %s behind:\n%s", name, i+1, left, wrong)
		}
		if want = strings.TrimSpace(want); got != want && !*update {
			t.Errorf("%s, block %d:\n%sis answered\n%s\nwant\n%s", name, i+1, wrong, got, want)
		}
		written = append(written, wrong+"--\n"+got)
	}
	if *update {
		if err := os.WriteFile(path, []byte(strings.Join(written, "\n\n")+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return tried
}

// wrongBox is a machine of its own, as far as conch sees: directories, nothing in the environment, no sound.
type wrongBox struct {
	dir     string
	environ []string
}

func newWrongBox(t *testing.T) *wrongBox {
	t.Helper()
	box := &wrongBox{dir: t.TempDir(), environ: []string{"PATH=" + os.Getenv("PATH"), "CONCH_AUDIO_BACKEND=null", "CONCH_DEVICE_NAME=box"}}
	for _, name := range []string{"HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_RUNTIME_DIR"} {
		path := filepath.Join(box.dir, name)
		if err := os.Mkdir(path, 0o700); err != nil {
			t.Fatal(err)
		}
		box.environ = append(box.environ, name+"="+path)
	}
	for name, text := range map[string]string{"broken.toml": "[audio\n", "key": "two\nlines\n", "words.txt": "these are no entries\n", "good.txt": "wait idle\n"} {
		if err := os.WriteFile(filepath.Join(box.dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(box.dir, "empty"), 0o700); err != nil {
		t.Fatal(err)
	}
	return box
}

// run has a shell run a line, and returns what is said; it has to be refused with status 2.
func (box *wrongBox) run(t *testing.T, args ...string) string {
	t.Helper()
	var out, errs bytes.Buffer
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second) // one that is not refused may never end
	defer cancel()
	cmd := exec.CommandContext(ctx, "sh", args...)
	cmd.WaitDelay = time.Second // of what the shell began
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = box.dir, box.environ, &out, &errs
	err := cmd.Run()
	exit := (*exec.ExitError)(nil)
	if !errors.As(err, &exit) || exit.ExitCode() != exitUsage {
		t.Errorf("%q: %v; want status %d\n%s%s", args, err, exitUsage, out.String(), errs.String())
	}
	if out.Len() > 0 && !strings.Contains(args[1], "conch check") { // which shows the rest all the same
		t.Errorf("%q is refused, and yet it says\n%s", args, out.String())
	}
	return strings.ReplaceAll(errs.String(), box.dir, "/BOX")
}

// left is what stands in the directories of the box that a refused command has no business in.
func (box *wrongBox) left() (names string) {
	for _, name := range []string{"HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_RUNTIME_DIR", "empty"} {
		_ = filepath.WalkDir(filepath.Join(box.dir, name), func(path string, _ fs.DirEntry, _ error) error {
			if path != filepath.Join(box.dir, name) {
				names += " " + path
			}
			return nil
		})
	}
	return names
}

// foreign are words of the language that conch is written in, and of its libraries: nothing for a person.
var foreign = regexp.MustCompile(`(?i)goroutine|panic|<nil>|%!|\b0x[0-9a-f]{6}|strconv|syntax error|invalid (syntax|character|map|argument)|unmarshal|(^|: )toml: |json: |yaml: |\bEOL\b|` +
	`\bint(64|32)?\b|float64|\[\]string|map\[|\bfork/exec\b|no such host|lookup |dial (tcp|udp|unix)|\blevenshtein|kong|net/url|parse "|unexpected token|basic string|bare key|` +
	`: (open|stat|lstat|read|mkdir|parse) /`)

// unfit says what is wrong with an answer; empty: nothing.
func unfit(answer string) string {
	switch {
	case answer == "":
		return "it says nothing"
	case foreign.MatchString(answer):
		return "that is for programmers: " + foreign.FindString(answer)
	}
	for line := range strings.Lines(answer) {
		line = strings.TrimSpace(line)
		switch {
		case !strings.HasPrefix(line, "conch: ") && !strings.HasPrefix(line, "config: "):
			return "a line that does not say whose it is: " + line
		case strings.Count(line, ": ") > 5:
			return "a chain of errors: " + line
		case len(line) > 420:
			return "more than one can read"
		}
	}
	return ""
}

func TestUnfitCanFail(t *testing.T) {
	for answer, unfitting := range map[string]bool{
		"conch: volume 101: must be 0 to 100": false, "": true, "volume": true, "conch: open /x: no": true, "conch: strconv.Atoi: parsing": true,
		"conch: a: b: c: d: e: f: g": true,
	} {
		if got := unfit(answer); (got != "") != unfitting {
			t.Errorf("%q: %q", answer, got)
		}
	}
}
