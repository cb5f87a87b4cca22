package main

import "conch/device/room"

// roomReplayCmd needs no running appliance and no configuration.
type roomReplayCmd struct {
	Files []string `arg:"" name:"file" help:"Ledgers or recorded dialogues, or directories with some." placeholder:"FILE"`
	Score bool     `help:"Of dialogues, print how many answers are right, beside simple rules."`
	JSON  bool     `help:"Print JSON: one object a ledger, or an answer." name:"json"`
}

func (c roomReplayCmd) Run(e *env) error {
	return room.Replay(e.out, c.Files, room.Replayed{JSON: c.JSON, Score: c.Score})
}
