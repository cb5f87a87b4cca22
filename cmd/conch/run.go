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
	e.spare(&cfg)
	log, level := device.LiveLogger(cfg.Log, e.err)
	again := func() (*device.Config, error) {
		cfg, err := device.Load(device.LoadOptions{File: e.config, Flags: e.set})
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
