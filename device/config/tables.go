package config

import (
	"fmt"
	"maps"
	"math"
	"net"
	"net/url"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"conch/device/pattern"
	"conch/device/printable"
	"conch/device/redact"
)

// Sections of which a person writes as many as wanted, each with a name: [mcp.files], [mcp.calendar]. What is wrong in one leaves that
// one out, and the others in.

// MCP is a server of the Model Context Protocol: a command to start, or an address (SKILLS.md 7).
type MCP struct {
	Name        string
	Command     []string // with its arguments; or else
	URL         string
	Env         map[string]string // more of the command's environment
	EnvFiles    map[string]string // the same, from a file each
	HeaderFiles map[string]string // headers of each request, from a file each
	Allow       []string          // its tools that are let in; none: all
	Deadline    time.Duration     // of a call; 0: turn.tool_s alone
}

const (
	maxTables = 32  // of one section
	maxSecret = 512 // entries and names in a table; no more than a person writes
)

// field is a key of such a section.
type field struct {
	name, about, allowed, example string
	set                           func(v any) (reason string) // empty, "" and a reason: it is not what is allowed
}

// section is one kind of them.
type section struct {
	name    string
	named   func(string) bool
	names   string // what is allowed for one, in words
	example string // a name
	begin   func(name string) (fields []field, end func() (problem string))
}

var (
	serverName = pattern.New(`^[A-Za-z0-9][A-Za-z0-9_-]{0,19}$`)
	envName    = pattern.New(`^[A-Za-z_][A-Za-z0-9_]{0,99}$`)
	headerName = pattern.New(`^[A-Za-z0-9-]{1,100}$`)
)

func (l *loader) tables() []section { return []section{l.mcp(), l.home()} }

func (l *loader) mcp() section {
	const names = "1 to 20 letters, digits, _ and -"
	return section{name: "mcp", example: "files", named: serverName().MatchString, names: names, begin: func(name string) ([]field, func() string) {
		s := MCP{Name: name}
		return []field{
				{"command", "program and arguments of a server that is started here and spoken to on its standard input and output",
					`a list of texts, as in ["npx", "-y", "PACKAGE@VERSION"]`, `["npx", "-y", "@modelcontextprotocol/server-everything@2026.8.31"]`, texts(&s.Command, 1, 64)},
				{"url", "instead of a command: address of a server that is spoken to by streamable HTTP", "http:// or https://", `"https://host/mcp"`, webURL(&s.URL)},
				{"env", "more of the command's environment; it has PATH, HOME, LANG and the like, and no key of conch's", `a table, as in { NAME = "value" }`, `{}`,
					words(&s.Env, envName().MatchString)},
				{"env_files", "the same, each value from a file that holds it and nothing else", `a table, as in { TOKEN = "/etc/conch/token" }`, `{}`, words(&s.EnvFiles, envName().MatchString)},
				{"header_files", "headers of each request to url, each value from a file", `a table, as in { Authorization = "/etc/conch/mcp-token" }`, `{}`,
					words(&s.HeaderFiles, headerName().MatchString)},
				{"allow", "its tools that may be used, as it calls them; empty: all", `a list of texts, as in ["echo"]`, `[]`, texts(&s.Allow, 0, 128)},
				{"deadline_s", "longest time for one call, in seconds, if shorter than turn.tool_s; 0: that", "0 to 120", "0", func(v any) string {
					f, ok := number(v)
					if !ok || f < 0 || f > 120 {
						return bare
					}
					s.Deadline = time.Duration(math.Round(f * float64(time.Second)))
					return ""
				}},
			}, func() string {
				switch {
				case len(s.Command) == 0 && s.URL == "":
					return `needs a command or a url`
				case len(s.Command) > 0 && s.URL != "":
					return "has a command and a url; one of them is the server"
				case s.URL == "" && len(s.HeaderFiles) > 0:
					return "has header_files, which go with a url; a command has env_files"
				case s.URL != "" && len(s.Env)+len(s.EnvFiles) > 0:
					return "has env, which goes with a command; a url has header_files"
				}
				for _, files := range []map[string]string{s.EnvFiles, s.HeaderFiles} {
					for k, path := range files {
						if !filepath.IsAbs(path) {
							files[k] = filepath.Join(filepath.Dir(l.config.File), path)
						}
					}
				}
				if u, err := url.Parse(s.URL); err == nil && u.Scheme == "http" && len(s.HeaderFiles) > 0 && !loopback(u.Hostname()) {
					l.config.warn("mcp.%s.url = %s: without https, everybody on the way reads what header_files sends", name, Quote(s.URL))
				}
				l.config.MCP = append(l.config.MCP, s)
				return ""
			}
	}}
}

func loopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// bare is the reason of a value of which only is said what is allowed.
const bare = "\x00"

func texts(into *[]string, least, most int) func(any) string {
	return func(v any) string {
		list, ok := v.([]any)
		if !ok || len(list) < least || len(list) > most {
			return bare
		}
		var all []string
		for i, w := range list {
			s, ok := w.(string)
			if !ok || len(s) > maxLine || s == "" && i == 0 || strings.ContainsRune(s, 0) {
				return bare
			}
			all = append(all, s)
		}
		*into = all
		return ""
	}
}

