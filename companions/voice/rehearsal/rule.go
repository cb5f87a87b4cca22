package rehearsal

import (
	"encoding/json"
	"slices"
)

// aRule answers when match finds its words; reply may still decline.
type aRule struct {
	match func(words []string) bool
	reply func(t Thought, words []string) (Reply, bool)
}

// ask goes through a table from the top; the first rule that answers wins.
func ask(table []aRule, t Thought, words []string) (Reply, bool) {
	for _, r := range table {
		if r.match(words) {
			if reply, ok := r.reply(t, words); ok {
				return reply, true
			}
		}
	}
	return Reply{}, false
}

// tool calls a tool, where it is there.
func tool(name string, args m) func(Thought, []string) (Reply, bool) {
	return func(t Thought, _ []string) (Reply, bool) { return callTool(t, name, args) }
}

func callTool(t Thought, name string, args m) (Reply, bool) {
	if args == nil {
		args = m{}
	}
	b, _ := json.Marshal(args)
	return Reply{Calls: []Call{{name, string(b)}}}, slices.Contains(t.Tools, name)
}

// withTool calls a tool where it is there.
func withTool(name string, args func(words []string) any) func(Thought, []string) (Reply, bool) {
	return func(t Thought, words []string) (Reply, bool) {
		b, _ := json.Marshal(args(words)) // of texts and numbers
		return Reply{Calls: []Call{{name, string(b)}}}, slices.Contains(t.Tools, name)
	}
}
