package rehearsal

import (
	"encoding/json"
	"slices"
	"strconv"
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
	thing, named := thingOf(t.Takes["set_home"], words)
	if value == "" || thing == "" || !named && (value != "on" && value != "off" || len(words) > 5 || words[0] == "put") {
		return Reply{}, false
	}
	args, _ := json.Marshal(m{"thing": thing, "value": value})
	return Reply{Calls: []Call{{"set_home", string(args)}}}, true
}

func readHome(t Thought, words []string) (Reply, bool) {
	thing, named := thingOf(t.Takes["read_home"], words)
	args, _ := json.Marshal(m{"thing": thing})
	return Reply{Calls: []Call{{"read_home", string(args)}}}, named && !slices.Contains(words, "you") // "what do you think of the kitchen"
}

// thingOf is the thing most of whose name was said, of those that a tool's schema names; the only one there is, if none was.
func thingOf(schema any, words []string) (thing string, named bool) {
	s, _ := schema.(m)
	names := get[[]any](get[m](get[m](s, "properties"), "thing"), "enum")
	most := 0
	for _, v := range names {
		name, _ := v.(string)
		n := 0
		for _, w := range normal(name) {
			if slices.Contains(words, w) {
				n++
			}
		}
		if n > most {
			thing, most = name, n
		}
	}
	if thing == "" && len(names) == 1 {
		thing, _ = names[0].(string)
	}
	return thing, most > 0
}
