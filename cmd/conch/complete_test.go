package main

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"conch/device/config"
)

// Names of devices and companions come from the appliance that runs, values of settings from conch. What a name has in it that is special to
// the shell stays a name: bash is tried at a terminal, where it says how it would be written.
func TestShellsCompleteValues(t *testing.T) {
	t.Parallel()
	const hostile = "Küche $(touch pwned)"
	a := newAppliance(t, hostile, "Ada, Ben")
	dir := t.TempDir()
	t.Cleanup(func() { // after all of them
		if _, err := os.Stat(filepath.Join(dir, "pwned")); err == nil {
			t.Error("a name was carried out")
		}
	})
	script := func(t *testing.T, shell, begins string) string {
		t.Helper()
		text, status := a.conch(t, "completion", shell)
		file := filepath.Join(dir, shell)
		if err := os.WriteFile(file, []byte(begins+text), 0o600); err != nil || status != 0 {
			t.Fatal(text, err)
		}
		return file
	}
	t.Run("bash", func(t *testing.T) {
		t.Parallel()
		rc := script(t, "bash", "PS1='sh> '\n")
		p := sitWith(t, func(c *exec.Cmd) {
			c.Path, _ = exec.LookPath("bash")
			c.Args, c.Dir, c.Stderr = []string{"bash", "--noprofile", "--rcfile", rc, "-i"}, dir, c.Stdout
			c.Env = slices.Concat(a.env, []string{"TERM=dumb", "INPUTRC=/dev/null", "LC_ALL=C.UTF-8"})
		})
		p.sees(`^sh>$`)
		for _, line := range []struct{ typed, shown string }{
			{`conch room remove K`, `conch room remove Küche\ \$\(touch\ pwned\)`},
			{`conch room remove "K`, `conch room remove "Küche \$(touch pwned)"`},
			{`conch room remove Küche\ `, `conch room remove Küche\ \$\(touch\ pwned\)`},
			{`conch ask --to=Be`, `conch ask --to=Ben`},
			{`conch --set voice.name=shim`, `conch --set voice.name=shimmer`},
		} {
			p.looksAnew()
			want := `^sh> ` + regexp.QuoteMeta(line.shown) + `$`
			if !soon(func() bool { // nothing is offered where this machine is too busy to answer in time
				p.types("\x15" + line.typed + "\t")
				for range 40 {
					if p.waits(100 * time.Millisecond); p.shows(want) {
						return true
					}
				}
				return false
			}) {
				t.Fatalf("after %q it never showed %q", line.typed, want)
			}
		}
		p.types("\x15exit\r")
		if err := p.program.Wait(); err != nil {
			t.Error(err)
		}
	})
	values := []offer{
		{"conch room remove K", []string{hostile}},
		{"conch ask --to Be", []string{"Ben"}},
		{"conch room control -w B", []string{"Ben"}},
		{"conch --set device.language=f", []string{"device.language=fr"}},
		{"conch --set device.companion=B", []string{"device.companion=Ben"}},
	}
	for _, shell := range []struct {
		name string
		ask  func(file, line string) []string
	}{
		{"zsh", func(file, line string) []string {
			return slices.Concat([]string{"-f", "-c", zshOffers, "zsh", file}, strings.Split(line, " "))
		}},
		{"fish", func(file, line string) []string {
			return []string{"--no-config", "-c", `source $argv[1]; complete -C $argv[2]`, file, line}
		}},
	} {
		t.Run(shell.name, func(t *testing.T) {
			t.Parallel()
			need(t, shell.name)
			file := script(t, shell.name, "")
			for _, v := range values {
				c := exec.Command(shell.name, shell.ask(file, v.line)...)
				c.Env, c.Dir = slices.Concat(a.env, []string{"LC_ALL=C.UTF-8"}), dir
				compare(t, v.line, v.want, c)
			}
		})
	}
}

// Who presses Tab does not wait for an appliance that has stopped, and reads no error where none runs.
func TestCompletionDoesNotWait(t *testing.T) {
	t.Parallel()
	dir, err := os.MkdirTemp("", "conch") // a socket's path is short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	complete := func(what string) string {
		c := exec.CommandContext(t.Context(), "conch", "complete", what)
		c.Env = []string{"HOME=" + dir, "XDG_CONFIG_HOME=" + dir, "XDG_STATE_HOME=" + dir, "CONCH_STATE_RUNTIME=" + dir, "CONCH_AUDIO_BACKEND=null"}
		out, err := c.CombinedOutput()
		if err != nil {
			t.Errorf("complete %s: %v: %s", what, err, out)
		}
		return strings.TrimSpace(string(out))
	}
	if devices, companions := complete("devices"), complete("companions"); devices != "" || companions != "Ada" {
		t.Errorf("where nothing runs the devices are %q and the companions %q; want none, and Ada's card", devices, companions)
	}
	l, err := net.Listen("unix", config.State{Runtime: dir}.Socket()) // connects, and nobody answers
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if out := complete("devices"); out != "" { // or it ends with the test
		t.Errorf("of one that does not answer: %q", out)
	}
}
