package timers

import (
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
	return "A timer rings when its time is over. What is at a time of the day is a reminder. name: what it is for."
}

// Tools lists them.
func (s *Skill) Tools() []skills.Tool {
	name := `"name":{"type":"string","maxLength":60,"description":"what it is for, as the person said it: the pasta; empty if nothing was said"}`
	return []skills.Tool{
		{
			Name: "set_timer", Kind: skills.ChangesDevice, Own: true,
			Description: "Sets a timer, which rings when the time is over. Use it for whatever is some minutes or hours from now; " +
				"what is at a time of the day, or on another day, is a reminder. Several may run at once.",
			Schema: json.RawMessage(`{"type":"object","properties":{"seconds":{"type":"integer","description":"how long"},` + name +
				`},"required":["seconds"],"additionalProperties":false}`),
			Handler: s.handle(s.start),
		},
		{
			Name: "list_timers", Kind: skills.Reads,
			Description: "Tells which timers run and how much is left of them; of one, by its name, or of all.",
			Schema:      json.RawMessage(`{"type":"object","properties":{` + name + `},"additionalProperties":false}`),
			Handler:     s.handle(s.list),
		},
		{
			Name: "cancel_timer", Kind: skills.ChangesDevice, Own: true,
			Description: "Ends a timer, by its name; without a name the only one. One that rings falls silent.",
			Schema: json.RawMessage(`{"type":"object","properties":{` + name +
				`,"all":{"type":"boolean","description":"true: all timers"}},"additionalProperties":false}`),
			Handler: s.handle(s.cancel),
		},
		{
			Name: "snooze_timer", Kind: skills.ChangesDevice, Own: true,
			Description: "Gives a timer that has just rung, rings or still runs some more time, five minutes if nobody says how much: " +
				"snooze, five more minutes, ten more minutes. Without a name it is of what rang or was told last.",
			Schema: json.RawMessage(`{"type":"object","properties":{"seconds":{"type":"integer","description":"how much more"},` + name +
				`},"additionalProperties":false}`),
			Handler: s.host.Snoozed.Tool(own, s.handle(s.snooze)),
		},
	}
}

// own is the skill's name.
const own = "timers"

type arguments struct {
	Name    string
	Seconds *int64
	All     bool
}

// handle has a tool work with the timers that there are, alone.
func (s *Skill) handle(f func(skills.Context, arguments) (string, error)) func(skills.Context, json.RawMessage) (skills.Result, error) {
	return skills.InWords("the time must be a whole number of seconds, and the name a text", func(ctx skills.Context, a arguments) (string, error) {
		a.Name = bare(a.Name)
		s.mu.Lock()
		defer s.mu.Unlock()
		if err := s.load(); err != nil {
			return "", err
		}
		return f(ctx, a)
	})
}

// bare is a name without what people say around one: "the timer for the eggs", "for the eggs" and "the eggs timer" are of the eggs.
func bare(name string) string {
	all := strings.Fields(name)
	if i := slices.Index(all, "for"); i >= 0 && len(words(strings.Join(all[:i], " "))) == 0 {
		all = all[i+1:]
	}
	if n := len(all); n > 0 && (all[n-1] == "timer" || all[n-1] == "alarm") {
		all = all[:n-1]
	}
	if name = strings.Join(all, " "); len(words(name)) == 0 {
		return ""
	}
	return name
}

// length is how long a person wants.
func (a arguments) length(without time.Duration) (time.Duration, error) {
	switch {
	case a.Seconds == nil && without > 0:
		return without, nil
	case a.Seconds == nil || *a.Seconds < 1:
		return 0, errors.New("a timer takes a second at least; how long should it be?")
	case *a.Seconds > int64(longest/time.Second):
		return 0, fmt.Errorf("a timer takes %s at most; for what is later there are reminders", spell(longest))
	}
	return time.Duration(*a.Seconds) * time.Second, nil
}

func (s *Skill) start(ctx skills.Context, a arguments) (string, error) {
	length, err := a.length(0)
	switch {
	case err != nil:
		return "", err
	case len(s.set.all) >= most:
		return "", fmt.Errorf("there are %d timers already, and no more are possible; cancel one first", most)
	}
	if a.Name != "" {
		for _, t := range s.set.all {
			if strings.EqualFold(t.Name, a.Name) {
				return "", fmt.Errorf("there is a timer for %s already, %s; cancel it first, or use another name", t.Name, s.left(t))
			}
		}
	}
	t := s.set.add(s.now(), a.Name, ctx.Companion, length)
	return s.kept(t, "The timer for "+t.label()+" is set"+inCase(t.Name != "", ": "+spell(length))+".")
}

// kept confirms a timer once it is on the disk, and takes it back where it cannot be.
func (s *Skill) kept(t *timer, text string) (string, error) {
	if err := s.keep(t); err != nil {
		s.set.remove(t)
		return "", fmt.Errorf("the timer is not set: %w", err)
	}
	s.woken.Wake()
	return text + inCase(s.host.Store == nil, " It is lost if I am switched off."), nil
}

func (s *Skill) list(_ skills.Context, a arguments) (string, error) {
	found := s.set.called(a.Name)
	switch {
	case len(s.set.all) == 0:
		return "There is no timer.", nil
	case len(found) == 0:
		return "There is no timer for " + a.Name + ". There is " + s.listed(s.set.sorted()) + ".", nil
	}
	return sentence(s.listed(found)), nil
}

