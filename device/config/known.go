package config

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"conch/device/pattern"
	"conch/device/redact"
)

// What is secret in a configuration is made known before any value is looked at: a message that refuses one repeats it.

// know takes the environment and the flags.
func know(env environment, flags map[string]string) {
	for _, values := range []map[string]string{env.values, flags} {
		for name, v := range values {
			switch {
			case strings.HasPrefix(name, "CONCH_"), strings.Contains(name, "."):
				knowValue(".", strings.ToLower(name), v)
			case len(v) >= 8 || strings.Contains(v, "@"):
				redact.Setting(name, v)
			}
		}
	}
}

// knowLines takes a file that cannot be parsed, line by line.
func knowLines(data []byte) {
	for line := range strings.Lines(string(data)) {
		name, v, _ := strings.Cut(line, "=")
		redact.Arguments(strings.FieldsFunc(v, func(r rune) bool { return strings.ContainsRune(",[]{}\"'\r\n", r) })...)
		knowValue("", strings.ToLower(strings.TrimSpace(name)), strings.Trim(strings.TrimSpace(v), `"'`))
	}
}

// knowTree takes a file that was parsed, key by key.
func (l *loader) knowTree(file, name string, v any) {
	switch v := v.(type) {
	case string:
		knowValue(filepath.Dir(file), name, v)
	case []any:
		var words []string
		for _, w := range v {
			if s, ok := w.(string); ok {
				words = append(words, s)
			}
			l.knowTree(file, name, w)
		}
		if strings.HasSuffix(name, ".command") {
			redact.Arguments(words...)
		}
	case map[string]any:
		for _, k := range slices.Sorted(maps.Keys(v)) {
			l.knowTree(file, strings.TrimPrefix(name+"."+k, "."), v[k])
		}
	case []map[string]any:
		for _, w := range v {
			l.knowTree(file, name, w)
		}
	}
}

var (
	openKeys   = pattern.New(`(?:^|[._])(?:button.keys|knob.keys|voice.instructions|voice.hear|voice.speak|web.authority)$`)
	namesFile  = pattern.New(`(?:^|[._])(?:[a-z_]*_file|web.key|web.cert)$|\.(?:env_files|header_files)\.`)
	fileEnding = pattern.New(`\.(?:key|pem|crt|cer|txt|conf|env|secret|token)$`)
	plainWord  = pattern.New(`^[a-z]{1,11}$`)
)

// knowValue takes a value of a key, as a person wrote it.
func knowValue(dir, name, v string) {
	switch {
	case namesFile().MatchString(name):
		// A key or password in the place of a file's name, as people write it once.
		redact.Setting("", v)
		if path := v; v != "" && !filepath.IsAbs(v) && !strings.HasPrefix(v, "~/") && !fileEnding().MatchString(v) {
			if _, err := os.Stat(filepath.Join(dir, path)); err != nil {
				redact.Add(v)
			}
		}
	case openKeys().MatchString(name):
		redact.Setting("", v)
		redact.Arguments(strings.Fields(v)...)
	case strings.Contains(name, ".env."):
		redact.Setting(name[strings.LastIndex(name, ".")+1:], v)
		if len(v) >= 8 && !filepath.IsAbs(v) && !strings.Contains(v, "://") && !plainWord().MatchString(v) {
			redact.Add(v)
		}
	default:
		redact.Setting(name, v)
	}
}
