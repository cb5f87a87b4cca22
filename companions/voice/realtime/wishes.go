package realtime

import (
	"strings"
	"unicode"

	"conch/coordinator/turn"
)

// wishes are what a session is described with besides its configuration; they may change while it lasts.
type wishes struct {
	tools   []turn.ToolSpec
	version int    // of tools
	names   string // the prompt of the transcription, "": there is none
}

// Bounds of a prompt, which a server reads with each utterance.
const (
	mostNames   = 32
	longestName = 40 // bytes
)

// namesPrompt lists names in the form that transcription models are documented to take: text of the kind that is expected.
func namesPrompt(names []string) string {
	var list []string
	for _, n := range names {
		n = strings.TrimSpace(strings.Map(func(r rune) rune {
			if r == ',' || r == '.' || unicode.IsControl(r) {
				return ' '
			}
			return r
		}, n))
		if n != "" && len(n) <= longestName && len(list) < mostNames {
			list = append(list, n)
		}
	}
	if len(list) == 0 {
		return ""
	}
	return "Names: " + strings.Join(list, ", ") + "."
}
