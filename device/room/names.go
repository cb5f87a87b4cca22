package room

import (
	"errors"
	"slices"

	"conch/companions"
	"conch/companions/round"
	"conch/coordinator/turn"
	"conch/device/cards"
	"conch/device/condition"
	"conch/device/config"
)

// A companion has the id of its card's file, by which this device knows it: its voice, its tools, its usage. Where another
// device has brought one of that id before, the room calls it differently (ROOM.md 1: ada-2), and by that id everything that
// comes from the room or goes to it names it. Here the one becomes the other.

// roomCards are the companions that live here, as the room calls them; nil without a room.
func (d *Driver) roomCards() []round.Card {
	for _, m := range d.Members() {
		if m.Device == d.o.Self {
			return m.Cards
		}
	}
	return nil
}

// fileID is a card's id in its own file.
func fileID(c round.Card) round.CompanionID {
	if c.Renamed != "" {
		return c.Renamed
	}
	return c.ID
}

// KnownAs is what the room calls a companion that lives here.
func (d *Driver) KnownAs(id round.CompanionID) round.CompanionID {
	for _, c := range d.roomCards() {
		if fileID(c) == id {
			return c.ID
		}
	}
	return id
}

// Called is what the room calls the companion whose turn it is.
func (d *Driver) Called(who turn.Who) round.CompanionID { return d.KnownAs(d.Voices.Whose(who)) }

// Houses says whether a companion of the room lives here.
func (d *Driver) Houses(c round.CompanionID) bool {
	return slices.ContainsFunc(d.Cards, func(own companions.Card) bool { return d.KnownAs(own.ID) == c })
}

// housed is the companion that the room calls c, by its file; c itself where nobody here is called so.
func (d *Driver) housed(c round.CompanionID) round.CompanionID {
	for _, card := range d.roomCards() {
		if card.ID == c {
			return fileID(card)
		}
	}
	return c
}

// NameOf is what people call a companion that lives here.
func (d *Driver) NameOf(id round.CompanionID) string {
	for _, c := range d.roomCards() {
		if fileID(c) == id {
			return c.Name
		}
	}
	for _, c := range d.Cards {
		if c.ID == id {
			return c.Name
		}
	}
	return string(id)
}

// cardsInRoom are the whole cards of those who live here, with the ids and names that the room knows.
func (d *Driver) cardsInRoom() []companions.Card {
	known := d.roomCards()
	all := make([]companions.Card, 0, len(d.Cards))
	for _, card := range d.Cards {
		for _, c := range known {
			if fileID(c) == card.ID {
				card.Card = c
			}
		}
		all = append(all, card)
	}
	return all
}

// living finds who lives here: given, or else by the configuration. A refused card is a condition.
func living(given []companions.Card, cfg *config.Config, conds *condition.Book) []companions.Card {
	all := given
	if len(all) == 0 {
		var problems []error
		all, problems = cards.Find(cfg)
		if _, err := cards.Words(cfg); err != nil {
			problems = append(problems, err)
		}
		if len(problems) > 0 {
			conds.Set(condition.RoomCard, errors.Join(problems...).Error(), "mend the file and restart; what is in the others counts")
		}
	}
	if !cfg.Unset("room.involvement") {
		all = slices.Clone(all)
		for i := range all {
			all[i].Involvement = round.Involvement(cfg.Room.Involvement)
		}
	}
	return all
}
