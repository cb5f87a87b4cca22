package main

import (
	"fmt"
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
	if trouble := cfg.KeyTrouble(); trouble != "" && term.IsTerminal(int(e.in.Fd())) { // whoever typed it can mend it
		return fmt.Errorf("%w: %s", device.ErrRefused, trouble)
	}
	e.spare(&cfg)
	journal := device.NewSpill(e.err) // nobody waits for it
	defer journal.Close()
	log, level := device.LiveLogger(cfg.Log, journal)
	again := func() (*device.Config, error) {
		cfg, err := device.Load(device.LoadOptions{File: e.config, Flags: e.set, Keyless: true})
		if err == nil {
			e.spare(cfg)
		}
		return cfg, err
	}
	return device.Appliance(e.ctx, cfg, device.Reload{Load: again, Level: level}, log, e.in, e.out)
}

// spare keeps the log from a person at a terminal, who talks and wants to read the talk; whoever wants the log as well sets
// log.level or 2> it.
func (e *env) spare(cfg *device.Config) {
	if f, ok := e.err.(*os.File); ok && term.IsTerminal(int(f.Fd())) && term.IsTerminal(int(e.in.Fd())) && cfg.Unset("log.level") {
		cfg.Log.Level = "error"
	}
}
