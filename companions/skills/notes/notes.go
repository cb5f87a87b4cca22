// Package notes is the skill by which a companion remembers what it was told to: for itself, not for the others.
package notes

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"conch/companions/skills"
)

// Our choices.
const (
	most    = 200  // notes of a companion
	longest = 1000 // bytes of one
	told    = 10   // are read out at once
)

// Note is one thing that a companion was told to remember.
type Note struct {
	ID   int       `json:"id"`
	Text string    `json:"text"`
	At   time.Time `json:"at"`
}

func (n Note) key() string { return fmt.Sprintf("note %08d", n.ID) }

// Of are the notes of a companion, the oldest first.
func Of(s skills.Store, companion string) (all []Note, err error) {
	err = s.All(companion, func(key string, value []byte) bool {
		var n Note
		if json.Unmarshal(value, &n) == nil && n.key() == key { // what is not to be read is left where it is
			all = append(all, n)
		}
		return true
	})
	return all, err
}

// Erase forgets notes of a companion for good; none given: all that is kept for it.
func Erase(s skills.Store, companion string, notes ...Note) error {
	values := map[string][]byte{}
	for _, n := range notes {
		values[n.key()] = nil
	}
	if len(notes) == 0 {
		if err := s.All(companion, func(key string, _ []byte) bool { values[key] = nil; return true }); err != nil {
			return err
		}
	}
	return s.Put(companion, values)
}

// Skill has the tools remember, recall and forget. It keeps nothing in memory: what somebody erases is gone at once.
type Skill struct {
	store skills.Store
	mu    sync.Mutex // one change at a time
}

// New is the skill; nil where nothing can be kept.
func New(h skills.Host) skills.Skill {
	if h.Store == nil {
		return nil
	}
	return &Skill{store: h.Store}
}

// Brief is for a model with little room.
func (*Skill) Brief() string {
	return "What the person wants kept. text: a whole sentence. recall: whenever they ask what they told you."
}

// Tools lists them.
func (s *Skill) Tools() []skills.Tool {
	about := `"about":{"type":"string","maxLength":200,"description":"what it is about, in the person's words; empty: everything"}`
	return []skills.Tool{
		{
			Name: "remember", Kind: skills.ChangesDevice, Own: true,
			Description: "Keeps something that the person tells you to remember, for later conversations too. Only what they ask you to keep; " +
				"what has to be said at a certain time is a reminder.",
			Schema: json.RawMessage(`{"type":"object","properties":{"text":{"type":"string","maxLength":1000,` +
				`"description":"a whole sentence that is understood by itself: The bin goes out on Monday."}},"required":["text"],"additionalProperties":false}`),
			Handler: s.handle(s.remember),
		},
		{
			Name: "recall", Kind: skills.Reads,
			Description: "Tells what you were told to remember, about something or at all. Use it whenever the person asks what they told you, or " +
				"for something personal that you do not know.",
			Schema:  json.RawMessage(`{"type":"object","properties":{` + about + `},"additionalProperties":false}`),
			Handler: s.handle(s.recall),
		},
		{
			Name: "forget", Kind: skills.Erases,
			Description: "Forgets for good what you were told to remember about something; everything only if the person asks for that.",
			Schema: json.RawMessage(`{"type":"object","properties":{` + about +
				`,"all":{"type":"boolean","description":"true: all that fits, or everything"}},"additionalProperties":false}`),
			Handler: s.handle(s.forget),
		},
	}
}

type arguments struct {
	Text, About string
	All         bool
}

func (s *Skill) handle(f func(skills.Context, arguments, []Note) (string, error)) func(skills.Context, json.RawMessage) (skills.Result, error) {
	return skills.InWords("what is to be remembered must be a text", func(ctx skills.Context, a arguments) (string, error) {
		s.mu.Lock()
		defer s.mu.Unlock()
		all, err := Of(s.store, ctx.Companion)
		if err != nil {
			return "", err
		}
		return f(ctx, a, all)
	})
}

func (s *Skill) remember(ctx skills.Context, a arguments, all []Note) (string, error) {
	n := Note{ID: 1, Text: strings.Join(strings.Fields(a.Text), " "), At: ctx.Now().Round(0)}
	switch {
	case n.Text == "":
		return "", errors.New("what should I remember?")
	case len(n.Text) > longest:
		return "", fmt.Errorf("that is too long to be remembered: %d letters at most", longest)
	case len(all) >= most:
		return "", fmt.Errorf("I remember %d things already, and no more are possible; have me forget one first", most) //nolint:staticcheck // a companion says it
	case slices.ContainsFunc(all, func(o Note) bool { return strings.EqualFold(o.Text, n.Text) }):
		return "I remember that already.", nil
	}
	if len(all) > 0 {
		n.ID = all[len(all)-1].ID + 1
	}
	value, err := json.Marshal(n)
	if err == nil {
		err = s.store.Put(ctx.Companion, map[string][]byte{n.key(): value})
	}
	if err != nil {
		return "", fmt.Errorf("I cannot remember that: %w", err) //nolint:staticcheck // a companion says it
	}
	return "I will remember: " + n.Text, nil
}

func (s *Skill) recall(_ skills.Context, a arguments, all []Note) (string, error) {
	found := find(all, a.About)
	switch {
	case len(all) == 0:
		return "You have told me nothing to remember.", nil
	case len(found) == 0:
		return "You have told me nothing about " + a.About + ".", nil
	}
	return "You told me: " + list(found), nil
}

func (s *Skill) forget(ctx skills.Context, a arguments, all []Note) (string, error) {
	found := find(all, a.About)
	switch {
	case len(all) == 0:
		return "There is nothing that I remember.", nil
	case len(found) == 0:
		return "I remember nothing about " + a.About + ".", nil
	case len(found) > 1 && !a.All:
		return "Which of these should I forget, or all of them? " + list(found), nil
	}
	if err := Erase(s.store, ctx.Companion, found...); err != nil {
		return "", fmt.Errorf("I cannot forget that: %w", err) //nolint:staticcheck // a companion says it
	}
	if len(found) > 1 {
		return fmt.Sprintf("I have forgotten %d things.", len(found)), nil
	}
	return "I have forgotten: " + found[0].Text, nil
}

// find are the notes that have most of the words of what somebody asks about; all if there is none.
func find(all []Note, about string) (found []Note) {
	wanted, most := words(about), 1
	if len(wanted) == 0 {
		return all
	}
	for _, note := range all {
		has, n := words(note.Text), 0
		for _, w := range wanted {
			if slices.Contains(has, w) {
				n++
			}
		}
		if n > most {
			most, found = n, nil
		}
		if n == most {
			found = append(found, note)
		}
	}
	return found
}

// words are those that carry a meaning, without what makes one of them several.
func words(s string) []string {
	return skills.Keywords(s, "the a an my your our i you me it is are was that this about of on in to at and what did tell do does goes go")
}

// list is the latest of them.
func list(notes []Note) string {
	var all []string
	for _, n := range notes[max(0, len(notes)-told):] {
		all = append(all, strings.TrimRight(n.Text, ".!? ")+".")
	}
	if n := len(notes) - told; n > 0 {
		all = append(all, fmt.Sprintf("And %d older ones.", n))
	}
	return strings.Join(all, " ")
}
