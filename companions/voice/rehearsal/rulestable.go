package rehearsal

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// controls are what a person tells the device to do. In each row one group of alternatives must be there for every argument
// of all.
var controls = []aRule{
	{hushes, useTool("stop", "All right.")},
	{all("leave", "us|it", "us|between"), involve("off")}, // "leave it to us" (ROOM.md 6)
	{all("join", "in|again|us"), involve("medium")},
	{all("talk", "less"), involve("low")},
	{all("talk", "more"), involve("high")},
	{all("what|did|have|anything|which", "miss|missed"), tool("list_missed", nil)},
	{all("exactly|repeat", "say|after|repeat"), repeat},
	{begins("mute"), tool("mute", nil)},
	{all("microphone|mike", "off|close"), tool("mute", nil)},
	{all("volume|louder|quieter|softer"), volume},
	{begins("turn", "it|sound|music", "up|down"), volume},
	{all("count|counting|counts|countdown"), count},
	{countTo, count},
}

// smallTalk is the rest of what the rules know.
var smallTalk = []aRule{
	{all("story|stories|tale"), func(Thought, []string) (Reply, bool) { return say(story), true }},
	{begins("what|whats|tell", "time|clock"), clock},
	{all("what|whats|tell|which", "date|day|today"), func(t Thought, _ []string) (Reply, bool) {
		return say("Today is " + t.Now.Format("Monday, January 2, 2006") + "."), true
	}},
	{all("name|names|called|who", "your|you|what|whats"), whoAmI},
	{all("room", "who|anybody|anyone"), useTool("who_is_here", "Only you and me, as far as I know.")},
	{all("plus|minus|times|divided|over"), sum},
	{all("what|who", "hear|heard|said|say"), func(t Thought, _ []string) (Reply, bool) {
		return say("I heard you say: " + t.Words + "."), true
	}},
	{all("joke|funny"), pick("Why did the shell never answer the phone? It was always engaged with the sea.",
		"I would tell you a joke about latency, but you would get it before I finished.")},
	{all("weather|rain|sunny"), pick("I have no window here. Look outside, and tell me.")},
	{all("thank|thanks"), pick("You are welcome.", "With pleasure.")},
	{all("how", "are", "you"), pick("I am well, thank you. And you?", "All my threads are running. How are you?")},
	{all("good", "morning|evening|night|afternoon"), pick("And the same to you.")},
	{all("goodbye|bye"), pick("Goodbye. Press when you need me.", "See you.")},
	{all("help|can", "you|me|help"), func(Thought, []string) (Reply, bool) { return say(aboutRehearsal), true }},
	{all("hello|hi|hey"), pick("Hello. What can I do for you?", "Hello. I am listening.")},
	{all("time", "the|is|now|please"), clock},
	{all("name"), whoAmI},
}

// hushes is "please be quiet", and not "where is the bus stop".
func hushes(words []string) bool {
	const wished = "stop|quiet|silence|shut|hush"
	return !isQuestion(words) && (begins(wished)(words) || len(words) <= 4 && all(wished)(words))
}

// countTo is "count to twenty" as pocketsphinx hears it: "down to twenty", "come to twenty".
func countTo(words []string) bool {
	i := slices.IndexFunc(words, func(w string) bool { return w == "to" || w == "two" || w == "too" })
	if i < 0 || i > 2 {
		return false
	}
	_, ok := number1(words[i+1:])
	return ok && all("down|come|comes|coming|calm|counted|account|kind|cant|cow|town")(words[:i])
}

func pick(texts ...string) func(Thought, []string) (Reply, bool) {
	return func(t Thought, _ []string) (Reply, bool) {
		if t.Rand == nil {
			return say(texts[0]), true
		}
		return say(texts[t.Rand.IntN(len(texts))]), true
	}
}

func useTool(tool, otherwise string) func(Thought, []string) (Reply, bool) {
	return func(t Thought, _ []string) (Reply, bool) {
		if slices.Contains(t.Tools, tool) {
			return Reply{Calls: []Call{{tool, "{}"}}}, true
		}
		return say(otherwise), true
	}
}

// involve sets how much companions join in, where the room lets it.
func involve(how string) func(Thought, []string) (Reply, bool) {
	return func(t Thought, _ []string) (Reply, bool) {
		if !slices.Contains(t.Tools, "set_involvement") {
			return Reply{}, false
		}
		return Reply{Calls: []Call{{"set_involvement", `{"involvement":"` + how + `"}`}}}, true
	}
}

func clock(t Thought, words []string) (Reply, bool) {
	if onlyTells(words) {
		return Reply{}, false
	}
	place := elsewhere(words)
	switch {
	case slices.Contains(t.Tools, "get_time") && place != "":
		return callTool(t, "get_time", m{"place": place})
	case slices.Contains(t.Tools, "get_time"):
		return Reply{Calls: []Call{{"get_time", "{}"}}}, true
	case place != "":
		return say("I know what time it is here, and nowhere else."), true
	}
	return say("It is " + t.Now.Format("3:04 PM") + "."), true
}

