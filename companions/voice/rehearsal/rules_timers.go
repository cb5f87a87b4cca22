package rehearsal

import (
	"encoding/json"
	"slices"
	"strings"
)

// timerRules are of the skill timers.
var timerRules = []aRule{
	{all("more|another", "second|seconds|minute|minutes|hour|hours"), withTool("snooze_timer", func(words []string) any {
		if n, ok := duration(words); ok {
			return m{"seconds": n}
		}
		return m{}
	})},
	{all("snooze"), withTool("snooze_timer", func([]string) any { return m{} })},
	{all("cancel|delete|remove|stop|end", timerWords), withTool("cancel_timer", func(words []string) any {
		if all("all|every|timers")(words) {
			return m{"all": true}
		}
		return m{"name": without(words, "cancel", "delete", "remove", "stop", "end", "please")}
	})},
	{all("how", "long|time", "is|has|are|left"), withTool("list_timers", func(words []string) any {
		return m{"name": without(words, "how", "long", "much", "time", "is", "has", "got", "left", "on", "are", "there", "until", "more", "does", "take")}
	})},
	{all("which|what|list|tell", "timers"), withTool("list_timers", func([]string) any { return m{} })},
	{all(timerWords, "set|start|second|seconds|minute|minutes|hour|hours"), timer},
}

const timerWords = "timer|timers|alarm|alarms|tamer"

// withTool calls a tool where it is there.
func withTool(tool string, args func(words []string) any) func(Thought, []string) (Reply, bool) {
	return func(t Thought, words []string) (Reply, bool) {
		b, _ := json.Marshal(args(words)) // of texts and numbers
		return Reply{Calls: []Call{{tool, string(b)}}}, slices.Contains(t.Tools, tool)
	}
}

// timer is "set a timer for ten minutes for the pasta", in whatever order.
func timer(t Thought, words []string) (Reply, bool) {
	if !slices.Contains(t.Tools, "set_timer") {
		return say("I have no timer here yet."), true
	}
	args := m{"seconds": 60}
	if n, ok := duration(words); ok {
		args["seconds"] = n
	}
	for i, part := range split(words, "for") {
		if _, ok := duration(part); !ok && i > 0 && len(part) > 0 {
			args["name"] = without(part, "please")
		}
	}
	b, _ := json.Marshal(args) // of texts and numbers
	return Reply{Calls: []Call{{"set_timer", string(b)}}}, true
}

// duration reads "one hour and thirty minutes", in seconds.
func duration(words []string) (total int, ok bool) {
	from := 0
	for i, w := range words {
		unit := map[string]int{"second": 1, "minute": 60, "hour": 3600}[strings.TrimSuffix(w, "s")]
		if unit == 0 {
			continue
		}
		switch n, counted := number1(words[from:i]); {
		case counted:
			total += min(n, 1e6) * unit
		case slices.Contains(words[from:i], "half"):
			total += unit / 2
		default:
			total += unit
		}
		from, ok = i+1, true
	}
	return total, ok
}

// split cuts at a word.
func split(words []string, at string) (parts [][]string) {
	for {
		i := slices.Index(words, at)
		if i < 0 {
			return append(parts, words)
		}
		parts, words = append(parts, words[:i]), words[i+1:]
	}
}

// without is what is left of words, as a text.
func without(words []string, these ...string) string {
	left := strings.Join(slices.DeleteFunc(slices.Clone(words), func(w string) bool {
		return slices.Contains(these, w) || all(timerWords)([]string{w})
	}), " ")
	if left == "the" || left == "my" {
		return ""
	}
	return left
}
