package rehearsal

import (
	"testing"
	"time"
)

// What a person says to the skills that keep something, and what pocketsphinx makes of it.
func TestWhatIsSaidToSkills(t *testing.T) {
	now := time.Date(2026, 11, 23, 20, 0, 0, 0, time.UTC) // a Monday
	tools := []string{"set_timer", "list_timers", "cancel_timer", "snooze_timer", "add_reminder", "list_reminders", "cancel_reminder",
		"acknowledge_reminder", "remember", "recall", "forget", "stop"}
	for _, c := range []struct{ words, tool, args string }{
		{"Set a timer for ten minutes for the pasta.", "set_timer", `{"name":"the pasta","seconds":600}`},
		{"set a timer for the pasta for ten minutes", "set_timer", `{"name":"the pasta","seconds":600}`},
		{"start a five minute timer", "set_timer", `{"seconds":300}`},
		{"set a timer for one hour and thirty minutes", "set_timer", `{"seconds":5400}`},
		{"set a timer for half an hour for my tea please", "set_timer", `{"name":"my tea","seconds":1800}`},
		{"How long is the pasta?", "list_timers", `{"name":"the pasta"}`},
		{"which timers are there", "list_timers", `{}`},
		{"cancel the timer", "cancel_timer", `{"name":""}`},
		{"stop the pasta timer", "cancel_timer", `{"name":"the pasta"}`},
		{"cancel all timers", "cancel_timer", `{"all":true}`},
		{"five more minutes", "snooze_timer", `{"seconds":300}`},
		{"snooze", "snooze_timer", `{}`},
		{"Remind me tomorrow at eight to take my pills.", "add_reminder", `{"at":"2026-11-24T08:00","text":"take your pills"}`},
		{"remind me to take my pills tomorrow at eight thirty", "add_reminder", `{"at":"2026-11-24T08:30","text":"take your pills"}`},
		{"remind me every day at 8:15 to take my pills", "add_reminder", `{"at":"2026-11-24T08:15","rule":"FREQ=DAILY","text":"take your pills"}`},
		{"remind me every monday at nine in the evening to put out the bin", "add_reminder",
			`{"at":"2026-11-23T21:00","rule":"FREQ=WEEKLY;BYDAY=MO","text":"put out the bin"}`},
		{"remind me in ten minutes to call Max", "add_reminder", `{"at":"2026-11-23T20:10","text":"call max"}`},
		{"remind me at nine to call Max", "add_reminder", `{"at":"2026-11-23T21:00","text":"call max"}`},
		{"What are my reminders?", "list_reminders", `{}`},
		{"cancel the reminder about my pills", "cancel_reminder", `{"text":"pills"}`},
		{"done", "acknowledge_reminder", `{}`},
		{"I have taken them", "acknowledge_reminder", `{}`},
		{"Remember that the bin goes out on Monday", "remember", `{"text":"The bin goes out on Monday"}`},
		{"What did I tell you about the bin?", "recall", `{"about":"the bin"}`},
		{"what do you remember", "recall", `{"about":""}`},
		{"forget the bin", "forget", `{"about":"bin"}`},
		{"forget everything", "forget", `{"all":true}`},
		{"stop", "stop", `{}`},
	} {
		r := Rules{}.Think(Thought{Words: c.words, Tools: tools, Now: now})
		if len(r.Calls) != 1 || r.Calls[0] != (Call{c.tool, c.args}) {
			t.Errorf("%q: %+v; want %s %s", c.words, r, c.tool, c.args)
		}
	}
	for words, want := range map[string]string{
		"remind me to sleep": "At what time should I remind you?", "remind me": "Of what should I remind you?", "remember": "What should I remember?",
	} {
		if r := (Rules{}).Think(Thought{Words: words, Tools: tools, Now: now}); r.Text != want {
			t.Errorf("%q: %+v; want %q", words, r, want)
		}
	}
}
