// Package cards finds the companions that live on the device of a configuration, and says what is wrong with their cards.
package cards

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"conch/companions"
	"conch/companions/round"
	"conch/companions/words"
	"conch/device/config"
)

// Find finds the cards of the companions that live on the device of this configuration (device.companion): one's own,
// those that come with conch, or a plain one of that name. problems are cards that were refused; the others load. Where none
// is left, the device is Ada's.
func Find(cfg *config.Config) (cards []companions.Card, problems []error) {
	var own []companions.Card
	dir := dir(cfg)
	if _, err := os.Stat(dir); dir != "" && (err == nil || cfg.Room.Cards != "") { // beside the file there need not be any
		own, problems = companions.LoadCards(dir)
	}
	if len(own) > 0 && cfg.Unset("device.companion") {
		return own, problems
	}
	known := append(own, companions.DefaultCards()...)
	for _, name := range strings.Split(cfg.Device.Companion, ",") {
		name = strings.TrimSpace(name)
		card, ok := companions.FindCard(known, name)
		if !ok {
			card = companions.PlainCard(name)
		}
		if _, twice := companions.FindCard(cards, string(card.ID)); twice {
			problems = append(problems, fmt.Errorf("device.companion = %q: %s is named twice; name each once", cfg.Device.Companion, name))
			continue
		}
		cards = append(cards, card)
	}
	if len(cards) == 0 {
		cards = companions.DefaultCards()[:1]
	}
	return cards, problems
}

// Words are the languages that the rules understand on the device of this configuration (room.words): nil where there are no own words.
// The error tells of every file that was refused; the others count.
func Words(cfg *config.Config) (*words.Languages, error) {
	dir := beside(cfg, cfg.Room.Words, "words")
	if _, err := os.Stat(dir); dir == "" || err != nil && cfg.Room.Words == "" { // beside the file there need not be any
		return nil, nil
	}
	x, err := words.Known().With(os.DirFS(dir), ".")
	if err != nil {
		err = fmt.Errorf("room.words = %q: %w", dir, err)
	}
	return x, err
}

// dir is where a household keeps its cards.
func dir(c *config.Config) string { return beside(c, c.Room.Cards, "companions") }

// beside is a directory that is set, or that of a name beside the configuration file.
func beside(c *config.Config, set, name string) string {
	switch {
	case set != "":
		return set
	case c.File != "":
		return filepath.Join(filepath.Dir(c.File), name)
	}
	return ""
}

// Report is who lives on the device of a configuration, and which cards were refused.
type Report struct {
	Companions []Row     `json:"companions"`
	Problems   []Problem `json:"problems"`
}

// Row is one companion that lives here.
type Row struct {
	ID     round.CompanionID `json:"id"`
	Name   string            `json:"name"`
	File   string            `json:"file,omitempty"` // empty: none
	Source string            `json:"source"`         // the file, or in words where it comes from
}

// Problem is one thing that is wrong with a card.
type Problem struct {
	File  string `json:"file,omitempty"`
	Line  int    `json:"line,omitempty"`
	Field string `json:"field,omitempty"`
	Value string `json:"value,omitempty"`
	Want  string `json:"want,omitempty"` // what is allowed, or what is wrong
	Text  string `json:"text"`
}

// Check reads the cards of a configuration.
func Check(cfg config.Config) Report {
	cards, problems := Find(&cfg)
	r := Report{Companions: []Row{}, Problems: []Problem{}}
	for _, c := range cards {
		row := Row{ID: c.ID, Name: c.Name, File: c.File, Source: c.File}
		if _, shipped := companions.FindCard(companions.DefaultCards(), string(c.ID)); c.File == "" {
			row.Source = "a name of your own, without a card"
			if shipped {
				row.Source = "comes with conch"
			} else if near := config.Nearest(c.Name, []string{"Ada", "Ben", "Cleo"}); near != "" {
				row.Source += fmt.Sprintf(" (did you mean %s?)", near)
			}
		}
		r.Companions = append(r.Companions, row)
	}
	for _, err := range problems {
		p := Problem{Text: err.Error()}
		if e := (*companions.CardError)(nil); errors.As(err, &e) {
			p.File, p.Line, p.Field, p.Value, p.Want = e.File, e.Line, e.Field, e.Value, e.Want
		}
		r.Problems = append(r.Problems, p)
	}
	return r
}
