package rehearsal

import "testing"

func TestRulesOfTheRadio(t *testing.T) {
	for words, want := range map[string]string{
		"play the radio":             `play_radio {"station":""}`,
		"turn on the radio please":   `play_radio {"station":""}`,
		"play station jazz":          `play_radio {"station":"jazz"}`,
		"play the station radio two": `play_radio {"station":"two"}`,
		"play jazz radio":            `play_radio {"station":"jazz"}`,
		"which stations are there":   `list_stations {}`,
		"what stations do you know":  `list_stations {}`,
		"stop the radio":             `stop_radio {}`,
		"turn off the radio":         `stop_radio {}`,
		"what is a radio":            ``,
	} {
		says(t, words, want, "play_radio", "stop_radio", "list_stations")
	}
	says(t, "turn off the radio in ten minutes", `sleep_timer {"minutes":10}`, "play_radio", "stop_radio", "sleep_timer")
	says(t, "play moby dick", `play {"title":"moby dick"}`, "play_radio", "stop_radio", "list_stations", "play")
	says(t, "play radio gaga", `play {"title":"radio gaga"}`, "play")
	if r := (Rules{}).Think(Thought{Words: "Play the radio.", Tools: []string{"play"}}); r.Text != "I have no radio stations yet. Somebody has to write them into my configuration." || r.Calls != nil {
		t.Errorf("without stations: %+v", r)
	}
}
