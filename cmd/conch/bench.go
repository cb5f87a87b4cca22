package main

import (
	"fmt"
	"time"

	"conch/device/bench"
	"conch/device/control"
)

type benchCmd struct {
	Silence   benchSilenceCmd   `cmd:"" help:"Press a virtual button while sound plays; print press to silence for each state."`
	Voice     benchVoiceCmd     `cmd:"" help:"Ask the configured voice a question; print the delay from release to first sound, stage by stage."`
	Footprint benchFootprintCmd `cmd:"" help:"Start a private appliance; print memory, processor time, wake-ups, size and time to ready; status 1 if it does not sleep while it idles."`
}

type benchSilenceCmd struct {
	Presses int      `help:"Presses per state." default:"20" short:"n"`
	State   []string `help:"Only these states." placeholder:"STATE"`
	Virtual bool     `help:"On the virtual card instead of this machine's."`
	Air     bool     `help:"Let this machine's microphone hear when it is silent (a loopback, or both in one room)."`
	JSON    bool     `help:"Print JSON." name:"json"`
}

func (c benchSilenceCmd) Run(e *env) error {
	cfg, err := e.load()
	if err != nil {
		return err
	}
	report, err := bench.MeasureSilence(e.ctx, cfg, c.Presses, c.State, c.Virtual, c.Air, e.err)
	if err != nil {
		return err
	}
	if c.JSON {
		return e.json(report)
	}
	fmt.Fprintln(e.out, "method:", report.Method)
	report.Print(e.out)
	return nil
}

type benchVoiceCmd struct {
	Rounds int  `help:"Questions." default:"5" short:"n"`
	JSON   bool `help:"Print JSON." name:"json"`
}

func (c benchVoiceCmd) Run(e *env) error {
	if c.Rounds < 1 || c.Rounds > 100 {
		return fmt.Errorf("%w: --rounds: must be 1 to 100", control.ErrRefused)
	}
	cfg, err := e.load()
	if err != nil {
		return err
	}
	report, err := bench.MeasureVoice(e.ctx, cfg, c.Rounds, e.err)
	if err != nil {
		return err
	}
	if c.JSON {
		return e.json(report)
	}
	fmt.Fprintf(e.out, "voice:  %s\nmethod: %s\n", report.Called, report.Method)
	report.Print(e.out)
	return nil
}

type benchFootprintCmd struct {
	Idle time.Duration `help:"How long to watch it idle." default:"10s"`
	Talk time.Duration `help:"How long to watch it talk." default:"20s"`
}

func (c benchFootprintCmd) Run(e *env) error {
	if c.Idle < time.Second || c.Talk < time.Second {
		return fmt.Errorf("%w: --idle and --talk: must be 1s or more", control.ErrRefused)
	}
	var set []string
	for k, v := range e.set {
		set = append(set, k+"="+v)
	}
	return bench.Footprint{Config: e.config, Set: set, Idle: c.Idle, Talk: c.Talk, Out: e.out}.Run(e.ctx)
}
