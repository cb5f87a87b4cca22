package rehearsal

import (
	"math"
	"slices"
	"strings"
)

// library is what a person says of books and music (skill library). What pocketsphinx makes of a word is beside it.
var library = []aRule{
	{whereWasI, tool("now_playing", nil)},
	{begins("what|whats|which", "playing|plays|listening|hearing"), tool("now_playing", nil)},
	{begins("what|whats|which", "book|song|title", "this|that"), tool("now_playing", nil)},
	{begins("pause|paws|pours"), tool("pause", nil)},
	{all("faster|quicker|slower|speed|tempo|times"), speed},
	{begins("play|playing"), play},
	{chapters, chapter},
	{all("back|forward|ahead|rewind", timeUnits+"|little|bit"), skip},
	{begins("rewind"), skip},
	{begins("go|carry|move|keep", "on|own|playing"), tool("go_on", nil)},
	{begins("continue|resume|unpause"), tool("go_on", nil)},
}

const timeUnits = "second|seconds|minute|minutes|hour|hours"

// whereWasI is of the book: not "where was I born".
func whereWasI(words []string) bool {
	return begins("where", "was|am", "i")(words) && (len(words) == 3 || all("book|story|chapter")(words))
}

var chapters = all("chapter|chapters|chatter|captor|track")

// asleep is "stop in twenty minutes", and not "stop".
func asleep(words []string) bool {
	return all("stop|sleep|off|quiet", "in|after|timer", timeUnits)(words) && !isQuestion(words) && remindAt(words) < 0
}

func sleepTimer(t Thought, words []string) (Reply, bool) {
	length, _, ok := duration(words)
	if !ok || length <= 0 {
		return Reply{}, false
	}
	return callTool(t, "sleep_timer", m{"minutes": min((length+59)/60, 720)})
}

// play plays what is named behind the word.
func play(t Thought, words []string) (Reply, bool) {
	title := words[1:]
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

// skip goes back or forward by what is named; a little is half a minute.
func skip(t Thought, words []string) (Reply, bool) {
	n, _, ok := duration(words)
	if !ok {
		n = 30
	}
	if !all("forward|ahead")(words) {
		n = -n
	}
	return callTool(t, "skip", m{"seconds": min(max(n, -36000), 36000)})
}

func chapter(t Thought, words []string) (Reply, bool) {
	switch n, ok := number1(words); {
	case all("next")(words), begins("skip")(words):
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
	factor := func(percent float64) (Reply, bool) {
		return callTool(t, "speed", m{"percent": int(min(max(math.Round(percent), 75), 200))})
	}
	n := 0.0
	for i := range words {
		if times, k := howMany(words[i:]); k > 1 || k == 1 && numeral(words[i]) || times == 0.5 {
			n = times
			break
		}
	}
	switch {
	case isQuestion(words) || all("talk|speak|you|than")(words):
		return Reply{}, false // who speaks is no book
	case all("faster|quicker")(words):
		return callTool(t, "speed", m{"by": 25})
	case all("slower")(words):
		return callTool(t, "speed", m{"by": -25})
	case pace && all("normal|usual|original|regular")(words):
		return factor(100)
	case pace && all("double|twice")(words):
		return factor(200)
	case pace && n >= 10:
		return factor(n)
	case n > 0 && n < 10 && (pace || n != math.Trunc(n)):
		return factor(100 * n)
	}
	return Reply{}, false
}
