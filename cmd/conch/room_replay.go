package main

import "conch/device/room"

// roomReplayCmd needs no running appliance and no configuration.
type roomReplayCmd struct {
	Files []string `arg:"" name:"file" help:"Ledger files, or directories with a ledger." placeholder:"FILE"`
	JSON  bool     `help:"Print JSON: one object a ledger." name:"json"`
}

func (c roomReplayCmd) Run(e *env) error { return room.Replay(e.out, c.Files, c.JSON) }
