package rehearsal

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"
)

// library is what a person says of books and music (skill library). What pocketsphinx makes of a word is beside it.
var library = []aRule{
	{asleep, sleepTimer},
	{all("where", "was|were|am|are", "i|we"), tool("now_playing", nil)},
	{all("what|whats|which", "playing|plays"), tool("now_playing", nil)},
	{all("what|whats|which", "book|song|title", "this|that"), tool("now_playing", nil)},
	{all("pause|paws|pours"), tool("pause", nil)},
	{all("faster|quicker|slower|speed|tempo|times"), speed},
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

// speed reads a book faster or slower: "faster", "at one and a half times", "normal speed", "speed one hundred and fifty percent".
func speed(t Thought, words []string) (Reply, bool) {
	pace := all("speed|tempo")(words)
	factor := func(percent int) (Reply, bool) { return callTool(t, "speed", m{"percent": min(max(percent, 75), 200)}) }
	n, ok := number1(words)
	share := 0
	for _, w := range strings.Fields(t.Words) { // "1.5", typed
		if f, err := strconv.ParseFloat(w, 64); err == nil && strings.Contains(w, ".") && f > 0 && f < 10 {
			n, share = 0, int(100*f+0.5)
		}
	}
	switch i := slices.Index(words, "point"); {
	case i > 0 && i+1 < len(words):
		n, ok = number1(words[:i])
		if share, _ = number1(words[i+1 : i+2]); share < 10 {
			share *= 10
		}
		if all("twenty", "five")(words[i+1:]) || all("two", "five")(words[i+1:]) {
			share = 25
		} else if all("seven|seventy", "five")(words[i+1:]) {
			share = 75
		}
	case all("quarters")(words):
		share = 75
		if n == 3 {
			n = 0
		}
	case all("half")(words):
		share = 50
	case all("quarter")(words):
		share = 25
	}
	switch {
	case all("talk|speak|you")(words):
		return Reply{}, false // who speaks is no book
	case all("faster|quicker")(words):
		return callTool(t, "speed", m{"by": 25})
	case all("slower")(words):
		return callTool(t, "speed", m{"by": -25})
	case pace && all("normal|usual|original|regular")(words):
		return factor(100)
	case pace && all("double|twice")(words):
		return factor(200)
	case share > 0 && (pace || !all("what|whats|minute|minutes|hour|hours")(words)):
		return factor(100*n + share)
	case pace && ok && n >= 10:
		return factor(n)
	case pace && ok && n > 0:
		return factor(100 * n)
	}
	return Reply{}, false
}
