package rehearsal

import (
	"encoding/json"
	"slices"
	"strings"
)

// noteRules are of the skill notes.
var noteRules = []aRule{
	{all("what|which", "i|you", "tell|told|remember|remembered"), withTool("recall", func(words []string) any {
		return m{"about": strings.Join(after(words, "about"), " ")}
	})},
	{all("forget"), withTool("forget", func(words []string) any {
		words = words[slices.Index(words, "forget")+1:]
		if all("everything|all")(words) {
			return m{"all": true}
		}
		return m{"about": without(words, "the", "about", "that", "my", "please")}
	})},
	{all("remember"), remembered},
}

// remembered keeps what is behind the word as it was written.
func remembered(t Thought, _ []string) (Reply, bool) {
	low := strings.ToLower(t.Words)
	at := strings.Index(low, "remember")
	if at < 0 || len(low) != len(t.Words) || !slices.Contains(t.Tools, "remember") {
		return Reply{}, false
	}
	text := strings.TrimLeft(t.Words[at+len("remember"):], " ,:")
	if len(text) > 5 && strings.EqualFold(text[:5], "that ") {
		text = text[5:]
	}
	if text = strings.TrimSpace(text); text == "" {
		return say("What should I remember?"), true
	}
	b, _ := json.Marshal(m{"text": strings.ToUpper(text[:1]) + text[1:]}) // of a text
	return Reply{Calls: []Call{{"remember", string(b)}}}, true
}