func words(into *map[string]string, named func(string) bool) func(any) string {
	return func(v any) string {
		table, ok := v.(map[string]any)
		if !ok || len(table) > maxSecret {
			return bare
		}
		all := map[string]string{}
		for k, w := range table {
			s, ok := w.(string)
			if !ok || len(s) > maxLine || strings.ContainsRune(s, 0) {
				return fmt.Sprintf("%s must be a text", Quote(clip(k, 40)))
			}
			if !named(k) {
				return fmt.Sprintf("%s is no name for it", Quote(clip(printable.Text(k), 40)))
			}
			all[k] = s
		}
		*into = all
		return ""
	}
}

func webURL(into *string) func(any) string {
	return func(v any) string {
		s, _ := v.(string)
		if wrong := wrongHost(s); wrong != "" {
			return wrong
		}
		u, err := url.Parse(s)
		if err != nil || len(s) > maxLine || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
			return bare
		}
		if u.User != nil {
			return "a password does not belong into an address; put the header into a file and name that in header_files"
		}
		*into = s
		return ""
	}
}

// table takes all tables of a section.
func (l *loader) table(of section, v any, lines map[string]int, path string) {
	origin := func(name string) string {
		if line, ok := lines[name]; ok {
			return fmt.Sprintf("file %s:%d", path, line)
		}
		return "file " + path
	}
	all, ok := v.(map[string]any)
	if !ok {
		l.problem("%s = %s: must be sections, written [%s.NAME], as in [%s.%s]; set by %s",
			of.name, showValue(v), of.name, of.name, of.example, origin(of.name))
		return
	}
	for i, name := range slices.Sorted(maps.Keys(all)) {
		l.oneTable(of, name, all[name], i, origin)
	}
}

func (l *loader) oneTable(of section, name string, v any, nth int, origin func(string) string) {
	full := of.name + "." + name
	entries, ok := v.(map[string]any)
	switch {
	case !ok:
		l.problem("%s = %s: must be a section, written [%s.NAME]; set by %s", showKey(full), showValue(v), of.name, origin(full))
		return
	case !of.named(name):
		l.problem("[%s]: a name is %s; it is left out; set by %s", showKey(full), of.names, origin(full))
		return
	case nth >= maxTables:
		l.problem("[%s]: one too many, there may be %d; it is left out; set by %s", full, maxTables, origin(full))
		return
	}
	before := len(l.problems)
	fields, end := of.begin(name)
	for _, k := range slices.Sorted(maps.Keys(entries)) {
		i := slices.IndexFunc(fields, func(f field) bool { return f.name == k })
		at := origin(full + "." + k)
		if i < 0 {
			var known []string
			for _, f := range fields {
				known = append(known, f.name)
			}
			hint := "there are " + strings.Join(known, ", ")
			if near := Nearest(k, known); near != "" {
				hint = "did you mean " + near + "?"
			}
			l.problem("%s: unknown key (%s); [%s] is left out; set by %s", showKey(full+"."+k), hint, full, at)
			continue
		}
		f := fields[i]
		switch reason := f.set(entries[k]); reason {
		case "":
		case bare:
			l.problem("%s.%s = %s: must be %s; [%s] is left out; set by %s", full, k, showValue(entries[k]), f.allowed, full, at)
		default:
			l.problem("%s.%s: %s; must be %s; [%s] is left out; set by %s", full, k, reason, f.allowed, full, at)
		}
	}
	if len(l.problems) > before {
		return
	}
	if problem := end(); problem != "" {
		l.problem("[%s] %s; it is left out; set by %s", full, problem, origin(full))
		return
	}
	l.config.setOrigin(of.name, origin(full))
}

// Environment is what the configuration adds to a command's environment.
func (s MCP) Environment() (map[string]string, error) {
	env := maps.Clone(s.Env)
	if env == nil {
		env = map[string]string{}
	}
	return env, lines(env, s.EnvFiles)
}

// Headers are what each request to the server says besides the request.
func (s MCP) Headers() (map[string]string, error) {
	headers := map[string]string{}
	return headers, lines(headers, s.HeaderFiles)
}

// lines reads a line of each file. They are read again for each start: who changes a token restarts nothing.
func lines(into, files map[string]string) error {
	for name, path := range files {
		data, _, err := ReadBounded(path, MaxKey)
		if err != nil {
			return fmt.Errorf("%s: %s: %w", name, path, err)
		}
		line := bareText(data)
		if line == "" || strings.ContainsFunc(line, func(r rune) bool { return r < ' ' || r > '~' }) {
			return fmt.Errorf("%s: %s: must hold one line of visible ASCII characters and nothing else", name, path)
		}
		redact.Add(line)
		if _, token, ok := strings.Cut(line, " "); ok { // Bearer TOKEN
			redact.Add(token)
		}
		into[name] = line
	}
	return nil
}

// servers is MCP as a row of Describe: what a change of it changes, and no value that may be a secret.
func (c *Config) servers() string {
	var all []string
	for _, s := range c.MCP {
		what := s.URL
		if what == "" {
			what = redact.Command(s.Command)
		}
		for _, m := range []map[string]string{s.Env, s.EnvFiles, s.HeaderFiles} {
			for _, k := range slices.Sorted(maps.Keys(m)) {
				what += " +" + k
			}
		}
		if len(s.Allow) > 0 {
			what += " (" + strings.Join(s.Allow, ", ") + ")"
		}
		if s.Deadline > 0 {
			what += " " + strconv.FormatFloat(s.Deadline.Seconds(), 'g', -1, 64) + " s"
		}
		all = append(all, Quote(s.Name+": "+what))
	}
	return "[" + strings.Join(all, ", ") + "]"
}
