package rehearsal

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// reminderRules are of the skill reminders.
var reminderRules = []aRule{
	{all("cancel|delete|remove|forget|stop", reminderWords+"|reminding"), withTool("cancel_reminder", func(words []string) any {
		return m{"text": nameIn(words, "cancel delete remove forget stop the my about to "+strings.ReplaceAll(reminderWords, "|", " ")+" reminding")}
	})},
	{all("what|which|list|tell|have|show|read", reminderWords), tool("list_reminders", nil)},
	{remindsAgain, snooze},
	{func(words []string) bool { at := remindAt(words); return at == 0 || at > 0 && beginsTime(words) }, remind},
	{hasTaken, acknowledged},
}

const reminderWords = "reminder|reminders|remainder|remainders"

// hasTaken is "done", "I have taken my pills", and not "well done" or "I took the bus".
func hasTaken(words []string) bool {
	return begins("i|ive", "took|taken", "it|them|that|my|pill|pills|medicine|tablets|drops")(words) ||
		len(words) <= 4 && all("done")(words) && !all("well")(words) && !isQuestion(words)
}

var acknowledged = tool("acknowledge_reminder", nil)

// remindsAgain is "remind me again in ten minutes", and not "remind me again tomorrow to take my pills".
func remindsAgain(words []string) bool {
	return begins("remind|reminds", "me", "again|later")(words) && !all("to|too|that|about|at|tomorrow")(words)
}

func remindAt(words []string) int {
	return slices.IndexFunc(words, func(w string) bool { return all("remind|reminds|remained|reminded")([]string{w}) })
}

// remind is "remind me tomorrow at eight to take my pills", in whatever order.
func remind(t Thought, words []string) (Reply, bool) {
	if !slices.Contains(t.Tools, "add_reminder") {
		return Reply{}, false
	}
	first := remindAt(words)
	words = slices.Concat(words[first+1:], words[:first]) // "at nine remind me ..."
	at := slices.IndexFunc(words, func(w string) bool { return all("to|too|that|about")([]string{w}) })
	if _, _, n := clockAt(words[max(0, at-1):]); at > 0 && n > 2 { // "at a quarter to nine to ..."
		at += 1 + slices.IndexFunc(append(words[at+1:], "to"), func(w string) bool { return all("to|too|that|about")([]string{w}) })
	}
	if at < 0 || at >= len(words)-1 {
		return say("Of what should I remind you?"), true
	}
	text, rest := slices.Clone(words[at+1:]), words[:at]
	for i := 1; i < len(text); i++ {
		if beginsTime(text[i:]) {
			text, rest = text[:i], slices.Concat(rest, text[i:])
		}
	}
	on, rule, wrong := moment(rest, t.Now)
	if wrong != "" {
		return say(wrong), true
	}
	for i, w := range text {
		if to, ok := map[string]string{"my": "your", "me": "you", "i": "you", "our": "your"}[w]; ok {
			text[i] = to
		}
	}
	args := m{"text": strings.Join(text, " "), "at": strings.TrimSuffix(on.Format("2006-01-02T15:04:05"), ":00")}
	if rule != "" {
		args["rule"] = rule
	}
	return callTool(t, "add_reminder", args)
}

// beginsTime says whether a time is what comes next, and not more of what a person is to be reminded of.
func beginsTime(words []string) bool {
	_, length := lengthAt(words[1:])
	_, _, clock := clockAt(words)
	day, _, _ := dateOf(words[:min(len(words), 6)])
	return begins("today|tonight|tomorrow|yesterday|every|daily|"+weekdays)(words) || begins("at")(words) && clock > 1 ||
		begins("in")(words) && length > 0 || begins("in", "morning|evening|afternoon")(words) && len(words) < 5 ||
		begins("on")(words) && (day > 0 || len(words) > 1 && all(weekdays)(words[1:2]))
}

const weekdays = "sunday|monday|tuesday|wednesday|thursday|friday|saturday"

