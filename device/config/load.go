package config

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"slices"
	"sort"
	"strings"
	"syscall"
	"unicode/utf8"

	"conch/device/printable"
	"conch/device/spelling"
	"conch/device/system"
)

// LoadOptions says where to look. The zero value is what a plain `conch run` uses.
type LoadOptions struct {
	File    string            // --config; empty: the places of Find, and none of them needs to exist
	Flags   map[string]string // key to value, strongest of all
	Environ []string          // NAME=value; nil: the process's own
	Root    string            // before /proc and /sys, for tests; empty: the machine's own
	// Keyless: a key that is there and cannot be used keeps nothing from loading; KeyTrouble tells of it.
	Keyless bool
	// New: a File that is not there is one that is to be written, and empty.
	New bool
	// Anyway: nothing that is refused keeps the rest from loading; Refused tells of it (rescue.go).
	Anyway bool
}

// Error is everything that is wrong with a configuration, one sentence a line.
type Error struct{ Problems []string }

func (e *Error) Error() string { return strings.Join(e.Problems, "\n") }

// Load reads the configuration: default < file < environment < flag. It reports all that is wrong, not only the first.
func Load(o LoadOptions) (*Config, error) {
	if o.Environ == nil {
		o.Environ = os.Environ()
	}
	env := ReadEnvironment(o.Environ)
	c := Default()
	l := loader{config: &c, root: o.Root, keyless: o.Keyless, anyway: o.Anyway, keys: make(map[string]key)}
	for _, k := range keys(&c) {
		l.keys[k.name] = k
	}

	know(env, o.Flags)
	file := o.File
	if file == "" {
		file = Find(o.Environ)
	}
	if file != "" {
		c.File = file
		if _, err := os.Stat(file); !o.New || !errors.Is(err, fs.ErrNotExist) {
			l.file(file)
		}
	}
	l.environment(env)
	before := len(l.problems)
	for _, name := range slices.Sorted(maps.Keys(o.Flags)) {
		l.assign(name, o.Flags[name], "flag")
	}
	c.refusedFlags = len(l.problems) > before
	if v := c.Voice; v.CeilingCost > 0 && !v.PriceSet() && !v.listed() {
		l.problem("voice.ceiling_cost = %v: voice.model = %q has no price at voice.url = %q: "+
			"set voice.price_in and voice.price_out, or voice.ceiling_tokens instead",
			v.CeilingCost, v.Model, v.URL)
		l.doubt("voice.ceiling_cost")
	}
	l.shut()
	l.board()
	l.key(env)
	l.stageKeys(env)
	if len(l.problems) > 0 && !o.Anyway {
		return nil, &Error{l.problems}
	}
	c.Problems = l.problems
	c.resolve(env)
	return &c, nil
}

// Find is the file that Load reads when none is named: the user's own, else the system's, else none (empty).
func Find(environ []string) string {
	for _, path := range []string{Own(environ), "/etc/conch/conch.toml"} {
		// What is there but cannot be read is an error of Load, not a reason to pass on silently.
		if _, err := os.Lstat(path); path != "" && (err == nil || errors.Is(err, fs.ErrPermission)) {
			return path
		}
	}
	return ""
}

// Own is where a user's own file is, whether it is there or not; empty: this user has no home.
func Own(environ []string) string {
	env := ReadEnvironment(environ)
	if own := under(env.Get("XDG_CONFIG_HOME"), "conch/conch.toml"); own != "" {
		return own
	}
	return under(cmp.Or(env.Get("HOME"), env.Get("USERPROFILE")), ".config/conch/conch.toml") // XDG Base Directory: what an unset variable means
}

type environment struct{ values map[string]string }

// ReadEnvironment makes names and values of NAME=value.
func ReadEnvironment(environ []string) environment {
	e := environment{make(map[string]string, len(environ))}
	for _, entry := range environ {
		if name, value, ok := strings.Cut(entry, "="); ok {
			e.values[name] = value
		}
	}
	return e
}

