package rehearsal

import (
	"encoding/json"
	"slices"
	"strings"
)

// intercom is what a person says who wants to speak with somebody at another device.
var intercom = []aRule{
	{all("hang|hung", "up"), useIntercom("hang_up")},
	{all("answer|take|accept", "call|phone|it"), useIntercom("answer")},
	{all("who|whom", "call|called"), useIntercom("who_can_be_called")},
	{all("call|phone|ring"), callDevice},
}

func useIntercom(tool string) func(Thought, []string) (Reply, bool) {
	return func(t Thought, _ []string) (Reply, bool) {
		return Reply{Calls: []Call{{tool, "{}"}}}, slices.Contains(t.Tools, tool)
	}
}

// callDevice calls whoever is named behind the word: "call the kitchen", "please call kitchen".
func callDevice(t Thought, words []string) (Reply, bool) {
	i := slices.IndexFunc(words, func(w string) bool { return w == "call" || w == "phone" || w == "ring" })
	name := strings.TrimPrefix(strings.Join(words[i+1:], " "), "the ")
	if name == "" || !slices.Contains(t.Tools, "call_device") || all("with|server|servers|tool|use|using")(words) { // those call a tool
		return Reply{}, false
	}
	args, _ := json.Marshal(m{"name": name})
	return Reply{Text: "Calling " + name + ".", Calls: []Call{{"call_device", string(args)}}}, true
}