// moment reads "tomorrow at eight thirty", "every monday at nine in the evening", "in ten minutes", "on december 24 at noon"; wrong is what
// to say where that is no time.
func moment(words []string, now time.Time) (on time.Time, rule, wrong string) {
	has := func(alternatives string) bool { return all(alternatives)(words) }
	days := 0
	if i := slices.Index(words, "in"); i >= 0 {
		if length, n := lengthAt(words[i+1:]); n > 0 && length%86400 != 0 {
			return now.Add(time.Duration(length) * time.Second), "", ""
		} else if n > 0 {
			days, words = int(min(length/86400, largest)), slices.Concat(words[:i], words[i+1+n:])
		}
	}
	day, month, words := dateOf(words)
	if i := slices.Index(words, "on"); i >= 0 && i+1 < len(words) && numeral(words[i+1]) || day > 31 {
		return on, "", "On which day should I remind you?" // "on 12/24"
	}
	hour, minute, ok := clockOf(words)
	if !ok || hour > midnight || minute > 59 {
		return on, "", "At what time should I remind you?"
	}
	early, night := has("am|morning|early|noon|midday"), has("night|tonight|midnight")
	switch {
	case hour == 12 && night && !has("noon|midday"): // the end of the day
		hour = midnight
	case hour < 4 && night:
		hour += midnight
	case hour < 12 && has("pm|evening|tonight|afternoon|p"), hour > 6 && hour < 12 && has("night"):
		hour += 12
	case hour == 12 && has("am"):
		hour = 0
	}
	at := func(days int) time.Time {
		h := hour
		if h > 0 && h < 7 && !early && !has("night") { // nobody means three in the morning
			h += 12
		}
		return time.Date(now.Year(), now.Month(), now.Day()+days, h, minute, 0, 0, now.Location())
	}
	on = time.Date(now.Year(), now.Month(), now.Day(), hour, minute, 0, 0, now.Location())
	if soon := on.AddDate(0, 0, -1); hour >= midnight && soon.After(now) { // it is some minutes past twelve now
		on = soon
	}
	var week []string
	for i, name := range strings.Split(weekdays, "|") {
		if has(name+"|"+name+"s") || has("weekday|weekdays") && i%6 > 0 {
			week = append(week, strings.ToUpper(name[:2]))
		}
	}
	isOf := func(t time.Time) bool {
		return slices.Contains(week, strings.ToUpper(t.AddDate(0, 0, -hour/midnight).Weekday().String()[:2]))
	}
	again := has("every|each|daily|weekly") || all("a", "week|day")(words)
	switch {
	case day > 0:
		if on, ok = nextDate(at(0), month, day, now); !ok {
			return on, "", fmt.Sprintf("There is no %s %d.", month, day)
		}
		on = on.AddDate(0, 0, hour/midnight)
	case days != 0:
		on = at(days)
	case has("yesterday"):
		on = at(-1)
	case has("after") && has("tomorrow"):
		on = at(2)
	case has("tomorrow"):
		on = at(1)
	case len(week) > 0:
		for days = 0; !isOf(at(days)) || !at(days).After(now); days++ {
		}
		on = at(days)
	case on.After(now):
	case hour < 12 && !early && on.Add(12*time.Hour).After(now) && !again:
		on = on.Add(12 * time.Hour)
	case !has("today|this"):
		on = at(1)
	}
	switch {
	case !again:
	case len(week) > 0:
		if hour >= midnight { // the night from monday to tuesday is on tuesday
			for i, day := range week {
				at := strings.Index(weekOrder, day) + 2
				week[i] = (weekOrder + weekOrder)[at : at+2]
			}
		}
		slices.SortFunc(week, func(a, b string) int { return strings.Index(weekOrder, a) - strings.Index(weekOrder, b) })
		rule = "FREQ=WEEKLY;BYDAY=" + strings.Join(week, ",")
	case has("daily|day|morning|evening|night"):
		rule = "FREQ=DAILY"
	}
	return on, rule, ""
}

// midnight is the end of a day, as an hour.
const midnight = 24

const weekOrder = "MOTUWETHFRSASU"

// nextDate is the first such date that is not over, month 0 being any; false: there is none, as of February 31.
func nextDate(at time.Time, month time.Month, day int, now time.Time) (time.Time, bool) {
	for n := range time.Month(8 * 12) {
		on := time.Date(at.Year(), at.Month()+n, day, at.Hour(), at.Minute(), 0, 0, at.Location())
		if on.Day() == day && on.After(now) && (month == 0 || on.Month() == month) {
			return on, true
		}
	}
	return at, false
}

