package main

import (
	"fmt"

	"conch/device"
)

type versionCmd struct{}

func (versionCmd) Run(e *env) error {
	fmt.Fprintln(e.out, device.Version())
	return nil
}