func (s *Skill) cancel(_ skills.Context, a arguments) (string, error) {
	if a.All {
		all := s.set.sorted()
		if err := s.end(all...); err != nil {
			return "", err
		}
		switch len(all) {
		case 0:
			return "There is no timer.", nil
		case 1:
			return "The timer for " + all[0].label() + " is cancelled.", nil
		}
		return fmt.Sprintf("%d timers are cancelled.", len(all)), nil
	}
	t, which := s.one(a.Name)
	if t == nil {
		return which, nil
	}
	if err := s.end(t); err != nil {
		return "", err
	}
	return "The timer for " + t.label() + " is cancelled.", nil
}

// end ends timers, once that is on the disk.
func (s *Skill) end(all ...*timer) error {
	before := len(s.gone)
	for _, t := range all {
		s.gone = append(s.gone, t.key())
	}
	if err := s.keep(); err != nil {
		s.gone = s.gone[:before]
		return fmt.Errorf("the timer is not cancelled: %w", err)
	}
	for _, t := range all {
		s.silence(t)
	}
	s.woken.Wake()
	return nil
}

func (s *Skill) snooze(ctx skills.Context, a arguments) (string, error) {
	more, err := a.length(again)
	if err != nil {
		return "", err
	}
	now := s.now()
	t, which := s.one(a.Name)
	rung, whichRung := s.hasRung(a.Name, now)
	switch {
	case t != nil && t.ringing:
		return s.later(t, ctx.Companion, more)
	case whichRung != "":
		return whichRung, nil
	case rung != nil:
		s.rung = slices.DeleteFunc(s.rung, func(o *timer) bool { return o == rung })
		t = s.set.add(now, rung.Name, ctx.Companion, more)
		if rung.Name == "" {
			t.Length = rung.Length // by which it is called
		}
		t.Length = max(t.Length, more)
		return s.kept(t, "The timer for "+t.label()+" rings again in "+spell(more)+".")
	case t == nil:
		return which, nil
	}
	if more += max(t.at-now.mono, 0); more > longest {
		return "", fmt.Errorf("a timer takes %s at most", spell(longest))
	}
	was := *t
	t.runs(now, more)
	t.Length = max(t.Length, more)
	if err := s.keep(t); err != nil {
		*t = was
		return "", fmt.Errorf("the timer stays as it was: %w", err)
	}
	s.woken.Wake()
	return "The timer for " + t.label() + " rings in " + spell(more) + ".", nil
}

// later has one that rings end, and ring again. Its end comes back here; what follows it is another.
func (s *Skill) later(t *timer, companion string, more time.Duration) (string, error) {
	if !s.set.has(t) {
		return "", errors.New("it does not ring any more; set another timer")
	}
	next := s.set.add(s.now(), t.Name, companion, more)
	next.Length = max(t.Length, more)
	s.gone = append(s.gone, t.key())
	text, err := s.kept(next, "The timer for "+next.label()+" rings again in "+spell(more)+".")
	if err != nil {
		s.gone = s.gone[:len(s.gone)-1]
		return "", err
	}
	s.silence(t)
	return text, nil
}

// silence takes a timer out of those that there are.
func (s *Skill) silence(t *timer) {
	s.set.remove(t)
	if t.stop != nil {
		go t.stop() // its end comes back here
	}
}

// hasRung is the timer that a name means of those that have rung lately, or the last of them where there is no name; nil: none, or which of
// several that one press has stopped has to be asked.
func (s *Skill) hasRung(name string, now moment) (t *timer, which string) {
	var labels []string
	for _, o := range s.rung {
		if now.mono-o.ended >= recent || !skills.Within(words(name), words(o.label())) {
			continue
		}
		if t != nil && o.ended-t.ended > together {
			labels = nil
		}
		if t = o; !slices.Contains(labels, o.label()) {
			labels = append(labels, o.label())
		}
	}
	if len(labels) > 1 {
		slices.Sort(labels) // in whatever order they were told of their end
		return nil, "Which of them: " + strings.Join(labels, ", ") + "?"
	}
	return t, ""
}

// one is the timer that a name means; nil: none, or which of several has to be asked.
func (s *Skill) one(name string) (t *timer, which string) {
	found := s.set.called(name)
	for _, t := range found {
		if t.ringing && name == "" { // what rings is meant
			return t, ""
		}
	}
	switch {
	case len(s.set.all) == 0:
		return nil, "There is no timer."
	case len(found) == 0:
		return nil, "There is no timer for " + name + ". There is " + s.listed(s.set.sorted()) + "."
	}
	for _, t := range found[1:] {
		if t.label() != found[0].label() {
			return nil, "Which of them: " + s.listed(found) + "?"
		}
	}
	return found[0], ""
}

func (s *Skill) listed(timers []*timer) string {
	var all []string
	for _, t := range timers {
		all = append(all, t.label()+", "+s.left(t))
	}
	return strings.Join(all, "; ")
}

func (s *Skill) left(t *timer) string {
	if t.ringing {
		return "over"
	}
	return spell(max(t.at-s.now().mono, 0)) + " left"
}

func sentence(s string) string { return strings.ToUpper(s[:1]) + s[1:] + "." }

func inCase(yes bool, s string) string {
	if yes {
		return s
	}
	return ""
}
