package config

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"conch/device/spelling"
	"conch/device/system"
)

// A setting is written into a person's file by changing as few lines as can be: what they have written around it stays, letter
// for letter. A file that is written in a way this does not understand is left alone; the result is read back before it counts.

// Edit is one key to set in the file.
type Edit struct {
	Key   string // button.pin
	Value string // as TOML has it
}

// Plain is the value as a flag has it.
func (e Edit) Plain() string {
	var one map[string]any
	if _, err := spelling.Decode("x = "+e.Value, &one); err != nil {
		return e.Value
	}
	return fmt.Sprint(one["x"])
}

// Apply sets keys in the text of a configuration file.
func Apply(text string, edits []Edit) (string, error) {
	const windows = "\r\n"
	foreign := strings.Contains(text, windows) && strings.Count(text, windows) == strings.Count(text, "\n")
	lines := strings.SplitAfter(text, "\n")
	if foreign {
		lines = strings.SplitAfter(strings.ReplaceAll(text, windows, "\n"), "\n")
	}
	if last := len(lines) - 1; lines[last] == "" {
		lines = lines[:last]
	} else {
		lines[last] += "\n" // a file that does not end its last line
	}
	for _, e := range edits {
		lines = setLine(lines, e)
	}
	out := strings.Join(lines, "")
	if foreign {
		out = strings.ReplaceAll(out, "\n", windows)
	}
	return out, checkEdit(text, out, edits)
}

// setLine sets one key: in its own line, else behind the line where it is commented out, else at the end of its section, else
// in a section of its own at the end of the file.
func setLine(lines []string, e Edit) []string {
	section, name, _ := strings.Cut(e.Key, ".")
	now, from, last, comment := "", -1, -1, -1
	for i, line := range lines {
		trimmed := strings.TrimSpace(line)
		if strings.HasPrefix(trimmed, "[") {
			head, _, _ := strings.Cut(strings.Trim(trimmed, "["), "]")
			now = strings.TrimSpace(head)
			if now == section && from < 0 {
				from, last = i, i
			}
			continue
		}
		if now != section {
			continue
		}
		key, rest, ok := strings.Cut(trimmed, "=")
		switch key = strings.TrimSpace(key); {
		case ok && key == name:
			lines[i] = line[:strings.Index(line, "=")+1] + " " + e.Value + behind(rest) + "\n"
			return lines
		case ok && strings.TrimSpace(strings.TrimLeft(key, "# \t")) == name && strings.HasPrefix(key, "#"):
			comment = i
		}
		if trimmed != "" && !strings.HasPrefix(trimmed, "#") {
			last = i
		}
	}
	line := name + " = " + e.Value + "\n"
	switch {
	case comment >= 0:
		last = comment
	case from < 0:
		if n := len(lines); n > 0 && strings.TrimSpace(lines[n-1]) != "" {
			lines = append(lines, "\n")
		}
		return append(lines, "["+section+"]\n", line)
	}
	return append(lines[:last+1], append([]string{line}, lines[last+1:]...)...)
}

// behind is the comment behind a value, with the space before it. A # inside quotes is none.
func behind(value string) string {
	quote := rune(0)
	for i, r := range value {
		switch {
		case quote != 0 && r == quote:
			quote = 0
		case quote == 0 && (r == '"' || r == '\''):
			quote = r
		case quote == 0 && r == '#':
			space := len(strings.TrimRight(value[:i], " \t"))
			return strings.TrimRight(value[space:], " \t\r\n")
		}
	}
	return ""
}

// checkEdit reads what came out: the edits are in force, and nothing else has changed.
func checkEdit(before, after string, edits []Edit) error {
	var old, is, want map[string]any
	if _, err := spelling.Decode(before, &old); err != nil {
		return fmt.Errorf("the file has a mistake already: %w", err)
	}
	if _, err := spelling.Decode(after, &is); err != nil {
		return errors.New("the file is written in a way that cannot be changed safely")
	}
	for _, e := range edits {
		section, name, _ := strings.Cut(e.Key, ".")
		var one map[string]map[string]any
		if _, err := spelling.Decode(fmt.Sprintf("[%s]\n%s = %s\n", section, name, e.Value), &one); err != nil {
			return fmt.Errorf("%s = %s: %w", e.Key, e.Value, err)
		}
		table, _ := is[section].(map[string]any)
		if table == nil || !reflect.DeepEqual(table[name], one[section][name]) {
			return errors.New("the file is written in a way that cannot be changed safely")
		}
		delete(table, name)
		if was, _ := old[section].(map[string]any); was != nil {
			delete(was, name)
		} else if len(table) == 0 {
			delete(is, section)
		}
	}
	want = old
	if want == nil {
		want = map[string]any{}
	}
	if !reflect.DeepEqual(is, want) {
		return errors.New("the file is written in a way that cannot be changed safely")
	}
	return nil
}

// Diff shows what changes, a line each, with - and + before it as diff(1) does.
func Diff(before, after string) string {
	a, b := slices.Collect(strings.Lines(before)), slices.Collect(strings.Lines(after))
	var out strings.Builder
	for len(a) > 0 || len(b) > 0 {
		switch {
		case len(a) > 0 && len(b) > 0 && strings.TrimRight(a[0], "\n") == strings.TrimRight(b[0], "\n"):
			a, b = a[1:], b[1:]
		case len(b) > 0 && (len(a) == 0 || slices.Index(b, a[0]) > 0 && (slices.Index(a, b[0]) < 0 || len(b) > len(a))):
			fmt.Fprintf(&out, "+%s", b[0])
			b = b[1:]
		default:
			fmt.Fprintf(&out, "-%s", a[0])
			if len(b) > 0 && slices.Index(a, b[0]) < 0 {
				fmt.Fprintf(&out, "+%s", b[0])
				b = b[1:]
			}
			a = a[1:]
		}
	}
	return out.String()
}

// Replace puts text in the place of the file: the old one or the new one, whatever happens, with the rights the old one
// had, for the service has to read it as before.
func Replace(path, text string) error {
	target, err := filepath.EvalSymlinks(path)
	switch _, lerr := os.Lstat(path); {
	case err == nil:
		path = target
	case lerr == nil: // a file in its place would not be where somebody keeps it
		return fmt.Errorf("it is a link that leads nowhere: %w", UnwrapPath(err))
	}
	mode, uid, gid := fs.FileMode(0o644), -1, -1
	info, err := os.Stat(path)
	switch {
	case err == nil:
		mode = info.Mode().Perm()
		uid, gid, _ = system.Owner(info)
	case errors.Is(err, fs.ErrNotExist):
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
	default:
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name()) // a no-op once renamed
	_, err = f.WriteString(text)
	err = errors.Join(err, f.Chmod(mode))
	if uid >= 0 && uid != os.Getuid() || gid >= 0 && gid != os.Getgid() {
		err = errors.Join(err, f.Chown(uid, gid))
	}
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	if err := os.Rename(f.Name(), path); err != nil {
		return err
	}
	return system.SyncDirectory(filepath.Dir(path))
}

// UnwrapPath leaves out the path of a path error: the message has it already.
func UnwrapPath(err error) error {
	var path *fs.PathError
	if errors.As(err, &path) {
		return path.Err
	}
	return err
}
