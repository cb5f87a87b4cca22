package setup

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"conch/device/config"
	"conch/device/control"
	"conch/device/language"
	"conch/device/system"
)

// A change is one file that is about to be written.
type change struct {
	path          string
	before, after string
	copy          bool // of what was; nothing to show
}

// diff shows what changes, a line each.
func (c change) diff() string { return config.Diff(c.before, c.after) }

// planned is the configuration file with these settings; a file that cannot be changed safely is left to its owner, who is told
// what to write.
func planned(cfg config.Config, edits []config.Edit, l language.Language) (change, error) {
	c := change{path: cfg.File}
	if c.path == "" {
		c.path = newConfig()
	}
	before, err := os.ReadFile(c.path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return c, fmt.Errorf("%s: %w; %s", c.path, config.UnwrapPath(err), byHand(edits, l))
	}
	c.before = string(before)
	if c.after, err = config.Apply(c.before, edits); err != nil {
		return c, fmt.Errorf("%s: %w; %s", c.path, err, byHand(edits, l))
	}
	return c, nil
}

// write makes the change, whole or not at all. who is the command that its owner would give.
func (c change) write(who string, l language.Language) error {
	err := config.Replace(c.path, c.after)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, fs.ErrPermission):
		return fmt.Errorf("%s: %w; %s", c.path, config.UnwrapPath(err), l.Phrase("write.owner", "who", who))
	case errors.Is(err, syscall.EROFS):
		return fmt.Errorf("%s: %s", c.path, l.Phrase("write.read_only", "dir", mountOf(c.path)))
	case errors.Is(err, syscall.ENOSPC):
		return fmt.Errorf("%s: %s", c.path, l.Phrase("write.full", "dir", filepath.Dir(c.path)))
	}
	return fmt.Errorf("%s: %w", c.path, config.UnwrapPath(err))
}

// writeAll makes all changes, or none: where one fails, what was written before it becomes again as it was.
func writeAll(all []change, who string, l language.Language) error {
	if len(all) == 0 {
		return nil
	}
	c := all[0]
	_, missing := os.Lstat(c.path)
	if err := c.write(who, l); err != nil {
		return err
	}
	err := writeAll(all[1:], who, l)
	switch {
	case err == nil:
		return nil
	case missing != nil:
		return errors.Join(err, os.Remove(c.path))
	}
	return errors.Join(err, config.Replace(c.path, c.before))
}

// mountOf is the mount point that a file is below.
func mountOf(path string) string {
	dir := filepath.Dir(path)
	disk, ok := diskOf(dir)
	for ok && dir != filepath.Dir(dir) {
		if above, ok := diskOf(filepath.Dir(dir)); !ok || above != disk {
			return dir
		}
		dir = filepath.Dir(dir)
	}
	return dir
}

func diskOf(dir string) (disk uint64, ok bool) {
	info, err := os.Stat(dir)
	if err != nil {
		return 0, false
	}
	disk, _, ok = system.Place(info)
	return disk, ok
}

// byHand is what a person writes where conch does not.
func byHand(edits []config.Edit, l language.Language) string {
	text, last := l.Phrase("write.by_hand"), ""
	for _, e := range edits {
		section, name, _ := strings.Cut(e.Key, ".")
		if section != last {
			text += "\n[" + section + "]"
		}
		text, last = text+"\n"+name+" = "+e.Value, section
	}
	return text
}

// newConfig is where a configuration goes when there is none.
func newConfig() string {
	if os.Getuid() == 0 {
		return "/etc/conch/conch.toml"
	}
	if own := config.Own(os.Environ()); own != "" {
		return own
	}
	return "conch.toml"
}

// mayWrite says whether whoever asks may write the configuration, before anything is asked.
func mayWrite(cfg config.Config, l language.Language) error {
	path := cfg.File
	if path == "" {
		path = newConfig()
	}
	for dir := filepath.Dir(path); ; dir = filepath.Dir(dir) {
		switch err := system.Access(dir, system.Write|system.Pass); {
		case errors.Is(err, syscall.ENOENT) && dir != filepath.Dir(dir):
			continue
		case errors.Is(err, syscall.EACCES):
			return fmt.Errorf("%w: %s", control.ErrRefused, l.Phrase("write.root", "dir", dir))
		}
		return nil
	}
}
