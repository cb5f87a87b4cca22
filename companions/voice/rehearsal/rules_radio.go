package rehearsal

import (
	"slices"
	"strings"
)

// radio is what a person says of stations (skill radio). It is asked before the library, which plays whatever it is told to.
var radio = []aRule{
	{asleep, sleepTimer}, // whatever plays: "stop the radio in ten minutes", "stop in ten minutes"
	{all("stations|channels"), tool("list_stations", nil)},
	{all("stop|off|quiet|end", "radio|station"), tool("stop_radio", nil)},
	{all("radio|station"), station},
}

// station plays what is named beside "station" or "radio".
func station(t Thought, words []string) (Reply, bool) {
	if !begins("play|playing|turn|switch|put|start|listen|tune|radio")(words) {
		return Reply{}, false
	}
	name := slices.DeleteFunc(slices.Clone(words), func(w string) bool {
		return all("play|playing|turn|switch|put|on|start|listen|tune|in|to|the|a|me|some|radio|station")([]string{w})
	})
	if len(name) == 0 && !slices.Contains(t.Tools, "play_radio") {
		return say("I have no radio stations yet. Somebody has to write them into my configuration."), true
	}
	return callTool(t, "play_radio", m{"station": strings.Join(name, " ")})
}
