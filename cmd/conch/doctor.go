package main

import (
	"fmt"

	"conch/device"
)

type doctorCmd struct {
	JSON bool `help:"Print JSON." name:"json"`
}

func (c doctorCmd) Run(e *env) error {
	cfg, err := e.load()
	if err != nil {
		return err
	}
	findings := device.Doctor(e.ctx, cfg)
	bad := 0
	for _, f := range findings {
		if f.Level == "bad" {
			bad++
		}
	}
	if c.JSON {
		if err := e.json(findings); err != nil {
			return err
		}
	} else {
		for _, f := range findings {
			fmt.Fprintf(e.out, "%-5s %-12s %s\n", f.Level, f.Check, f.Text)
			if f.Do != "" {
				fmt.Fprintf(e.out, "%-5s %-12s -> %s\n", "", "", f.Do)
			}
		}
	}
	if bad > 0 {
		return fmt.Errorf("doctor: %d of %d findings keep conch from working", bad, len(findings))
	}
	return nil
}
