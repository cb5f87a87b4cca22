// Package library is the skill that plays what lies in a folder: audiobooks, music, recordings.
package library

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode"

	"conch/companions/skills"
)

// Our choices.
const (
	again    = 20 * time.Second // what is heard once more where somebody goes on: who stopped has lost the thread
	patience = 30 * time.Minute
	told     = 5 // titles that are read out
)

// Skill has the tools play and go_on.
type Skill struct {
	of skills.Library

	mu      sync.Mutex
	title   string // what was played last; empty: nothing, or it came to its end
	heard   int    // samples of it, where it was stopped
	playing int    // streams that were handed out and have not ended
}

// New is the skill; nil where there is no place for a library.
func New(h skills.Host) skills.Skill {
	if h.Library == nil {
		return nil
	}
	return &Skill{of: *h.Library}
}

// Tools lists them.
func (s *Skill) Tools() []skills.Tool {
	return []skills.Tool{
		{
			Name: "play",
			Description: "Plays a book, music or another recording of the person's own library, by its title or a part of it; an empty title " +
				"tells what there is. It begins when you have finished speaking. Do not announce a title that the person did not say.",
			Schema: json.RawMessage(`{"type":"object","properties":{"title":{"type":"string","maxLength":200,` +
				`"description":"title or a part of it, as the person said it"}},"required":["title"],"additionalProperties":false}`),
			Handler: s.play,
		},
		{
			Name:        "go_on",
			Description: "Goes on with what was played last, a little before the place where it was stopped.",
			Handler:     s.goOn,
		},
	}
}

func (s *Skill) play(_ skills.Context, args json.RawMessage) (skills.Result, error) {
	var a struct{ Title string }
	if err := json.Unmarshal(args, &a); err != nil {
		return skills.Result{}, fmt.Errorf("the title must be a text: %w", err)
	}
	all, err := s.of.Titles()
	switch {
	case err != nil:
		return skills.Result{}, err
	case len(all) == 0:
		return skills.Result{Output: "The library is empty. MP3, FLAC, Ogg or WAV files belong into " + s.of.Where + "."}, nil
	}
	found := find(all, a.Title)
	switch {
	case len(found) == 1:
		return s.stream(found[0], 0)
	case len(found) == 0 && len(words(a.Title)) > 0:
		return skills.Result{Output: "There is no " + a.Title + ". There is " + list(all) + "."}, nil
	case len(found) == 0:
		return skills.Result{Output: "There is " + list(all) + "."}, nil
	}
	return skills.Result{Output: "Which of them: " + list(found) + "?"}, nil
}

func (s *Skill) goOn(skills.Context, json.RawMessage) (skills.Result, error) {
	s.mu.Lock()
	title, heard, playing := s.title, s.heard, s.playing
	s.mu.Unlock()
	switch {
	case playing > 0: // it was only interrupted by being asked
		return skills.Result{Output: "It goes on."}, nil
	case title == "":
		return skills.Result{Output: "There is nothing to go on with."}, nil
	}
	return s.stream(title, max(0, heard-int(again.Seconds()*skills.Rate)))
}

// stream plays a title from one of its samples on.
func (s *Skill) stream(title string, from int) (skills.Result, error) {
	sound, err := s.of.Open(title) // now, so that who asked is told
	if err != nil {
		return skills.Result{}, err
	}
	sound.Close()
	began := false // guarded by mu
	return skills.Result{Effect: skills.AudioStream{
		Pauses: true, Patience: patience,
		Run: func(_ context.Context, write func([]int16) error) error {
			s.mu.Lock()
			s.title, s.heard = title, from
			s.playing, began = s.playing+1, true
			s.mu.Unlock()
			return s.read(title, from, write)
		},
		Ended: func(how skills.Ended, heard int) {
			s.mu.Lock()
			defer s.mu.Unlock()
			if !began {
				return
			}
			s.playing--
			switch {
			case s.playing > 0: // another one has begun
			case how == skills.Finished:
				s.title = ""
			default:
				s.heard = from + heard
			}
		},
	}}, nil
}

func (s *Skill) read(title string, from int, write func([]int16) error) error {
	sound, err := s.of.Open(title)
	if err != nil {
		return err
	}
	defer sound.Close()
	for {
		pcm, err := sound.From(from)
		if errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		if err := write(pcm); err != nil {
			return err
		}
		from += len(pcm)
	}
}

// find are the titles that have most of the words of what was said; all of its words, if any has.
func find(all []string, said string) (found []string) {
	most, wanted := 0, words(said)
	for _, title := range all {
		has, n := words(title), 0
		for _, w := range wanted {
			if slices.Contains(has, w) {
				n++
			}
		}
		switch {
		case n == 0 || n < most:
			continue
		case slices.Equal(has, wanted):
			return []string{title}
		case n > most:
			most, found = n, nil
		}
		found = append(found, title)
	}
	return found
}

// words are those of a title, in lower case.
func words(s string) []string {
	return strings.FieldsFunc(strings.ToLower(s), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
}

func list(titles []string) string {
	if n := len(titles) - told; n > 0 {
		return strings.Join(titles[:told], ", ") + fmt.Sprintf(", and %d more", n)
	}
	return strings.Join(titles, ", ")
}
