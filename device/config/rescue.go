package config

import (
	"bytes"
	"slices"
	"strings"

	"conch/device/pattern"
	"conch/device/spelling"
)

// A box whose configuration has a slip in it is not to be a mute box: the service starts with what can be read, and says what
// cannot (LoadOptions.Anyway). What holds then is decided key by key:
//
//	a value is refused         the next weaker source has the key: file, else default. A guard is shut, whatever weaker ones say
//	an unknown key             may be a slip of the pen in any key whose name is like it: if that is a guard, it is shut
//	a line that is no TOML     what stands before it counts. Of what follows nothing does, and guards that are named there are shut
//	the file cannot be read    nobody knows what was in it: all guards are shut
//
// A stronger source that can be read (environment before file, flag before environment) is as good as ever. Wherever there is
// doubt, the guard is shut: that costs comfort until the file is mended, the other way would cost what it guards.

// RefusedValue is where a guard that is shut has its value from.
const RefusedValue = "a refused value"

// Refused is everything that is wrong with a configuration that was loaded anyway; nil: nothing.
func (c *Config) Refused() error {
	if len(c.Problems) == 0 {
		return nil
	}
	return &Error{c.Problems}
}

// RefusedFlags says that some of it was in LoadOptions.Flags.
func (c *Config) RefusedFlags() bool { return c.refusedFlags }

// Meanwhile says in words what holds until what was refused is mended.
func (c *Config) Meanwhile() string {
	var all []string
	for _, then := range c.shut {
		if !slices.Contains(all, then) {
			all = append(all, then)
		}
	}
	if len(all) == 0 {
		return "what was refused has its default"
	}
	return "what was refused has its default, and for safety " + strings.Join(all, ", ")
}

// doubt notes that somebody has set a key, and nobody knows to what.
func (l *loader) doubt(name string) {
	if l.unknowns == nil {
		l.unknowns = make(map[string]bool)
	}
	l.unknowns[name] = true
}

func (l *loader) doubtAll() {
	for name := range l.keys {
		l.doubt(name)
	}
}

// meant notes the guard that somebody may have meant by a name that is no key. One that is set as well was not meant.
func (l *loader) meant(name string) {
	section, word, ok := strings.Cut(name, ".")
	if !ok {
		section, word = "", name
	}
	for _, guard := range l.like(section, word) {
		if l.config.Unset(guard) {
			l.doubt(guard)
		}
	}
}

// meantWithin does so for all names inside a value that is not where it belongs.
func (l *loader) meantWithin(v any) {
	switch v := v.(type) {
	case map[string]any:
		for name, inner := range v {
			l.meant(name)
			l.meantWithin(inner)
		}
	case []map[string]any:
		for _, inner := range v {
			l.meantWithin(inner)
		}
	case []any:
		for _, inner := range v {
			l.meantWithin(inner)
		}
	}
}

// like are the guards whose name in a section is a word, as far as slips of the pen go. A section that is none of ours may be
// any. A name that is in several sections (name, url, key_file) is asked for in its own only.
func (l *loader) like(section, word string) (guards []string) {
	word = strings.ToLower(word)
	counts, known := make(map[string]int), false
	for name := range l.keys {
		s, last, _ := strings.Cut(name, ".")
		counts[last]++
		known = known || s == section
	}
	for name, k := range l.keys {
		s, last, _ := strings.Cut(name, ".")
		if k.guard == nil || known && s != section && counts[last] > 1 {
			continue
		}
		if _, other := l.keys[section+"."+word]; other && section+"."+word != name {
			continue // it is right as it is
		}
		cut := len(word) >= 4 && (strings.HasPrefix(last, word) || strings.HasPrefix(word, last)) // half a line, after a power cut
		if cut || spelling.Distance(word, last) <= max(1, len(last)/4) {
			guards = append(guards, name)
		}
	}
	return guards
}

// rescueTries bounds the search for the beginning of what is wrong: a text that is not closed is noticed lines later. A rest of
// more than rescueMost bytes is not looked through: the example has 16 kB.
const (
	rescueTries = 16
	rescueMost  = 64 << 10
)

// rescue takes what stands before a line of a file that cannot be read, and notes what the rest may have set.
func (l *loader) rescue(path string, data []byte, line int) {
	if !l.anyway {
		return
	}
	lines := bytes.SplitAfter(data, []byte("\n"))
	n := max(0, min(line-1, len(lines)))
	for try := 0; n > 0; try++ {
		if try == rescueTries {
			n = 0
			break
		}
		head := string(bytes.Join(lines[:n], nil))
		tree := make(map[string]any)
		_, err := spelling.Decode(head, &tree)
		if err == nil {
			l.take(path, tree, keyLines(head))
			break
		}
		next := n - 1
		if at, _ := TOML(head, err); at > 1 {
			next = min(next, at-1)
		}
		n = max(0, next)
	}
	if len(bytes.Join(lines[n:], nil)) > rescueMost || bytes.IndexByte(data, 0) >= 0 { // zeros may stand for anything
		l.doubtAll()
		return
	}
	section := ""
	for _, line := range lines[:n] {
		section = header(string(line), section)
	}
	for _, line := range lines[n:] {
		text := strings.TrimSpace(string(line))
		if strings.HasPrefix(text, "#") {
			continue
		}
		section = header(text, section)
		for i, word := range namesIn().FindAllString(text, -1) {
			if _, known := l.keys[section+"."+word]; i > 0 && !known && !strings.Contains(word, "_") {
				continue // of a value: words that people use
			}
			for _, guard := range l.like(section, word) {
				l.doubt(guard)
			}
		}
	}
}

var (
	namesIn  = pattern.New(`[A-Za-z0-9_]+`)
	headings = pattern.New(`^\s*\[+\s*["']?([A-Za-z_]+)`)
)

// header is the section that a line begins, or else the one it is in.
func header(line, section string) string {
	if m := headings().FindStringSubmatch(line); m != nil {
		return m[1]
	}
	return section
}

// shut does for every guard that nobody knows the value of what it is there for.
func (l *loader) shut() {
	if !l.anyway {
		return
	}
	for _, k := range keys(l.config) {
		if k.guard == nil || !l.unknowns[k.name] {
			continue
		}
		k.guard.shut()
		l.config.setOrigin(k.name, RefusedValue)
		l.config.shut = append(l.config.shut, k.guard.then)
	}
}
