package main

import (
	"fmt"

	"conch/device"
)

type whyCmd struct{}

func (whyCmd) Run(e *env) error {
	var lines []device.RecentLine
	if err := e.request("GET", "/recent", nil, &lines); err != nil {
		return err
	}
	for _, l := range lines {
		fmt.Fprintln(e.out, l)
	}
	return nil
}
