package library

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"

	"conch/companions/skills"
)

// Speeds, in percent of the one that a book was recorded at.
const (
	slowest = 75
	fastest = 200
	normal  = 100
)

const speedKey = "speed" // of the store, of all companions: how fast one listens is no matter of who reads

// speed is that of books.
func (b *bookmarks) speed() (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.percent != 0 {
		return b.percent, nil
	}
	b.percent = normal
	if b.store != nil {
		v, err := b.store.Get("", speedKey)
		if err != nil {
			b.percent = 0
			return 0, fmt.Errorf("the speed cannot be read: %w", err)
		}
		if n, err := strconv.Atoi(string(v)); err == nil && n >= slowest && n <= fastest { // else of another kind, or none
			b.percent = n
		}
	}
	return b.percent, nil
}

// setSpeed keeps another one.
func (b *bookmarks) setSpeed(percent int) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.store != nil {
		if err := b.store.Put("", map[string][]byte{speedKey: []byte(strconv.Itoa(percent))}); err != nil {
			return fmt.Errorf("the speed was not kept: %w", err)
		}
	}
	b.percent = percent
	return nil
}

// speed sets it. What plays goes on at the same place.
func (s *Skill) speed(_ skills.Context, args json.RawMessage) (skills.Result, error) {
	var a struct{ Percent, By int }
	if err := json.Unmarshal(args, &a); err != nil {
		return skills.Result{}, fmt.Errorf("the speed must be a number: %w", err)
	}
	was, err := s.marks.speed()
	if err != nil {
		return skills.Result{}, err
	}
	if a.Percent == 0 {
		if a.By == 0 {
			return skills.Result{}, errors.New("the speed is missing: percent, or by")
		}
		a.Percent = was + a.By
	}
	percent := min(max(a.Percent, slowest), fastest)
	if err := s.marks.setSpeed(percent); err != nil {
		return skills.Result{}, err
	}
	said := fmt.Sprintf("Books are read at %d percent.", percent)
	if percent == normal {
		said = "Books are read at their normal speed."
	}
	p := s.current()
	switch {
	case p == nil, p.speed == percent:
		return skills.Result{Output: said}, nil
	case p.music:
		return skills.Result{Output: said + " Music stays as it is."}, nil
	}
	x, w, file, at, err := s.here()
	if err != nil || w == nil {
		return skills.Result{}, err
	}
	return s.stream(x, *w, file, at.At)
}
