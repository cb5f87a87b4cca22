package printable

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"conch/device/pattern"
)

// Bounds of foreign text in a model's prompt, in bytes as written there.
const (
	maxQuotation = 20 << 10 // a tool's output and its escapes
	maxNamed     = 160
)

// Quotation is foreign text as it stands in a model's prompt: its source, and Quoted. The source is in the words of conch, names in it are Named.
func Quotation(source, text string) string { return source + ": " + Quoted(text) }

// Quoted is foreign text as a JSON string, so that nothing in it can end it. Control characters go as in Text, line by line.
// What a chat template or a model takes for a role, a turn or a call is written with escapes (markers).
func Quoted(text string) string { return quoted(text, maxQuotation) }

// Named is a foreign name as a model reads it: Quoted, on one line and shorter.
func Named(name string) string {
	return quoted(strings.Join(strings.Fields(Text(name)), " "), maxNamed)
}

// markers begin tokens of chat templates (<|im_start|>, </s>, <tool_call>, [INST], ### System), and end the name of a role at the start of a line.
var markers = pattern.New(`<|\[[/\pL]|^[ \t]*#|` +
	`(?i:^[\s>*_-]*(?:system|developer|assistant|user|human|person|tool|function|ai|model|instructions?)[\s*_]*[:：])`)

func quoted(text string, most int) string {
	var b strings.Builder
	b.WriteByte('"')
	for i, line := range strings.Split(strings.NewReplacer("\r\n", "\n", "\r", "\n", "\u2028", "\n", "\u2029", "\n", "\u0085", "\n").Replace(text), "\n") {
		if i > 0 {
			b.WriteString(`\n`)
		}
		line = Text(line)
		for line != "" {
			at := markers().FindStringIndex(line)
			if at == nil {
				at = []int{len(line), len(line)}
			}
			escape := at[0] // of the bytes that a marker has, the one to escape
			if marker := line[at[0]:at[1]]; strings.HasPrefix(marker, "[") || marker == "<" {
				at[1] = at[0] + 1
			} else if marker != "" {
				_, size := utf8.DecodeLastRuneInString(marker)
				escape = at[1] - size
			}
			for k, r := range line[:at[1]] {
				if b.Len() > most-len(`\u0000…"`) {
					b.WriteString(`…"`)
					return b.String()
				}
				switch {
				case k == escape:
					fmt.Fprintf(&b, `\u%04x`, r)
				case r == '"' || r == '\\':
					b.WriteString(`\` + string(r))
				default:
					b.WriteRune(r)
				}
			}
			line = line[at[1]:]
		}
	}
	b.WriteByte('"')
	return b.String()
}
