package room

import (
	"errors"
	"slices"

	"conch/companions"
	"conch/companions/round"
	"conch/device/cards"
	"conch/device/condition"
	"conch/device/config"
)

// living finds who lives here: given, or else by the configuration. A refused card is a condition.
func living(given []companions.Card, cfg *config.Config, conds *condition.Book) []companions.Card {
	all := given
	if len(all) == 0 {
		var problems []error
		all, problems = cards.Find(cfg)
		if len(problems) > 0 {
			conds.Set(condition.RoomCard, errors.Join(problems...).Error(), "mend the card and restart; the other companions are here")
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
