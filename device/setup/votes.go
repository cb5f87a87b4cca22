package setup

import (
	"context"
	"slices"
	"strconv"

	"conch/device/cards"
	"conch/device/config"
	"conch/device/provider"
	"conch/mqtt"
	"conch/mqtt/membership"
)

// votesKey is who votes in a room, and with it what leaves the house for a model.
const votesKey = "room.votes"

// votesApply says whether there is something to ask: companions that vote, and a model that could.
func votesApply(w *wizard) bool {
	address, _ := voteServer(w)
	return address != "" && voters(w)
}

// voters says whether anybody votes here: this device is in a room, or several companions live on it.
func voters(w *wizard) bool {
	if w.cfg.Room.Broker != "" {
		return true
	}
	if here, _ := cards.Find(&w.cfg); len(here) > 1 { // a card that is refused is doctor's to tell
		return true
	}
	dirs := []string{w.cfg.State.Dir}
	if w.cfg.Unset("state.dir") { // of whoever runs setup; the service has its own
		dirs = append(dirs, w.path(serviceState))
	}
	return slices.ContainsFunc(dirs, paired)
}

// serviceState is where the installed service keeps what survives a restart (StateDirectory in conch.service).
const serviceState = "/var/lib/conch"

// paired says whether the device of a state directory was paired into a room.
func paired(dir string) bool {
	id, err := mqtt.ReadIdentity(dir)
	if err != nil {
		return false
	}
	m, err := membership.Look(dir, id)
	return err == nil && m != nil && m.Room() != nil
}

// voteServer is the chat server that could be asked, and its model; empty: there is none.
func voteServer(w *wizard) (address, model string) {
	cfg := withKey(w, w.cfg)
	if cfg.Room.Votes == "rules" {
		cfg.Room.Votes = "auto"
	}
	address, model, _ = provider.Votes(&cfg)
	return address, model
}

// withKey is a configuration with the service's key, which systemd hands to that alone.
func withKey(w *wizard, cfg config.Config) config.Config {
	if !cfg.Voice.Key.Set() {
		if stored, err := config.ReadSecret(KeyFile(w.Keys)); err == nil && stored != "" {
			cfg.Voice.Key, cfg.KeyFrom = config.NewSecret(stored), ""
		}
	}
	return cfg
}

// lookVotes says who votes.
func lookVotes(w *wizard) (string, bool) {
	chosen := !w.cfg.Unset(votesKey)
	address, model := voteServer(w)
	switch votes := w.cfg.Room.Votes; {
	case votes == "rules" && !chosen:
		return w.lang.Phrase("setup.votes_open"), false
	case votes == "rules":
		return w.lang.Phrase("setup.votes_rules"), true
	case address == "":
		return w.lang.Phrase("setup.votes_nobody"), chosen
	case votes == "auto":
		return w.lang.Phrase("setup.votes_auto", "model", model, "host", provider.Host(address)), chosen
	}
	return w.lang.Phrase("setup.votes_always", "model", model, "host", provider.Host(address)), chosen
}

// askVotes says what a model would be told and what that costs, and asks whether it may be: nobody pays, or is heard elsewhere, unasked.
func (w *wizard) askVotes(ctx context.Context) error {
	before, word := w.cfg.Room.Votes, w.Votes
	if word == "" {
		address, model := voteServer(w)
		if address == "" {
			w.skip("%s", w.lang.Phrase("setup.votes_nobody"))
			return nil
		}
		w.say("  %s", w.lang.Phrase("setup.votes_what", "model", model, "host", provider.Host(address)))
		w.say("  %s", votesCost(w, address, model))
		yes, err := w.yes(ctx, w.lang.Phrase("setup.votes_ask"), before != "rules")
		if err != nil {
			return err
		}
		switch {
		case w.nobody:
			w.now.Text, _ = lookVotes(w)
			return nil
		case !yes:
			word = "rules"
		case before == "rules":
			word = "auto"
		default:
			word = before
		}
	}
	if _, err := w.set(ctx, []config.Edit{{Key: votesKey, Value: config.Quote(word)}}); err != nil {
		return err
	}
	if w.now.State != Skipped {
		w.now.Text, _ = lookVotes(w)
		w.with(w.now.State, "%s", w.now.Text)
	}
	return nil
}

// votesCost is what the votes of a usual day cost, by the vendor's list where it is known.
func votesCost(w *wizard, address, model string) string {
	price, known := provider.PriceOfVotes(address, model)
	if !known {
		return w.lang.Phrase("setup.votes_unpriced", "lines", provider.DayLines, "calls", provider.DayCalls, "tokens", provider.DayTokens, "model", model)
	}
	day := price.Day()
	money := func(dollars float64, digits int) string { return strconv.FormatFloat(dollars, 'g', digits, 64) } // that count: it is a reckoning
	return w.lang.Phrase("setup.votes_cost", "lines", provider.DayLines, "calls", provider.DayCalls, "day", money(day, 1), "month", money(30*day, 2),
		"date", provider.PricesOf, "most", w.cfg.Room.Calls)
}
