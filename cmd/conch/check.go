package main

import (
	"fmt"

	"conch/device"
)

type checkCmd struct {
	JSON bool `help:"Print JSON." name:"json"`
}

func (c checkCmd) Run(e *env) error {
	cfg, err := e.load()
	if err != nil {
		return err
	}
	rows := cfg.Describe()
	if c.JSON {
		return e.json(rows)
	}
	for _, r := range rows {
		fmt.Fprintf(e.out, "%-24s %-40s %s\n", r.Key, r.Value, r.Origin)
	}
	return device.CheckDevices(e.ctx, cfg, e.out)
}