func (e environment) Get(name string) string { return e.values[name] }

type loader struct {
	config   *Config
	root     string // as LoadOptions.Root
	keyless  bool   // as LoadOptions.Keyless
	anyway   bool   // as LoadOptions.Anyway
	keys     map[string]key
	problems []string
	unknowns map[string]bool // keys that somebody has set, and nobody knows to what
}

func (l *loader) problem(format string, args ...any) {
	l.problems = append(l.problems, "config: "+fmt.Sprintf(format, args...))
}

// renamed has the keys that had another name before.
var renamed = map[string]string{"light.quiet": "device.quiet"}

// assign sets one key to v and notes where it came from.
func (l *loader) assign(name string, v any, origin string) {
	if now, ok := renamed[name]; ok {
		l.config.warn("%s is called %s now: write it so; set by %s", name, now, origin)
		where, _, _ := strings.Cut(origin, " ")
		if strings.HasPrefix(l.config.Origin(now), where) {
			return // the new name is there as well
		}
		name = now
	}
	k, ok := l.keys[name]
	if !ok {
		l.unknown(name, origin)
		return
	}
	err := k.set(v)
	if err == nil {
		l.config.setOrigin(name, origin)
		delete(l.unknowns, name) // stronger than what was refused
		return
	}
	l.doubt(name)
	from := "; set by " + origin
	if refused := (refusedError{}); errors.As(err, &refused) && refused.reason != "" {
		l.problem("%s = %s: %s%s", name, showValue(v), refused.reason, from)
		return
	}
	why := ""
	if k.why != "" {
		why = " (" + k.why + ")"
	}
	l.problem("%s = %s: must be %s%s%s", name, showValue(v), k.allowed, why, from)
}

// unknown names the nearest key. The value stays unsaid: a mistyped key may hold a secret.
func (l *loader) unknown(name, origin string) {
	hint := "conch check lists the keys"
	if near := Nearest(name, slices.Sorted(maps.Keys(l.keys))); near != "" {
		hint = "did you mean " + near + "?"
	}
	if name == "voice.key" || name == "voice.api_key" {
		hint = "a key does not belong here; put it into a file of its own and name that in voice.key_file"
	}
	l.problem("%s: unknown key (%s); set by %s", showKey(name), hint, origin)
	l.meant(name)
}

// noSection names the nearest section, else all that there are.
func (l *loader) noSection(name string, sections []string, origin string) {
	hint := "there are " + strings.Join(sections, ", ")
	if near := Nearest(name, sections); near != "" {
		hint = "did you mean [" + near + "]?"
	}
	l.problem("[%s]: unknown section (%s); set by %s", showKey(name), hint, origin)
}

func (l *loader) file(path string) {
	data, info, err := ReadBounded(path, spelling.MaxTOML)
	if err != nil {
		l.problem("%s: %v", path, err)
		l.doubtAll()
		return
	}
	if system.Rights(info)&0o022 != 0 {
		l.config.warn("%s: others may write to it (mode %04o); %s", path, info.Mode().Perm(), printable.Chmod("644", path))
	}
	l.parse(path, data)
}

// parse takes the text of the file at path.
func (l *loader) parse(path string, data []byte) {
	if !utf8.Valid(data) {
		knowLines(data)
		line := lineOfInvalid(data)
		l.problem("%s:%d: not UTF-8 text", path, line)
		l.rescue(path, data, line)
		return
	}
	tree := make(map[string]any)
	if _, err := spelling.Decode(string(data), &tree); err != nil {
		knowLines(data)
		line, say := TOML(string(data), err)
		l.problem("%s:%d: %s", path, line, say)
		l.rescue(path, data, line)
		return
	}
	l.take(path, tree, keyLines(string(data)))
}

