package main

import "conch/device"

// roomReplayCmd needs no running appliance and no configuration.
type roomReplayCmd struct {
	Files []string `arg:"" name:"file" help:"Files of dialogues (one JSON object a line), ledger files, or directories with a ledger." placeholder:"FILE"`
	JSON  bool     `help:"Print JSON: one object an answer or difference." name:"json"`
	Score bool     `help:"Of dialogues, print how many answers are right, beside simple rules, and how that was measured."`
}

func (c roomReplayCmd) Run(e *env) error {
	return device.Replay(e.out, c.Files, device.ReplayOptions{JSON: c.JSON, Score: c.Score})
}
