package rehearsal

import (
	"encoding/json"
	"slices"
	"strings"
)

// noteRules are of the skill notes.
var noteRules = []aRule{
	{begins("forget"), forget},
	{begins("what|which|do|where|tell", "i|you", "tell|told|said|remember|remembered"), recall},
	{begins("what", "i", "say", "about"), recall},
	{begins("remember|remembered"), remembered},
}

var recall = withTool("recall", func(words []string) any { return m{"about": strings.Join(after(words, "about"), " ")} })

func forget(t Thought, words []string) (Reply, bool) {
	args := m{}
	if all("everything|all")(words) {
		args["all"] = true
	}
	about := after(words, "about")
	if about == nil {
		about = words[1:]
	}
	if name := nameIn(about, "the that this my all everything"); name != "" {
		args["about"] = name
	}
	if len(args) == 0 { // "forget it"
		return Reply{}, false
	}
	return callTool(t, "forget", args)
}

// remembered keeps what is behind the word as it was written.
func remembered(t Thought, words []string) (Reply, bool) {
	if len(words) > 1 && all("when|how|the|me|him|her")(words[1:2]) { // a memory
		return Reply{}, false
	}
	low := strings.ToLower(t.Words)
	at := strings.Index(low, "remember")
	if at < 0 || len(low) != len(t.Words) || !slices.Contains(t.Tools, "remember") {
		return Reply{}, false
	}
	text := strings.TrimLeft(strings.TrimPrefix(t.Words[at+len("remember"):], "ed "), " ,:")
	if len(text) > 5 && strings.EqualFold(text[:5], "that ") {
		text = text[5:]
	}
	if text = strings.TrimSpace(text); text == "" {
		return say("What should I remember?"), true
	}
	b, _ := json.Marshal(m{"text": strings.ToUpper(text[:1]) + text[1:]}) // of a text
	return Reply{Calls: []Call{{"remember", string(b)}}}, true
}
