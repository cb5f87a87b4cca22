package reminders

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"conch/companions/skills"
)

// Brief is for a model with little room.
func (*Skill) Brief() string {
	return "Told at a time. at: 2026-11-24T08:00 (ask get_time first); rule: RFC 5545, FREQ=DAILY; insist: until acknowledged."
}

// Tools lists them.
func (s *Skill) Tools() []skills.Tool {
	which := json.RawMessage(`{"type":"object","properties":{"text":{"type":"string","maxLength":200,` +
		`"description":"words of it, as the person said them; empty if nothing was said"}},"additionalProperties":false}`)
	return []skills.Tool{
		{
			Name: "add_reminder", Kind: skills.ChangesDevice, Own: true,
			Description: "Has the person reminded at a time of the day, once or again and again, also after a restart. Ask get_time first for " +
				"today's date. Use it for medicine, appointments, birthdays; what is some minutes from now is a timer.",
			Schema: json.RawMessage(`{"type":"object","properties":{` +
				`"text":{"type":"string","maxLength":200,"description":"what to tell the person, addressed to them: take your pills"},` +
				`"at":{"type":"string","maxLength":40,"description":"the first time, as the clock here shows it: 2026-11-24T08:00"},` +
				`"rule":{"type":"string","maxLength":200,"description":"how it repeats, by RFC 5545: FREQ=DAILY; FREQ=WEEKLY;BYDAY=MO,TH; empty: once"},` +
				`"insist":{"type":"boolean","description":"true: say it every ten minutes until the person says that it is done"}},` +
				`"required":["text","at"],"additionalProperties":false}`),
			Handler: s.handle(s.add),
		},
		{
			Name: "list_reminders", Kind: skills.Reads,
			Description: "Tells which reminders there are, and when the next of each is.", Schema: which, Handler: s.handle(s.list),
		}, {
			Name: "cancel_reminder", Kind: skills.ChangesDevice,
			Description: "Ends a reminder for good, by words of it.", Schema: which, Handler: s.handle(s.cancel),
		},
		{
			Name: "acknowledge_reminder", Kind: skills.ChangesDevice,
			Description: "The person says that they have done what they were reminded of: done, I took them. It is not said again; " +
				"one that repeats comes again at its next time.",
			Schema: which, Handler: s.handle(s.acknowledge),
		},
		{
			Name: "snooze_reminder", Kind: skills.ChangesDevice, Own: true,
			Description: "Says a reminder that was just told once more later, in five minutes if nobody says when: snooze, remind me again in ten minutes. " +
				"Without a name it is of what was told or rang last.",
			Schema: json.RawMessage(`{"type":"object","properties":{"seconds":{"type":"integer","description":"in how many"},` +
				`"name":{"type":"string","maxLength":200,"description":"words of it, as the person said them"}},"additionalProperties":false}`),
			Handler: s.host.Snoozed.Tool(own, s.handle(s.snooze)),
		},
	}
}

// own is the skill's name.
const own = "reminders"

type arguments struct {
	Text, At, Rule string
	Insist         bool
	Name           string // of snooze_reminder
	Seconds        *int64
}

// handle has a tool work with the reminders that there are, alone.
func (s *Skill) handle(f func(skills.Context, arguments) (string, error)) func(skills.Context, json.RawMessage) (skills.Result, error) {
	return skills.InWords("a reminder has a text, a time and a rule, which are texts", func(ctx skills.Context, a arguments) (string, error) {
		a.Text = strings.Join(strings.Fields(a.Text), " ")
		s.mu.Lock()
		defer s.mu.Unlock()
		if err := s.load(); err != nil {
			return "", err
		}
		return f(ctx, a)
	})
}

func (s *Skill) add(ctx skills.Context, a arguments) (string, error) {
	now := s.now()
	switch {
	case len(keywords(a.Text)) == 0:
		return "", errors.New("of what should I remind you?")
	case now.Year() < unknown:
		return "", errors.New("I do not know what time it is: my clock is wrong until the network brings the time") //nolint:staticcheck // a companion says it
	case len(s.all) >= most:
		return "", fmt.Errorf("there are %d reminders already, and no more are possible; cancel one first", most)
	}
	start, err := parseStart(a.At, now.Location())
	if err != nil {
		return "", err
	}
	rounded := ""
	if full := start.Truncate(time.Minute); full != start {
		start, rounded = full.Add(time.Minute), " Reminders come at the full minute."
	}
	r := &reminder{ID: s.last + 1, Text: a.Text, Companion: ctx.Companion, Start: start.Format(floating), Rule: a.Rule, Insist: a.Insist}
	if r.when, err = newSchedule(start, a.Rule, now.Location()); err != nil {
		return "", err
	}
	if at := resolve(start, now.Location()); a.Rule == "" && !at.After(now) {
		return "", fmt.Errorf("%s is over: it is %s now", when(at, now), now.Format("15:04"))
	}
	if start.Before(fields(now).AddDate(-1, 0, 0)) || start.After(fields(now).AddDate(ahead, 0, 0)) {
		return "", fmt.Errorf("%s is too far away: a reminder begins within %d years", start.Format("January 2, 2006"), ahead)
	}
	if r.Due = r.when.next(now); r.Due.IsZero() {
		return "", errors.New("that never comes, or not within ten years; look at the rule again")
	}
	for _, o := range s.all {
		if o.Due.Equal(r.Due) && o.Rule == r.Rule && strings.EqualFold(o.Text, r.Text) {
			return "That reminder is there already: " + o.line(now) + ".", nil
		}
	}
	if err := s.keep(r); err != nil {
		return "", fmt.Errorf("the reminder is not set: %w", err)
	}
	s.all, s.last = append(s.all, r), r.ID
	s.woken.Wake()
	return "The reminder is set: " + r.line(now) + "." + turned(start, r, now) + rounded, nil
}

