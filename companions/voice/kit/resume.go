package kit

import (
	"fmt"
	"strings"

	"conch/coordinator/turn"
	"conch/device/printable"
)

// maxQuoted is how much of what was said a model is reminded of, in bytes.
const maxQuoted = 400

// Resume is what the model is told in order to go on with an answer.
func Resume(h *History, o turn.CreateResponse) string {
	said := ""
	for _, e := range h.Entries {
		if e.Turn == o.Turn && e.Role == "assistant" && e.Text != "" {
			said = e.Text
		}
	}
	prompt := "The connection broke while you were answering. Answer again, without a word about that."
	if said != "" {
		prompt = fmt.Sprintf("The connection broke while you were answering; the person has heard your answer up to about these words: %s. "+
			"Go on from there without a word about that: begin with the sentence that broke off, and repeat nothing before it.", printable.Quoted(Ending(said)))
	}
	if o.Prompt != "" {
		prompt = o.Prompt + "\n\n" + prompt
	}
	return prompt
}

// Ending is the end of a long text, from a word on.
func Ending(text string) string {
	if len(text) <= maxQuoted {
		return text
	}
	text = strings.ToValidUTF8(text[len(text)-maxQuoted:], "")
	if _, rest, ok := strings.Cut(text, " "); ok {
		text = rest
	}
	return "… " + text
}
