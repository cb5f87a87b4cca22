package rehearsal

import (
	"encoding/json"
	"slices"
	"strings"
	"time"
)

// reminderRules are of the skill reminders.
var reminderRules = []aRule{
	{all("cancel|delete|remove|forget", reminderWords), withTool("cancel_reminder", func(words []string) any {
		return m{"text": without(words, "cancel", "delete", "remove", "forget", "reminder", "reminders", "the", "my", "about", "please")}
	})},
	{all("what|which|list|tell|have", reminderWords), withTool("list_reminders", func([]string) any { return m{} })},
	{all("remind|reminds|remained"), remind},
	{all("took|taken", "i|ive|have"), acknowledged},
	{func(words []string) bool { return len(words) <= 4 && all("done")(words) }, acknowledged},
}

const reminderWords = "reminder|reminders|remainder|remainders"

var acknowledged = withTool("acknowledge_reminder", func([]string) any { return m{} })

// whenWords begin the time of something.
const whenWords = "today|tonight|tomorrow|at|every|daily|on|in|monday|tuesday|wednesday|thursday|friday|saturday|sunday"

// remind is "remind me tomorrow at eight to take my pills", in whatever order.
func remind(t Thought, words []string) (Reply, bool) {
	if !slices.Contains(t.Tools, "add_reminder") {
		return Reply{}, false
	}
	words = words[slices.IndexFunc(words, func(w string) bool { return strings.HasPrefix(w, "rem") })+1:]
	at := slices.IndexFunc(words, func(w string) bool { return w == "to" || w == "too" || w == "that" || w == "about" })
	if at < 0 {
		return say("Of what should I remind you?"), true
	}
	text := words[at+1:]
	rest := words[:at]
	if i := slices.IndexFunc(text, func(w string) bool { return all(whenWords)([]string{w}) }); i > 0 {
		text, rest = text[:i], slices.Concat(rest, text[i:])
	}
	on, rule, ok := moment(rest, t.Now)
	if !ok {
		return say("At what time should I remind you?"), true
	}
	for i, w := range text {
		text[i] = map[string]string{"my": "your", "me": "you", "i": "you", "our": "your"}[w]
		if text[i] == "" {
			text[i] = w
		}
	}
	args := m{"text": strings.Join(text, " "), "at": on.Format("2006-01-02T15:04")}
	if rule != "" {
		args["rule"] = rule
	}
	b, _ := json.Marshal(args) // of texts
	return Reply{Calls: []Call{{"add_reminder", string(b)}}}, true
}

// moment reads "tomorrow at eight thirty", "every monday at nine in the evening", "in ten minutes".
func moment(words []string, now time.Time) (on time.Time, rule string, ok bool) {
	has := func(alternatives string) bool { return all(alternatives)(words) }
	if n, in := duration(words); in && has("in") {
		return now.Add(time.Duration(n)*time.Second + 59*time.Second).Truncate(time.Minute), "", true
	}
	hour, minute := -1, 0
	for _, w := range after(words, "at") {
		n, number := number1([]string{w})
		switch {
		case !number || w == "hundred":
		case hour < 0:
			hour = n
		default:
			minute += n
		}
	}
	evening := has("pm|evening|tonight|afternoon|p")
	if hour >= 0 && hour < 12 && evening {
		hour += 12
	}
	if hour < 0 || hour > 23 || minute > 59 {
		return on, "", false
	}
	on = time.Date(now.Year(), now.Month(), now.Day(), hour, minute, 0, 0, now.Location())
	day := -1
	for i := range 7 {
		if name := strings.ToLower(time.Weekday(i).String()); has(name + "|" + name + "s") {
			day = i
		}
	}
	switch {
	case has("tomorrow"):
		on = on.AddDate(0, 0, 1)
	case day >= 0:
		on = on.AddDate(0, 0, (day-int(now.Weekday())+7)%7)
		if !on.After(now) {
			on = on.AddDate(0, 0, 7)
		}
	case on.After(now):
	case hour < 12 && !has("today|am|morning") && on.Add(12*time.Hour).After(now) && !has("every|daily"):
		on = on.Add(12 * time.Hour)
	case !has("today"):
		on = on.AddDate(0, 0, 1)
	}
	switch {
	case has("every|each") && day >= 0:
		rule = "FREQ=WEEKLY;BYDAY=" + strings.ToUpper(time.Weekday(day).String()[:2])
	case has("daily") || has("every|each") && has("day|morning|evening|night"):
		rule = "FREQ=DAILY"
	}
	return on, rule, true
}
