package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// desk is a terminal with conch in it, and the person before it.
type desk struct {
	ctx    context.Context
	binary string
	dir    string // home, state and the socket of tmux
	env    []string
}

// open sits down. Nothing of this machine's own configuration is seen.
func open(ctx context.Context, binary string, s situation) (*desk, error) {
	dir, err := os.MkdirTemp("", "conch-screens-")
	if err != nil {
		return nil, err
	}
	t := &desk{ctx: ctx, binary: binary, dir: dir}
	t.env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "XDG_STATE_HOME=" + dir + "/state", "XDG_RUNTIME_DIR=" + dir, "XDG_CONFIG_HOME=" + dir,
		"CONCH_AUDIO_BACKEND=null", "TERM=xterm-256color", "PS1=$ ", "LANG=C.UTF-8"}
	t.env = append(t.env, s.env...)
	conf := "set -g default-terminal tmux-256color\nset -g status off\nset -sg escape-time 0\nset -g default-shell /bin/sh\n"
	if err := os.WriteFile(filepath.Join(dir, "tmux.conf"), []byte(conf), 0o600); err != nil {
		return nil, err
	}
	height := s.height
	if height == 0 {
		height = 16
	}
	command := "exec " + t.line(s.args)
	if s.shell {
		command = "exec /bin/sh -i"
	}
	if _, err := t.tmux("-f", filepath.Join(dir, "tmux.conf"), "new-session", "-d", "-x", strconv.Itoa(s.width), "-y", strconv.Itoa(height), command); err != nil {
		t.close()
		return nil, err
	}
	return t, nil
}

func (t *desk) line(args []string) string {
	quoted := []string{t.binary}
	for _, a := range args {
		quoted = append(quoted, "'"+strings.ReplaceAll(a, "'", `'\''`)+"'")
	}
	return strings.Join(quoted, " ")
}

func (t *desk) tmux(args ...string) (string, error) {
	c := exec.CommandContext(t.ctx, "tmux", append([]string{"-u", "-S", filepath.Join(t.dir, "tmux")}, args...)...)
	c.Env = t.env
	out, err := c.CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("tmux %s: %w: %s", strings.Join(args, " "), err, out)
	}
	return string(out), nil
}

func (t *desk) close() {
	_, _ = t.tmux("kill-server")
	_ = os.RemoveAll(t.dir)
}

// look is what stands on the screen.
func (t *desk) look() (screen, error) {
	head, err := t.tmux("display-message", "-p", "#{pane_width} #{pane_height} #{cursor_x} #{cursor_y} #{cursor_flag}")
	if err != nil {
		return screen{}, err
	}
	var s screen
	var height, visible int
	if _, err := fmt.Sscan(head, &s.width, &height, &s.at.x, &s.at.y, &visible); err != nil {
		return screen{}, fmt.Errorf("tmux says %q: %w", head, err)
	}
	text, err := t.tmux("capture-pane", "-e", "-p")
	if err != nil {
		return screen{}, err
	}
	drawn := look{colour: -1}
	for line := range strings.Lines(text) {
		var r row
		r, drawn = parse(strings.TrimSuffix(line, "\n"), drawn)
		s.rows = append(s.rows, r)
	}
	return s, nil
}

// A step is what a person does or waits for.
type step func(*desk) error

// types types text as it is.
func types(text string) step {
	return func(t *desk) error {
		_, err := t.tmux("send-keys", "-l", text)
		return err
	}
}

// strikes strikes keys by tmux's names for them, one after the other.
func strikes(keys ...string) step {
	return func(t *desk) error {
		_, err := t.tmux(append([]string{"send-keys"}, keys...)...)
		return err
	}
}

// says types a line, as fast as somebody who types fast.
func says(text string) step {
	return func(t *desk) error {
		for _, r := range text {
			if err := types(string(r))(t); err != nil {
				return err
			}
			time.Sleep(40 * time.Millisecond)
		}
		return strikes("Enter")(t)
	}
}

func waits(d time.Duration) step {
	return func(*desk) error { time.Sleep(d); return nil }
}

// sees waits until the screen has it, over several rows if need be.
func sees(pattern string) step {
	want := regexp.MustCompile(pattern)
	return func(t *desk) error {
		for end := time.Now().Add(60 * time.Second); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
			shot, err := t.look()
			if err != nil {
				return err
			}
			if want.MatchString(shot.text()) || want.MatchString(strings.ReplaceAll(shot.text(), "\n", " ")) {
				return nil
			}
		}
		return fmt.Errorf("the screen never showed %q", pattern)
	}
}

// runs runs another conch beside it.
func runs(args ...string) step {
	return func(t *desk) error {
		c := exec.CommandContext(t.ctx, t.binary, args...)
		c.Env = t.env
		if out, err := c.CombinedOutput(); err != nil {
			return fmt.Errorf("conch %s: %w: %s", strings.Join(args, " "), err, out)
		}
		return nil
	}
}
