package rehearsal

import (
	"slices"
	"strings"
)

// radio is what a person says of stations (skill radio). It is asked before the library, which plays whatever it is told to.
var radio = []aRule{
	{asleep, sleepTimer}, // "stop the radio in ten minutes"
	{all("stations|channels"), tool("list_stations", nil)},
	{all("stop|off|quiet|end", "radio|station"), tool("stop_radio", nil)},
	{all("radio|station"), station},
}

// station plays what is named behind "station" or "radio", or before it.
func station(t Thought, words []string) (Reply, bool) {
	if !all("play|turn|switch|put|on|start|listen|hear")(words) {
		return Reply{}, false
	}
	i := slices.IndexFunc(words, func(w string) bool { return w == "station" || w == "radio" })
	filler := func(w string) bool {
		return all("play|turn|switch|put|on|start|listen|to|hear|the|a|please|me|some|radio|station")([]string{w})
	}
	name := slices.DeleteFunc(slices.Clone(words[i+1:]), filler)
	if len(name) == 0 {
		name = slices.DeleteFunc(slices.Clone(words[:i]), filler)
	}
	if len(name) == 0 && !slices.Contains(t.Tools, "play_radio") {
		return say("I have no radio stations yet. Somebody has to write them into my configuration."), true
	}
	return callTool(t, "play_radio", m{"station": strings.Join(name, " ")})
}
