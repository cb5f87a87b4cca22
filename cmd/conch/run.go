package main

import (
	"os"

	"golang.org/x/term"

	"conch/device"
)

type runCmd struct{}

func (runCmd) Run(e *env) error {
	cfg, err := e.load()
	if err != nil {
		return err
	}
	// A person at a terminal talks, and wants to read the talk; whoever wants the log as well sets log.level or 2> it.
	if f, ok := e.err.(*os.File); ok && term.IsTerminal(int(f.Fd())) && term.IsTerminal(int(e.in.Fd())) && cfg.Unset("log.level") {
		cfg.Log.Level = "error"
	}
	return device.Appliance(e.ctx, cfg, e.logger(cfg), e.in, e.out)
}