// turned tells what the turning of clocks does to the first time.
func turned(start time.Time, r *reminder, now time.Time) string {
	at := resolve(start, now.Location())
	switch _, day := at.Zone(); {
	case !r.Due.Equal(at):
		return ""
	case !fields(at).Equal(start):
		return " There is no " + start.Format("15:04") + " on that day, because clocks are turned."
	default:
		for _, by := range []time.Duration{30 * time.Minute, time.Hour, 2 * time.Hour} {
			if _, next := at.Add(by).Zone(); next != day && fields(at.Add(by)).Equal(start) {
				return " The clock shows " + start.Format("15:04") + " twice on that day; the first is meant."
			}
		}
		return ""
	}
}

func (s *Skill) list(_ skills.Context, a arguments) (string, error) {
	now := s.now()
	found := s.called(a.Text, (*reminder).pending)
	if len(found) == 0 {
		return "There is no reminder" + about(a.Text) + ".", nil
	}
	return listed(found, now) + ".", nil
}

func (s *Skill) cancel(_ skills.Context, a arguments) (string, error) {
	now := s.now()
	found := s.called(a.Text, (*reminder).pending)
	switch {
	case len(found) == 0:
		return "There is no reminder" + about(a.Text) + ".", nil
	case len(found) > 1:
		return "Which of them: " + listed(found, now) + "?", nil
	}
	if err := s.remove(found[0]); err != nil {
		return "", fmt.Errorf("the reminder is not cancelled: %w", err)
	}
	s.woken.Wake()
	return "The reminder is cancelled: " + found[0].Text + ".", nil
}

// heard is what was told within that time, or is being told; where no words are given the last of those. nil: nothing.
func (s *Skill) heard(text string, within time.Duration) *reminder {
	now := s.now()
	found := s.called(text, func(r *reminder) bool {
		return !r.Of.IsZero() && r.Done.IsZero() && (r.busy || !r.Told.IsZero() && now.Sub(r.Told) < within)
	})
	if len(found) == 0 {
		return nil
	}
	return slices.MaxFunc(found, func(a, b *reminder) int {
		return cmp.Or(map[bool]int{true: 1}[a.busy]-map[bool]int{true: 1}[b.busy], a.Told.Compare(b.Told))
	})
}

// acknowledge is of what was told, or is being told.
func (s *Skill) acknowledge(_ skills.Context, a arguments) (string, error) {
	now := s.now()
	r := s.heard(a.Text, answer)
	if r == nil {
		return "There is nothing to be done" + about(a.Text) + ".", nil
	}
	was := *r
	r.Done, r.Begun, r.busy, r.Again = now, false, false, time.Time{}
	if r.Told.IsZero() {
		r.Told = now
	}
	if err := s.keep(r); err != nil {
		*r = was
		return "", fmt.Errorf("it could not be noted: %w", err)
	}
	r.leave()
	s.woken.Wake()
	out := "Noted, done: " + r.Text + "."
	if !r.Due.IsZero() {
		out += " The next is " + when(r.Due, now) + "."
	}
	return out, nil
}

// snooze has what was told said once more. What it says of itself then is that.
func (s *Skill) snooze(_ skills.Context, a arguments) (string, error) {
	more := soon
	switch {
	case a.Seconds == nil:
	case *a.Seconds < 1 || *a.Seconds > int64(furthest/time.Second):
		return "", errors.New("it can be said again within 24 hours; for what is later set another reminder")
	default:
		more = time.Duration(*a.Seconds) * time.Second
	}
	within := lately
	if a.Name != "" {
		within = answer
	}
	r := s.heard(a.Name, within)
	if r == nil {
		return "No reminder" + about(a.Name) + " was told lately.", nil
	}
	was := *r
	now := s.now()
	if r.Told.IsZero() {
		r.Told = now
	}
	r.Again, r.Begun, r.busy = now.Add(more).Round(0), false, false
	if err := s.keep(r); err != nil {
		*r = was
		return "", fmt.Errorf("it is not said again: %w", err)
	}
	r.leave()
	s.woken.Wake()
	return "I will say it again " + when(r.Again, now) + ": " + r.Text + ".", nil
}

// called are those whose text has the words, in the order in which they come; all if there are none.
func (s *Skill) called(text string, which func(*reminder) bool) (found []*reminder) {
	said := keywords(text)
	for _, r := range s.all {
		own := keywords(r.Text)
		if which(r) && skills.Within(said, own) {
			found = append(found, r)
		}
	}
	slices.SortStableFunc(found, func(a, b *reminder) int { return a.Due.Compare(b.Due) })
	return found
}

// keywords are those by which a person means one.
func keywords(s string) []string {
	return skills.Keywords(s, "the my your a an to me i you reminder reminders about of for remind take took them")
}

func about(text string) string {
	if text == "" {
		return ""
	}
	return " about " + text
}

func listed(all []*reminder, now time.Time) string {
	var lines []string
	for _, r := range all {
		lines = append(lines, r.line(now))
	}
	return strings.Join(lines, "; ")
}

// line is one in words.
func (r *reminder) line(now time.Time) string {
	line := r.Text
	switch {
	case !r.Again.IsZero():
		line += ", again " + when(r.Again, now)
	case r.open(), r.repeats():
		line += ", which is not done yet"
	case !r.Due.IsZero():
		line += ", " + when(r.Due, now)
	}
	if again := r.when.said(); again != "" {
		line += ", and again " + again
	}
	return line
}