// take assigns what the file at path says; lines says where.
func (l *loader) take(path string, tree map[string]any, lines map[string]int) {
	l.knowTree(path, "", tree)
	origin := func(name string) string {
		if line, ok := lines[name]; ok {
			return fmt.Sprintf("file %s:%d", path, line)
		}
		return "file " + path
	}
	sections := make(map[string]bool)
	for name := range l.keys {
		section, _, _ := strings.Cut(name, ".")
		sections[section] = true
	}
	type found struct {
		name  string
		value any
	}
	var all []found
	for _, of := range l.tables() {
		sections[of.name] = true
		if v, there := tree[of.name]; there {
			l.table(of, v, lines, path)
			delete(tree, of.name)
		}
	}
	for section, v := range tree {
		table, ok := v.(map[string]any)
		switch {
		case !ok && sections[section]:
			l.problem("%s = %s: must be a section, written [%s]; set by %s", section, showValue(v), section, origin(section))
			l.meantWithin(v)
		case !ok || !sections[section]:
			all = append(all, found{section, v})
		default:
			for name, v := range table {
				all = append(all, found{section + "." + name, v})
			}
		}
	}
	// A map has no order; messages do: that of the file.
	sort.Slice(all, func(i, j int) bool {
		a, b := lines[all[i].name], lines[all[j].name]
		if a != b {
			return a < b
		}
		return all[i].name < all[j].name
	})
	for _, f := range all {
		if _, table := f.value.(map[string]any); table && !strings.Contains(f.name, ".") {
			l.noSection(f.name, slices.Sorted(maps.Keys(sections)), origin(f.name))
			l.meantWithin(f.value)
			continue
		}
		l.assign(f.name, f.value, origin(f.name))
		if _, known := l.keys[f.name]; !known {
			l.meantWithin(f.value)
		}
	}
}

func (l *loader) environment(env environment) {
	byName := make(map[string]string, len(l.keys))
	var sections []string
	for name := range l.keys {
		byName[environmentName(name)] = name
		section, _, _ := strings.Cut(name, ".")
		sections = append(sections, environmentName(section)+"_")
	}
	for old := range renamed {
		byName[environmentName(old)] = old
	}
	for _, variable := range slices.Sorted(maps.Keys(env.values)) {
		if name, ok := byName[variable]; ok {
			l.assign(name, env.Get(variable), "environment "+variable)
			continue
		}
		// Other programs may use CONCH_ too; under the name of a section it is meant for us.
		if slices.ContainsFunc(sections, func(s string) bool { return strings.HasPrefix(variable, s) }) {
			hint := "conch check lists the keys"
			if near := Nearest(variable, slices.Sorted(maps.Keys(byName))); near != "" {
				hint = "did you mean " + near + "?"
			}
			l.problem("%s: unknown environment variable (%s)", showKey(variable), hint)
			l.meant(strings.Replace(strings.ToLower(strings.TrimPrefix(variable, "CONCH_")), "_", ".", 1))
		}
	}
}

// ReadBounded reads a regular file of at most limit bytes. It cannot be made to wait (a FIFO) or to fill the memory.
func ReadBounded(path string, limit int64) ([]byte, fs.FileInfo, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0) // O_NONBLOCK: opening a FIFO must not wait for a writer
	if err != nil {
		var pathErr *fs.PathError
		if errors.As(err, &pathErr) {
			err = pathErr.Err // the caller names the path
		}
		return nil, nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, nil, err
	}
	switch {
	case info.IsDir():
		return nil, nil, errors.New("is a directory, not a file")
	case !info.Mode().IsRegular():
		return nil, nil, fmt.Errorf("is not a regular file (%s)", info.Mode().Type())
	case info.Size() > limit:
		return nil, nil, fmt.Errorf("has %d bytes, more than the %d allowed", info.Size(), limit)
	}
	data, err := io.ReadAll(io.LimitReader(f, limit+1)) // it may grow, and files below /proc say 0
	if err != nil {
		return nil, nil, err
	}
	if int64(len(data)) > limit {
		return nil, nil, fmt.Errorf("has more than the %d bytes allowed", limit)
	}
	return data, info, nil
}
