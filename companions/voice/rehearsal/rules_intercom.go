package rehearsal

import (
	"encoding/json"
	"slices"
)

// intercom is what a person says who wants to speak with somebody at another device.
var intercom = []aRule{
	{all("hang|hung", "up"), tool("hang_up", nil)},
	{begins("end|stop|reject|refuse", "call"), tool("hang_up", nil)},
	{begins("answer|take|accept|pick", "call|phone|it"), tool("answer", nil)},
	{all("who|whom", "can", "call"), tool("who_can_be_called", nil)},
	{begins("call|phone|ring"), callDevice},
}

// callDevice calls whoever is named behind the word: "call the kitchen".
func callDevice(t Thought, words []string) (Reply, bool) {
	name := nameIn(words[1:], "the up")
	if name == "" || all("me|him|her|them|it|back|with|server|servers|tool|use|using")(words) { // "call me Ishmael", "call echo with hello"
		return Reply{}, false
	}
	args, _ := json.Marshal(m{"name": name})
	return Reply{Text: "Calling " + name + ".", Calls: []Call{{"call_device", string(args)}}}, slices.Contains(t.Tools, "call_device")
}
