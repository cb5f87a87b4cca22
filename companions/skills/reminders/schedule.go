package reminders

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/teambition/rrule-go"
)

// Our choices.
const (
	longestRule = 200
	ahead       = 10 // years in which a rule has to come true
	interval    = 1000
	floating    = "2006-01-02T15:04:05"
)

// schedule is when: once, or by a rule of RFC 5545. It is of the clock on the wall of the house, in whatever zone it stands: what is at
// eight stays at eight when clocks are turned. What falls into the hour that does not exist comes an hour later, and of the hour that
// there is twice the first counts (RFC 5545, 3.3.5).
type schedule struct {
	start time.Time    // its fields alone count; its zone is UTC
	rule  *rrule.RRule // of the same; nil: once
	asked rrule.ROption
}

// parseStart reads a time as a model writes it. With a zone it is turned into that of the house.
func parseStart(at string, house *time.Location) (time.Time, error) {
	at = strings.Replace(strings.TrimSpace(at), " ", "T", 1)
	for _, format := range []string{floating, "2006-01-02T15:04"} {
		if t, err := time.Parse(format, at); err == nil {
			return t, nil
		}
	}
	for _, format := range []string{time.RFC3339, "2006-01-02T15:04Z07:00"} {
		if t, err := time.Parse(format, at); err == nil {
			return fields(t.In(house)), nil
		}
	}
	if _, err := time.Parse(time.DateOnly, at); err == nil {
		return time.Time{}, errors.New("at what time of that day?")
	}
	var year, month, day int
	if n, _ := fmt.Sscanf(at, "%4d-%2d-%2d", &year, &month, &day); n == 3 && month >= 1 && month <= 12 {
		if last := time.Date(year, time.Month(month)+1, 0, 0, 0, 0, 0, time.UTC); day < 1 || day > last.Day() {
			return time.Time{}, fmt.Errorf("there is no %s %d: that month has %d days in %d", last.Month(), day, last.Day(), year)
		}
	}
	return time.Time{}, fmt.Errorf("%q is no time: it has to be like 2026-11-24T08:00, as the clock shows it here", clip(at))
}

// newSchedule is a start with a rule, or an empty one.
func newSchedule(start time.Time, rule string, house *time.Location) (schedule, error) {
	s := schedule{start: start}
	rule = strings.TrimPrefix(strings.ToUpper(strings.Join(strings.Fields(rule), "")), "RRULE:")
	switch {
	case rule == "":
		return s, nil
	case len(rule) > longestRule:
		return s, fmt.Errorf("a rule has %d characters at most", longestRule)
	}
	o, err := rrule.StrToROptionInLocation(rule, time.UTC)
	if err != nil {
		return s, fmt.Errorf("%q is no rule of RFC 5545, such as FREQ=DAILY or FREQ=WEEKLY;BYDAY=MO,TH: %w", clip(rule), err)
	}
	switch {
	case o.Freq > rrule.DAILY || len(o.Bysecond) > 0 || len(o.Byminute) > 1:
		return s, errors.New("a reminder comes once an hour at most: FREQ is DAILY, WEEKLY, MONTHLY or YEARLY, with BYHOUR for several a day")
	case !o.Dtstart.IsZero() || len(o.Byeaster) > 0:
		return s, errors.New("a rule has no DTSTART and no BYEASTER; the first time is told apart from it")
	case o.Interval > interval:
		return s, fmt.Errorf("INTERVAL is %d at most", interval)
	}
	o.Dtstart = start
	if !o.Until.IsZero() {
		_, until, _ := strings.Cut(rule, "UNTIL=")
		until, _, _ = strings.Cut(until, ";")
		switch {
		case strings.HasSuffix(until, "Z"):
			o.Until = fields(o.Until.In(house))
		case len(until) == len("20061231"):
			o.Until = o.Until.AddDate(0, 0, 1).Add(-time.Second)
		}
	}
	s.asked = *o
	lastDays(o)
	if s.rule, err = rrule.NewRRule(*o); err != nil {
		return s, fmt.Errorf("%q: %w", clip(rule), err)
	}
	return s, nil
}

// lastDays has a rule for the 29th, 30th or 31st come on the last day of months that are shorter, which RFC 5545 would skip.
func lastDays(o *rrule.ROption) {
	day, month := o.Dtstart.Day(), o.Dtstart.Month()
	if len(o.Bymonthday) == 1 {
		day = o.Bymonthday[0]
	}
	if len(o.Bymonth) == 1 {
		month = time.Month(o.Bymonth[0])
	}
	leap := o.Freq == rrule.YEARLY && month == time.February && day == 29 && len(o.Bymonth) <= 1 && len(o.Bymonth) >= len(o.Bymonthday)
	if o.Freq != rrule.MONTHLY && !leap || day < 29 || len(o.Bymonthday) > 1 || len(o.Byweekday)+len(o.Byyearday)+len(o.Byweekno)+len(o.Bysetpos) > 0 {
		return
	}
	if leap {
		o.Bymonth = []int{int(month)}
	}
	o.Bymonthday = nil
	for d := 28; d <= day; d++ {
		o.Bymonthday = append(o.Bymonthday, d)
	}
	for n := range max(1, len(o.Byhour)) {
		o.Bysetpos = append(o.Bysetpos, -1-n)
	}
}

// next is the first time after one; zero: there is none, or none in ten years.
func (s schedule) next(after time.Time) time.Time {
	_, _, next := s.due(time.Time{}, after)
	return next
}

// due goes from one time on, that one included: how many there are until now, the last of them, and the first after now.
func (s schedule) due(from, now time.Time) (n int, last, next time.Time) {
	var more func() (time.Time, bool)
	if s.rule != nil {
		end, rule := fields(now).AddDate(ahead, 0, 0), *s.rule
		if until := rule.GetUntil(); until.IsZero() || until.After(end) {
			rule.Until(end)
		}
		more = rule.Iterator()
	} else {
		one := true
		more = func() (time.Time, bool) { was := one; one = false; return s.start, was }
	}
	for {
		f, ok := more()
		if !ok {
			return n, last, time.Time{}
		}
		switch t := resolve(f, now.Location()); {
		case t.After(now):
			return n, last, t
		case !t.Before(from) && !t.Equal(last):
			n, last = n+1, t
		}
	}
}

// fields are what a clock shows, without where it hangs.
func fields(t time.Time) time.Time {
	return time.Date(t.Year(), t.Month(), t.Day(), t.Hour(), t.Minute(), t.Second(), 0, time.UTC)
}

// resolve is the moment at which the clock of the house shows something.
func resolve(f time.Time, house *time.Location) time.Time {
	t := time.Date(f.Year(), f.Month(), f.Day(), f.Hour(), f.Minute(), f.Second(), 0, house)
	_, before := t.AddDate(0, 0, -1).Zone()
	first := f.Add(-time.Duration(before) * time.Second).In(house) // if clocks are not turned that day
	if fields(first).Equal(f) || !fields(t).Equal(f) {
		return first
	}
	return t
}

// clip is of what somebody else wrote.
func clip(s string) string {
	if r := []rune(s); len(r) > 60 {
		return string(r[:60]) + "…"
	}
	return s
}
