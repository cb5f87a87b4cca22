package main

import (
	"fmt"

	"github.com/alecthomas/kong"

	"conch/device"
)

type versionCmd struct{}

func (versionCmd) Run(e *env) error {
	fmt.Fprintln(e.out, device.Version())
	return nil
}

// versionFlag is --version, which whoever knows other programs tries first.
type versionFlag bool

// BeforeReset is called when the flag is met, before anything else is looked at.
func (versionFlag) BeforeReset(app *kong.Kong) error {
	fmt.Fprintln(app.Stdout, device.Version())
	app.Exit(exitOK)
	return nil
}
