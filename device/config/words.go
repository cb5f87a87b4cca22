package config

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"conch/device/printable"
	"conch/device/spelling"
)

// keyLines finds on which line each key stands. It is a reader of plain files, good enough for a message: what it does not
// recognise (keys in quotes, tables in braces) has no line.
func keyLines(text string) map[string]int {
	lines := make(map[string]int)
	section := ""
	number := 0
	for line := range strings.Lines(text) {
		number++
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "[") {
			name, _, _ := strings.Cut(strings.Trim(line, "["), "]")
			section = strings.TrimSpace(name)
			if _, seen := lines[section]; !seen {
				lines[section] = number
			}
			continue
		}
		name, _, ok := strings.Cut(line, "=")
		if name = strings.TrimSpace(name); !ok || name == "" || strings.HasPrefix(name, "#") {
			continue
		}
		if section != "" {
			name = section + "." + name
		}
		if _, seen := lines[name]; !seen {
			lines[name] = number
		}
	}
	return lines
}

func lineOfInvalid(data []byte) int {
	line := 1
	for len(data) > 0 {
		r, size := utf8.DecodeRune(data)
		if r == utf8.RuneError && size == 1 {
			break
		}
		if r == '\n' {
			line++
		}
		data = data[size:]
	}
	return line
}

// showValue is v as a person wrote it, short.
func showValue(v any) string {
	var s string
	switch v := v.(type) {
	case string:
		s = Quote(v)
	case map[string]any:
		return "a table"
	case []any:
		all := make([]string, len(v))
		for i, w := range v {
			all[i] = showValue(w)
		}
		s = "[" + strings.Join(all, ", ") + "]"
	case []map[string]any:
		return "a list of tables"
	default:
		s = fmt.Sprint(v)
	}
	return clip(s, 60)
}

// clip is s in at most this many letters.
func clip(s string, most int) string {
	if r := []rune(s); len(r) > most {
		return string(r[:most-3]) + "…"
	}
	return s
}

// showKey is a key that is not ours, short and without control characters.
func showKey(name string) string {
	if name == "" {
		return `""`
	}
	return clip(printable.Text(name), 60)
}

// Decode reads TOML that is bounded first.
var Decode = spelling.Decode

// TOML is what is wrong with a file that is no TOML, and on which line.
func TOML(text string, err error) (line int, say string) { return spelling.TOML(text, err) }

// Nearest is the known word that is fewest edits away from word, if that is near enough to be a slip. Words that only
// differ in their section ("sound.volume") are found by their last part.
func Nearest(word string, known []string) string {
	if len(word) > 64 {
		return "" // the table below is len x len
	}
	best, distance := "", 1+max(2, len(word)/4)
	for _, k := range known {
		if d := spelling.Distance(word, k); d < distance {
			best, distance = k, d
		}
	}
	if best != "" {
		return best
	}
	last := word[strings.LastIndex(word, ".")+1:]
	for _, k := range known {
		if _, name, ok := strings.Cut(k, "."); ok && name == last {
			return k
		}
	}
	return ""
}

// Quote writes s as a basic string of TOML 1.0.
func Quote(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\t':
			b.WriteString(`\t`)
		case r < ' ' || r == 0x7f:
			fmt.Fprintf(&b, `\u%04X`, r)
		default:
			b.WriteRune(r)
		}
	}
	b.WriteByte('"')
	return b.String()
}
