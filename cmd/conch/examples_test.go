package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/alecthomas/kong"
)

// Every command has examples, every example is about the command that it stands at, and the parser takes it.
func TestExamplesParse(t *testing.T) {
	all := places(model(t).Node, "conch", nil)
	for _, p := range all {
		if len(examples[p.path]) == 0 {
			t.Errorf("%s has no example", p.path)
		}
	}
	for path, list := range examples {
		if !slices.ContainsFunc(all, func(p place) bool { return p.path == path }) {
			t.Errorf("there is no %s", path)
		}
		for _, x := range list {
			line := "conch" + strings.SplitN(x.line, "conch", 2)[1]
			if line != path && !strings.HasPrefix(line, path+" ") {
				t.Errorf("%s: %q is about something else", path, x.line)
			}
			p, err := parser(&cli{}, kong.Exit(func(int) {}))
			if err == nil {
				_, err = p.Parse(quieter(shellWords(line)[1:]))
			}
			if err != nil {
				t.Errorf("%q: %v", x.line, err)
			}
		}
	}
}

// shellWords are the words of a line; those in quotes are one.
func shellWords(line string) (words []string) {
	for i, part := range strings.Split(line, `"`) {
		if i%2 == 1 {
			words = append(words, part)
		} else {
			words = append(words, strings.Fields(part)...)
		}
	}
	return words
}

// harmful are examples that cannot run here, and why.
var harmful = map[string]string{
	"conch run":                          "never ends",
	"conch run --set audio.backend=null": "never ends",
	"sudo conch setup":                   "root's",
	"sudo conch setup voice":             "root's",
	"sudo conch setup pin":               "waits for a finger",
	"sudo conch setup --yes --board whisplay --key-file key.txt": "root's",
	"sudo conch audio pick":                     "needs a sound card",
	"sudo conch key":                            "root's",
	"sudo conch key --remove":                   "root's",
	"conch logs -f":                             "never ends",
	"conch audio test":                          "needs a sound card",
	"conch gpio learn":                          "waits for a finger",
	"sudo conch gpio learn":                     "waits for a finger",
	"conch gpio learn --print":                  "waits for a finger",
	"conch light show speaking":                 "needs a light",
	"conch light show muted":                    "needs a light",
	"conch light show all --seconds 1":          "needs a light",
	"conch room list":                           "needs a room",
	"conch room list --json":                    "needs a room",
	"conch room pair":                           "waits for another device",
	"conch room join 123456":                    "looks for another device",
	"conch room join":                           "looks for another device",
	"conch room remove hall":                    "asks",
	"conch room remove hall --yes":              "needs a room",
	"conch room rename hall \"living room\"":    "needs a room",
	"conch room keep":                           "asks",
	"conch room leave":                          "asks",
	"conch room watch":                          "never ends",
	"conch room control low":                    "needs a room",
	"conch room control --companion Ben --mute": "needs a room",
	"conch web sessions revoke k3xq7a2b":        "needs that session",
	"conch notes --forget ada/3":                "needs that note",
	"conch room people":                         "needs a room",
	"conch room people --forget Max":            "needs a room",
	"conch room replay /var/lib/conch":          "needs a ledger there",
	"conch room acl":                            "needs members",
	"conch rehearse":                            "waits for questions",
	"conch rehearse --script room.txt --json":   "needs that file",
	"conch bench silence":                       "needs a sound card",
	"conch bench footprint --idle 2s --talk 2s": "takes its time; footprint.txtar runs it",
	"conch ask --to Ada tell me a story":        "needs a room",
	"conch doctor":                              "its status is what is wrong here; doctor.txtar",
	"conch doctor --anonymous":                  "its status is what is wrong here; doctor.txtar",
}

// What can run is run, beside an appliance with the rehearsal voice.
func TestExamplesRun(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	environ := append(os.Environ(), "CONCH_AUDIO_BACKEND=null", "CONCH_BUTTON_SOURCE=lines", "OPENAI_API_KEY=")
	for _, name := range []string{"HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_RUNTIME_DIR"} {
		path := filepath.Join(dir, name)
		if err := os.Mkdir(path, 0o700); err != nil {
			t.Fatal(err)
		}
		environ = append(environ, name+"="+path)
	}
	ctx, end := context.WithCancel(t.Context())
	appliance := exec.CommandContext(ctx, "conch", "run")
	appliance.Env = environ
	in, err := appliance.StdinPipe() // held open: its end would be the end
	if err != nil || appliance.Start() != nil {
		t.Fatal("conch run does not start")
	}
	t.Cleanup(func() { end(); in.Close(); _ = appliance.Wait() })
	socket := filepath.Join(dir, "XDG_RUNTIME_DIR/conch/control.sock")
	if !soon(func() bool { _, err := os.Stat(socket); return err == nil }) {
		t.Fatal("no appliance")
	}
	for path, list := range examples {
		for _, x := range list {
			if harmful[x.line] != "" {
				continue
			}
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			cmd := exec.CommandContext(ctx, "sh", "-c", x.line)
			cmd.Env, cmd.Dir = environ, dir    // where a report is left
			if strings.Contains(x.line, "|") { // an appliance of its own
				cmd.Env = append(slices.Clone(environ), "CONCH_STATE_RUNTIME="+t.TempDir(), "CONCH_STATE_DIR="+t.TempDir())
			}
			out, err := cmd.CombinedOutput()
			if cancel(); err != nil || len(out) == 0 {
				t.Errorf("%s: %q: %v\n%s", path, x.line, err, out)
			}
		}
	}
	for line := range harmful {
		if !slices.ContainsFunc(slices.Collect(allExamples), func(s string) bool { return s == line }) {
			t.Errorf("harmful has %q, which is no example", line)
		}
	}
}

func allExamples(yield func(string) bool) {
	for _, list := range examples {
		for _, x := range list {
			if !yield(x.line) {
				return
			}
		}
	}
}

// Help fits a terminal of 40 columns, whichever command it is about.
func TestHelpIsNarrow(t *testing.T) {
	for _, p := range places(model(t).Node, "conch", nil) {
		for _, width := range []int{40, 80} {
			var b strings.Builder
			if err := writeHelp(&b, model(t), p.node, width); err != nil {
				t.Fatal(err)
			}
			for line := range strings.Lines(b.String()) {
				if n := len([]rune(strings.TrimRight(line, "\n"))); n > width && strings.Contains(strings.TrimSpace(line), " ") && !isExample(line) {
					t.Errorf("%s: %d columns of %d: %s", p.path, n, width, fmt.Sprintf("%q", line))
				}
			}
		}
	}
}

// isExample: a line to be copied is not folded.
func isExample(line string) bool {
	return slices.Contains(slices.Collect(allExamples), strings.TrimSpace(line)) || strings.HasPrefix(line, "Usage: ")
}
