package rehearsal

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"
)

// house is what a household's own list has in it (set_home, read_home). "Which", "turned" and the like are how "switch" and "turn" are
// misheard; a thing that is the only one need not be heard at all.
var house = []aRule{
	{begins("switch|switched|which|turn|turned|turns|put|set|dim|open|close|lock|unlock"), setHome},
	{all("is|what|whats|how|read|does", "is|what|whats|how|read|tell"), readHome},
}

func setHome(t Thought, words []string) (Reply, bool) {
	if all("timer|alarm|volume|microphone|music|book|is|are")(words) {
		return Reply{}, false
	}
	value := ""
	for _, w := range words {
		if slices.Contains([]string{"on", "off", "open", "close", "closed", "lock", "unlock", "up", "down", "red", "green", "blue", "white"}, w) {
			value = w // the last: "switch on the lamp on the left off" is nobody's sentence
		}
	}
	if n, ok := number1(words); ok && value != "on" && value != "off" {
		value = strconv.Itoa(n)
	}
	things, named := thingsOf(t.Takes["set_home"], words)
	if value == "" || len(things) == 0 || !named && (value != "on" && value != "off" || len(words) > 5 || words[0] == "put") {
		return Reply{}, false
	}
	if len(things) > 1 {
		return whichOf(things), true
	}
	args, _ := json.Marshal(m{"thing": things[0], "value": value})
	return Reply{Calls: []Call{{"set_home", string(args)}}}, true
}

func readHome(t Thought, words []string) (Reply, bool) {
	things, named := thingsOf(t.Takes["read_home"], words)
	if !named || slices.Contains(words, "you") { // "what do you think of the kitchen"
		return Reply{}, false
	}
	if len(things) > 1 {
		return whichOf(things), true
	}
	args, _ := json.Marshal(m{"thing": things[0]})
	return Reply{Calls: []Call{{"read_home", string(args)}}}, true
}

// whichOf asks which is meant: nothing is switched by guess.
func whichOf(things []string) Reply {
	return say("Which one: the " + strings.Join(things, ", or the ") + "?")
}

// thingsOf are those of which most of the name was said and least was not, of what a tool's schema names; the only one there is, if none was.
func thingsOf(schema any, words []string) (things []string, named bool) {
	s, _ := schema.(m)
	names := get[[]any](get[m](get[m](s, "properties"), "thing"), "enum")
	said, unsaid := 0, 0
	for _, v := range names {
		name, _ := v.(string)
		n, not := 0, 0
		for _, w := range normal(name) {
			if slices.Contains(words, w) {
				n++
			} else {
				not++
			}
		}
		switch {
		case n == 0 || n < said || n == said && not > unsaid:
		case n > said || not < unsaid:
			things, said, unsaid = []string{name}, n, not
		default:
			things = append(things, name)
		}
	}
	if len(things) == 0 && len(names) == 1 {
		name, _ := names[0].(string)
		return []string{name}, false
	}
	return things, said > 0
}
