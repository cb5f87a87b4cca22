// Package home is the skill of a house: lamps that are switched and values that are read, by name, from a list that the household made.
package home

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"conch/companions/skills"
	"conch/device/printable"
)

// Skill has a tool for what can be changed and one for what can be read.
type Skill struct{ home *skills.Home }

// New makes the skill where there is something in the house.
func New(h skills.Host) skills.Skill {
	if h.Home == nil || len(h.Home.Things) == 0 {
		return nil
	}
	return Skill{h.Home}
}

// Tools lists them. What there is, and what it may be set to, is in the schema: a model does not guess.
func (s Skill) Tools() (tools []skills.Tool) {
	var sets, reads, how []string
	for _, t := range s.home.Things {
		if t.Topic != "" {
			sets, how = append(sets, t.Name), append(how, printable.Named(t.Name+": "+values(t)))
		}
		if t.Read != "" {
			reads = append(reads, t.Name)
		}
	}
	if len(sets) > 0 {
		tools = append(tools, skills.Tool{
			Name: "set_home", Kind: skills.ChangesHouse, Own: true,
			Description: "Switches or sets something in the house. Say that it was told only when this says so; nobody knows whether it obeys. " +
				"Where more than one fits what was said, ask which one is meant. What there is, and its values: " +
				strings.Join(how, "; ") + ".",
			Schema:  schema(sets, `,"value":{"type":"string","maxLength":100}`, `,"value"`),
			Handler: s.set,
		})
	}
	if len(reads) > 0 {
		tools = append(tools, skills.Tool{
			Name: "read_home", Kind: skills.Reads,
			Description: "Reads the last value that something in the house has told.",
			Schema:      schema(reads, "", ""), Handler: s.read,
		})
	}
	return tools
}

func schema(names []string, more, required string) json.RawMessage {
	all, _ := json.Marshal(names) // texts
	return fmt.Appendf(nil, `{"type":"object","properties":{"thing":{"enum":%s}%s},"required":["thing"%s],"additionalProperties":false}`, all, more, required)
}

// values are what a thing may be set to, in words.
func values(t skills.Thing) string {
	all := slices.Sorted(maps.Keys(t.Payloads))
	if t.Numbers {
		all = append(all, fmt.Sprintf("%g to %g", t.Low, t.High))
	}
	return strings.Join(all, ", ")
}

func (s Skill) thing(name string) (skills.Thing, error) {
	i := slices.IndexFunc(s.home.Things, func(t skills.Thing) bool { return strings.EqualFold(t.Name, name) }) // no two are alike but for that
	if i < 0 {
		return skills.Thing{}, fmt.Errorf("there is no %q in this house", name)
	}
	return s.home.Things[i], nil
}

func (s Skill) set(ctx skills.Context, raw json.RawMessage) (skills.Result, error) {
	var a struct{ Thing, Value string }
	if err := json.Unmarshal(raw, &a); err != nil {
		return skills.Result{}, fmt.Errorf("what is to be set is missing: %w", err)
	}
	t, err := s.thing(a.Thing)
	if err != nil {
		return skills.Result{}, err
	}
	payload, ok := payload(t, strings.TrimSpace(a.Value))
	if !ok {
		return skills.Result{}, fmt.Errorf("the %s cannot be %q; it can be: %s", t.Name, a.Value, values(t))
	}
	err = s.home.Publish(ctx, t.Topic, payload)
	if unsent := (skills.UnsentError{}); errors.As(err, &unsent) {
		return skills.Result{}, fmt.Errorf("nothing was sent, and the %s is as it was: %w", t.Name, unsent.Why)
	}
	if err != nil {
		return skills.Result{}, fmt.Errorf("nobody knows whether the %s is %s now: %w", t.Name, a.Value, words(err))
	}
	return skills.Result{Output: fmt.Sprintf("The %s was told: %s.", t.Name, strings.ToLower(strings.TrimSpace(a.Value)))}, nil
}

// payload is what is said for a value.
func payload(t skills.Thing, value string) (string, bool) {
	for word, p := range t.Payloads {
		if strings.EqualFold(word, value) {
			return p, true
		}
	}
	f, err := strconv.ParseFloat(strings.TrimSuffix(value, "%"), 64)
	if !t.Numbers || err != nil || !(f >= t.Low && f <= t.High) {
		return "", false
	}
	return strconv.FormatFloat(f, 'f', -1, 64), true
}

func (s Skill) read(ctx skills.Context, raw json.RawMessage) (skills.Result, error) {
	var a struct{ Thing string }
	if err := json.Unmarshal(raw, &a); err != nil {
		return skills.Result{}, fmt.Errorf("what is to be read is missing: %w", err)
	}
	t, err := s.thing(a.Thing)
	if err != nil {
		return skills.Result{}, err
	}
	value, err := s.home.Read(ctx, t.Read)
	if err != nil {
		return skills.Result{}, fmt.Errorf("the %s cannot be read: %w", t.Name, words(err))
	}
	value = strings.ToValidUTF8(value, "?")
	said, err := told(value, t.Field)
	if err != nil {
		return skills.Result{}, fmt.Errorf("the %s cannot be read: %w", t.Name, err)
	}
	for word, p := range t.Payloads {
		if alone, err := told(p, ""); p == value || err == nil && alone == said { // as {"state":"ON"}
			said = word
			break
		}
	}
	return skills.Result{Output: fmt.Sprintf("The %s is: %s", t.Name, said)}, nil
}

// words is an error as a person would have it.
func words(err error) error {
	if errors.Is(err, context.DeadlineExceeded) {
		return errors.New("the broker did not answer in time")
	}
	return err
}