// elsewhere is the place of "what time is it in new york now"; empty: it is about here.
func elsewhere(words []string) string {
	i := slices.Index(words, "in")
	if i < 0 || i+1 == len(words) || all("a|an|the|here|this|my|our|your")(words[i+1:i+2]) {
		return ""
	}
	rest := words[i+1:]
	if _, n := lengthAt(rest); n > 0 { // "in ten minutes"
		return ""
	}
	for len(rest) > 0 && all("now|right|today|please|then|currently")(rest[len(rest)-1:]) {
		rest = rest[:len(rest)-1]
	}
	return strings.Join(rest, " ")
}

func whoAmI(t Thought, _ []string) (Reply, bool) {
	return say("My name is " + name(t.Instructions) + ". I am rehearsing: " + t.About + "."), true
}

func repeat(t Thought, words []string) (Reply, bool) {
	low := strings.ToLower(t.Words)
	for _, mark := range []string{"exactly", "after me", "repeat"} {
		if i := strings.Index(low, mark); i >= 0 && len(low) == len(t.Words) {
			if text := strings.Trim(t.Words[i+len(mark):], " :,.\""); text != "" {
				return say(text + "."), true
			}
		}
	}
	return Reply{}, false
}

func volume(t Thought, words []string) (Reply, bool) {
	if isQuestion(words) {
		return Reply{}, false
	}
	if !slices.Contains(t.Tools, "set_volume") {
		return say("I cannot reach the volume from here."), true
	}
	return Reply{Calls: []Call{{"set_volume", argsFor("set_volume", words)}}}, true
}

// argsFor makes the arguments of the tools the rules know; others get an empty object.
func argsFor(tool string, words []string) string {
	var args any = struct{}{}
	n, ok := number1(words)
	has := func(alternatives string) bool { return all(alternatives)(words) }
	switch tool {
	case "set_volume":
		switch {
		case ok:
		case has("full|maximum|max"):
			n = 100
		case has("louder|up|loud"):
			n = 90
		case has("quieter|softer|down|low"):
			n = 20
		default:
			n = 50
		}
		args = m{"percent": min(n, 100)}
	case "set_timer":
		args = m{"seconds": 60}
		if length, _, ok := duration(words); ok {
			args = m{"seconds": length}
		}
	}
	b, _ := json.Marshal(args)
	return string(b)
}

func sum(_ Thought, words []string) (Reply, bool) {
	at := slices.IndexFunc(words, func(w string) bool { return all("plus|minus|times|divided|over")([]string{w}) })
	a, okA := number1(words[:at])
	b, okB := number1(words[at+1:])
	if !okA || !okB {
		return Reply{}, false
	}
	switch words[at] {
	case "plus":
		return say(fmt.Sprintf("%d plus %d is %d.", a, b, a+b)), true
	case "minus":
		return say(fmt.Sprintf("%d minus %d is %d.", a, b, a-b)), true
	case "times":
		return say(fmt.Sprintf("%d times %d is %d.", a, b, a*b)), true
	}
	if b == 0 {
		return say("Nothing can be divided by zero."), true
	}
	return say(fmt.Sprintf("%d divided by %d is %s.", a, b, strconv.FormatFloat(float64(a)/float64(b), 'g', 4, 64))), true
}

// count counts to the number asked for, or to twenty: an answer long enough to be interrupted.
func count(_ Thought, words []string) (Reply, bool) {
	n, ok := number1(after(words, "to"))
	if !ok {
		n, ok = number1(words)
	}
	if !ok || n < 1 {
		n = 20
	}
	var b strings.Builder
	for i := 1; i <= min(n, 200); i++ {
		b.WriteString(spell(i))
		switch {
		case i == min(n, 200):
			b.WriteString(".")
		case i%5 == 0:
			b.WriteString(". ")
		default:
			b.WriteString(", ")
		}
	}
	return say(b.String()), true
}

const story = "Once upon a time a shell lay on a beach and listened. " +
	"Every evening the sea told it the same story, and every evening the shell pretended to hear it for the first time. " +
	"One morning a child picked it up and held it to her ear. " +
	"The shell was so surprised to be listened to that it forgot the ending. " +
	"So it began to make things up. " +
	"It told her of a lighthouse that was afraid of the dark, and kept its lamp lit only for itself. " +
	"It told her of a crab who walked straight ahead for a whole day, just to see where everybody else was going. " +
	"It told her of a gull who collected silences, and kept the best ones under a stone. " +
	"The child carried the shell home and put it on a shelf beside a window. " +
	"There it heard rain, and trams, and someone practising the same four bars on a piano. " +
	"It learned that houses are beaches too, and that people wash up in them, a little changed each time. " +
	"And whenever the child pressed it to her ear, it told her what it had heard. " +
	"And whenever she put it down in the middle of a sentence, it was quiet at once. " +
	"Because a good story, said the shell, is one that can wait. The end."

const aboutRehearsal = "This is a rehearsal without a model, so I know only a few things: the time, the date, sums, counting, and a story. " +
	"For a real voice, give me a key and start again."
