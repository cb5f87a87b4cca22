package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"syscall"

	"conch/device"
)

type rehearseCmd struct {
	Script string `help:"Script to play (- is standard input); see README, Rehearsal." placeholder:"FILE"`
	JSON   bool   `help:"One JSON object a line on standard output." name:"json"`
	Out    string `help:"Directory for a WAV of what each speaker said." placeholder:"DIR"`
	Faults string `help:"What goes wrong with --serve, e.g. slow=2s,duplicate=0.1,fail." placeholder:"LIST"`
	Serve  string `help:"Serve the rehearsal voice (Realtime protocol) to other clients instead." placeholder:"HOST:PORT"`
}

func (c rehearseCmd) Run(e *env) error {
	cfg, err := e.load()
	if err != nil {
		return err
	}
	log := e.logger(cfg)
	switch {
	case c.Serve != "" && c.Script != "":
		return fmt.Errorf("%w: --serve and --script exclude each other", device.ErrRefused)
	case c.Serve != "":
		return device.ServeRehearsal(e.ctx, c.Serve, c.Faults, log, e.out)
	case c.Script == "":
		return fmt.Errorf("%w: rehearse needs --script FILE or --serve HOST:PORT (without a script, talk to it with: conch run)", device.ErrRefused)
	}
	in, dir := io.Reader(e.in), "."
	if c.Script != "-" {
		f, err := os.OpenFile(c.Script, os.O_RDONLY|syscall.O_NONBLOCK, 0) // opening a FIFO must not wait for a writer
		if err != nil {
			return fmt.Errorf("%w: --script: %w", device.ErrRefused, err)
		}
		defer f.Close()
		if st, err := f.Stat(); err == nil && !st.Mode().IsRegular() {
			return fmt.Errorf("%w: --script: %s is not a regular file", device.ErrRefused, c.Script)
		}
		in, dir = f, filepath.Dir(c.Script)
	}
	lines, err := device.ReadScript(in, c.Script, dir, device.RehearsalDevices)
	if err != nil {
		return fmt.Errorf("%w: %w", device.ErrRefused, err)
	}
	r := device.Rehearsal{Config: cfg, Script: lines, Out: c.Out, Log: log, Text: e.out}
	if c.JSON {
		r.JSON = e.out
	}
	return r.Run(e.ctx)
}
