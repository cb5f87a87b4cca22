package rehearsal

import (
	"encoding/json"
	"slices"
	"strings"
)

// library is what a person says of books and music (skill library). What pocketsphinx makes of a word is beside it.
var library = []aRule{
	{asleep, sleepTimer},
	{all("where", "was|were|am|are", "i|we"), tool("now_playing", nil)},
	{all("what|whats|which", "playing|plays"), tool("now_playing", nil)},
	{all("what|whats|which", "book|song|title", "this|that"), tool("now_playing", nil)},
	{all("pause|paws|pours"), tool("pause", nil)},
	{all("play"), play},
	{chapters, chapter},
	{all("back|forward|ahead|rewind", "second|seconds|minute|minutes|little|bit"), skip},
	{all("rewind"), skip},
	{all("go|carry|move", "on|own"), keepOn},
	{all("continue|resume|unpause"), keepOn},
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

var chapters = all("chapter|chapters|chatter|captor|track")

// asleep is "stop in twenty minutes", and not "stop".
func asleep(words []string) bool {
	return all("stop|sleep|off|quiet", "in|after|timer|for", "minute|minutes|hour|hours")(words)
}

func sleepTimer(t Thought, words []string) (Reply, bool) {
	n, ok := number1(words)
	switch hour := all("hour|hours")(words); {
	case hour && slices.Contains(words, "half"):
		n = 30
	case hour && ok:
		n *= 60
	case hour:
		n = 60
	case !ok:
		return Reply{}, false
	}
	return callTool(t, "sleep_timer", m{"minutes": min(n, 720)})
}

// play plays what is named behind the word.
func play(t Thought, words []string) (Reply, bool) {
	title := words[slices.Index(words, "play")+1:]
	rest := slices.DeleteFunc(slices.Clone(title), func(w string) bool { return w == "the" })
	if len(rest) > 0 && chapters(rest[:1]) && !slices.Contains(rest, "of") || len(rest) > 1 && chapters(rest[1:2]) {
		return chapter(t, words) // "play chapter two", "play the next chapter"
	}
	args := m{}
	if i := strings.Index(strings.Join(title, " "), "from the "); i >= 0 && all("beginning|start")(title) {
		title, args["from_the_beginning"] = strings.Fields(strings.Join(title, " ")[:i]), true
	}
	args["title"] = strings.Join(title, " ")
	return callTool(t, "play", args)
}

func keepOn(t Thought, _ []string) (Reply, bool) { return callTool(t, "go_on", nil) }

// skip goes back or forward by what is named; a little is half a minute.
func skip(t Thought, words []string) (Reply, bool) {
	n, ok := number1(words)
	if !ok {
		n = 1 // "a minute"
	}
	switch {
	case all("minute|minutes")(words):
		n *= 60
	case !ok:
		n = 30
	}
	if !all("forward|ahead")(words) {
		n = -n
	}
	return callTool(t, "skip", m{"seconds": min(max(n, -36000), 36000)})
}

func chapter(t Thought, words []string) (Reply, bool) {
	switch n, ok := number1(words); {
	case all("next")(words):
		return callTool(t, "chapter", m{"by": 1})
	case all("previous|last|back|before")(words):
		return callTool(t, "chapter", m{"by": -1})
	case all("again|this")(words):
		return callTool(t, "chapter", m{"by": 0})
	case ok && n > 0:
		return callTool(t, "chapter", m{"number": min(n, 10000)})
	}
	return Reply{}, false
}
