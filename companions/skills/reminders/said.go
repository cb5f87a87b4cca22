package reminders

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/teambition/rrule-go"

	"conch/companions/skills"
)

// said is how it repeats, as people say it; empty: it comes once. Of what is rarely asked for it is only told that it is so.
func (s schedule) said() string {
	if s.rule == nil {
		return ""
	}
	o := s.asked
	unit := [...]string{rrule.YEARLY: "year", rrule.MONTHLY: "month", rrule.WEEKLY: "week", rrule.DAILY: "day"}[o.Freq]
	text, on := "every "+unit, " on "
	switch {
	case o.Interval > 1:
		text = "every " + skills.Count(o.Interval, unit)
	case len(o.Byweekday) > 0 && o.Freq >= rrule.WEEKLY:
		text, on = "every", " " // Monday
	}
	add := func(before string, all []string) {
		if n := len(all) - 1; n > 0 {
			all = []string{strings.Join(all[:n], ", ") + " and " + all[n]}
		}
		if len(all) > 0 {
			text += before + all[0]
		}
	}
	add(on, each(o.Byweekday, func(d rrule.Weekday) string {
		day := time.Weekday((d.Day() + 1) % 7).String()
		if d.N() != 0 {
			day = "the " + nth(d.N(), day)
		}
		return day
	}))
	add(" on the ", each(o.Bymonthday, func(n int) string { return nth(n, "day") }))
	add(" in ", each(o.Bymonth, func(n int) string { return time.Month(n).String() }))
	switch {
	case len(o.Bysetpos) == 0 && len(s.rule.OrigOptions.Bysetpos) > 0:
		text += ", or the last day of a shorter one"
	case slices.ContainsFunc(o.Bymonthday, func(n int) bool { return n > 28 || n < -28 }):
		text += ", where there is such a day"
	}
	if len(o.Bysetpos)+len(o.Byyearday)+len(o.Byweekno) > 0 {
		text += ", on certain days only"
	}
	add(" at ", each(o.Byhour, func(n int) string {
		minute := s.start.Minute()
		if len(o.Byminute) > 0 {
			minute = o.Byminute[0]
		}
		return time.Date(0, 1, 1, n, minute, 0, 0, time.UTC).Format("15:04")
	}))
	if o.Count > 0 {
		text += ", " + skills.Count(o.Count, "time") + " in all"
	}
	if !o.Until.IsZero() {
		text += ", until " + o.Until.Format("January 2, 2006")
	}
	return text
}

func each[T any](of []T, say func(T) string) (all []string) {
	for _, t := range of {
		all = append(all, say(t))
	}
	return all
}

// nth is "2nd day", "last Friday", "3rd Friday from the end".
func nth(n int, of string) string {
	switch {
	case n == -1:
		return "last " + of
	case n < 0:
		return nth(-n, of) + " from the end"
	case n%10 > 3 || n%10 == 0 || n > 10 && n < 14:
		return strconv.Itoa(n) + "th " + of
	}
	return strconv.Itoa(n) + [...]string{"", "st ", "nd ", "rd "}[n%10] + of
}