// dateOf finds "december 24", "the 24th of december", "the 24th" (month 0), and takes it out of the words.
func dateOf(words []string) (day int, month time.Month, rest []string) {
	for i, w := range words {
		for m := time.January; m <= time.December; m++ {
			if w != strings.ToLower(m.String()) {
				continue
			}
			skip := 1
			if i+1 < len(words) && words[i+1] == "the" {
				skip = 2
			}
			if day, n := ordinal(words[min(i+skip, len(words)):]); n > 0 {
				return day, m, slices.Concat(words[:i], words[i+skip+n:])
			}
			for from := max(0, i-4); from < i; from++ { // "24th of december"
				if day, n := ordinal(words[from:i]); n > 0 && (from+n == i || from+n == i-1 && words[i-1] == "of") {
					return day, m, slices.Concat(words[:from], words[i+1:])
				}
			}
		}
	}
	for i := range words {
		if day, n := ordinal(words[i:]); n > 0 && !numeral(words[i+n-1]) {
			return day, 0, slices.Concat(words[:i], words[i+n:])
		}
	}
	return 0, 0, words
}

var ordinals = strings.Fields("first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth thirteenth fourteenth " +
	"fifteenth sixteenth seventeenth eighteenth nineteenth")

// ordinal reads "third", "twenty first", "3rd", "3" at the beginning.
func ordinal(words []string) (n, used int) {
	if len(words) == 0 {
		return 0, 0
	}
	ten := slices.Index(tens[2:], words[0])
	if ten >= 0 && len(words) > 1 {
		if i := slices.Index(ordinals[:9], words[1]); i >= 0 {
			return 10*(ten+2) + i + 1, 2
		}
	}
	if i := slices.Index(ordinals, words[0]); i >= 0 {
		return i + 1, 1
	}
	if i := slices.Index([]string{"twentieth", "thirtieth"}, words[0]); i >= 0 {
		return 10 * (i + 2), 1
	}
	if digits := strings.TrimRight(words[0], "sthnrd"); digits != words[0] && numeral(digits) {
		n, _ := number1([]string{digits})
		return n, 1
	}
	return belowHundred(words)
}

// clockOf finds a time of the day, behind "at" if there is one.
func clockOf(words []string) (hour, minute int, ok bool) {
	for i, w := range words {
		if h, m, n := clockAt(words[i:]); w == "at" && n > 1 {
			return h, m, true
		}
	}
	for i := range words {
		if h, m, n := clockAt(words[i:]); n > 0 {
			return h, m, true
		}
	}
	return -1, 0, false
}

// hourAt reads "eight", "noon", "midnight" at the beginning.
func hourAt(words []string) (hour, used int) {
	switch words[0] {
	case "noon", "midday":
		return 12, 1
	case "midnight":
		return midnight, 1
	}
	return belowHundred(words)
}

// clockAt reads "at eight", "half past eight", "a quarter to nine", "ten past nine", "8 30", "noon" at the beginning.
func clockAt(words []string) (hour, minute, used int) {
	i := 0
	for i < len(words) && all("at|a")(words[i:i+1]) {
		i++
	}
	if i == len(words) {
		return 0, 0, 0
	}
	n, k := belowHundred(words[i:])
	switch words[i] {
	case "noon", "midday", "midnight":
		hour, _ := hourAt(words[i:])
		return hour, 0, i + 1
	case "half":
		n, k = 30, 1
	case "quarter":
		n, k = 15, 1
	}
	if at := i + k; k > 0 && at+1 < len(words) && (words[at] == "past" || words[at] == "to") {
		if h, k := hourAt(words[at+1:]); k > 0 && words[at] == "past" {
			return h, n, at + 1 + k
		} else if k > 0 {
			return (h + 23) % 24, 60 - n, at + 1 + k
		}
	}
	if k == 0 || all("half|quarter")(words[i:i+1]) {
		return 0, 0, 0
	}
	i += k
	if i < len(words) && words[i] == "point" { // "8.30", written
		i++
	}
	if m, k := belowHundred(words[i:]); k > 0 {
		return n, m, i + k
	}
	return n, 0, i
}
