package rehearsal

import (
	"slices"
	"strings"
)

// timerRules are of the skill timers.
var timerRules = []aRule{
	{moreTime, snooze},
	{all("snooze"), snooze},
	{all("cancel|delete|remove|clear|stop|end|off", timerWords), withTool("cancel_timer", func(words []string) any {
		if all("all|every|timers")(words) {
			return m{"all": true}
		}
		return m{"name": nameIn(words, "cancel delete remove clear stop end turn switch shut off")}
	})},
	{howLong, withTool("list_timers", func(words []string) any {
		return m{"name": nameIn(words, "how long longer much many minutes time is has have i got left on are there until more does take still need")}
	})},
	{all("which|what|list|tell|show", "timers"), tool("list_timers", nil)},
	{begins("is|are", timerWords), tool("list_timers", nil)},
	{begins("wake"), timer},
	{all(timerWords), timer},
}

// timerWords has what pocketsphinx makes of it as well.
const timerWords = "timer|timers|alarm|alarms|tamer|diner"

// moreTime is "five more minutes", and not "set another timer for five minutes".
func moreTime(words []string) bool {
	_, _, ok := duration(slices.DeleteFunc(slices.Clone(words), isMore))
	return ok && all("more|another|add")(words) && !begins("set|start|make|put")(words) && !all("than|ago")(words)
}

func isMore(word string) bool { return word == "more" || word == "another" }

func howLong(words []string) bool {
	return begins("how", "long|longer|much|many")(words) &&
		(all("left|until|more|longer|got|still|timer")(words) || all("is|has", "the|my")(words))
}

// snooze is "snooze the pasta for ten minutes", "five more minutes for the eggs", "snooze the reminder", "remind me again in ten minutes".
func snooze(t Thought, words []string) (Reply, bool) {
	args := m{}
	length, rest, ok := duration(slices.DeleteFunc(slices.Clone(words), isMore))
	if n, counted := number1(rest); !ok && counted { // "snooze ten"
		length, ok = 60*int64(n), true
		rest = slices.DeleteFunc(slices.Clone(rest), numeral)
	}
	if ok {
		args["seconds"] = length
	}
	if name := nameIn(rest, "snooze add give to"); name != "" {
		args["name"] = name
	}
	if all(reminderWords)(words) || remindAt(words) == 0 {
		delete(args, "name")
		return callTool(t, "snooze_reminder", args)
	}
	return callTool(t, "snooze_timer", args)
}

// timer is "set a timer for ten minutes for the pasta", in whatever order.
func timer(t Thought, words []string) (Reply, bool) {
	length, rest, ok := duration(words)
	starts := begins("set|start|make|put|new|another|" + timerWords)(words)
	switch {
	case isQuestion(words), !ok && !starts:
		return Reply{}, false
	case !slices.Contains(t.Tools, "set_timer"):
		return say("I have no timer here yet."), true
	case !ok:
		return say("How long should the timer be?"), true
	}
	args := m{"seconds": length}
	const besides = "set start make put wake up on in of to new another called named"
	at := slices.IndexFunc(rest, func(w string) bool { return all(timerWords)([]string{w}) })
	name := nameIn(rest[at+1:], besides)
	if name == "" && (starts || numeral(words[0])) { // "set an egg timer"; what is misheard names nothing
		name = nameIn(rest[:max(at, 0)], besides)
	}
	if name != "" {
		args["name"] = name
	}
	return callTool(t, "set_timer", args)
}

// nameIn is the name of something in what was said of it: without those words, and those that name nothing.
func nameIn(words []string, without string) string {
	left := slices.DeleteFunc(slices.Clone(words), func(w string) bool {
		return slices.Contains(strings.Fields(without+" a an for please it me"), w) || all(timerWords)([]string{w})
	})
	left = slices.Compact(left) // "the timer for the pasta"
	if len(left) == 1 && (left[0] == "the" || left[0] == "my") {
		return ""
	}
	return strings.Join(left, " ")
}
