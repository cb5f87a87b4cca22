package main

import (
	"fmt"

	"conch/device"
	"conch/device/config"
	"conch/device/control"
	"conch/device/doctor"
)

type doctorCmd struct {
	JSON      bool `help:"Print JSON: a list of objects with check, level (ok, note, warn, bad), text, cause, do and group." name:"json"`
	Verbose   bool `help:"Also list what is in order." short:"v"`
	Anonymous bool `help:"Also leave out names and addresses of the house and its room."`
}

// Help is below the flags in conch doctor --help.
func (doctorCmd) Help() string {
	return "Looks at the installed service where there is one, else at what conch run would be. Needs no root and nothing that runs; what only root can " +
		"see, it says. Prints no keys, passwords, user names, home directories or Wi-Fi names: the output can be pasted into an issue.\n\nExit status: " +
		"0 nothing keeps conch from working (there may be warnings), 1 something does (a configuration in its usual place that is refused is such a " +
		"thing), 2 --config, --set or a flag was refused and nothing was looked at."
}

func (c doctorCmd) Run(e *env) error {
	d := doctor.Examine(e.ctx, doctor.Options{LoadOptions: config.LoadOptions{File: e.config, Flags: e.set}, Tools: device.Tools, Anonymous: c.Anonymous})
	if d.Refused != nil && (e.config != "" || len(e.set) > 0) { // what was asked for here is wrong, not the box
		return fmt.Errorf("%w: %w", control.ErrRefused, d.Refused)
	}
	if c.JSON {
		if err := e.json(d.Findings); err != nil {
			return err
		}
	} else {
		d.Print(e.out, c.Verbose)
	}
	if d.Bad() > 0 {
		return fmt.Errorf("doctor: %d of %d findings keep conch from working", d.Bad(), len(d.Findings))
	}
	return nil
}
