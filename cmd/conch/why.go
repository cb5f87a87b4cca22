package main

import (
	"fmt"

	"conch/device"
)

type whyCmd struct {
	All bool `help:"Print the last facts and orders of the turn machine."`
}

func (c whyCmd) Run(e *env) error {
	var s device.RoomStatus
	if !c.All && e.request("GET", "/room", nil, &s) == nil { // a device that is alone has no room to tell of
		var why struct{ Text string }
		if err := e.request("GET", "/room/why", nil, &why); err != nil {
			return err
		}
		fmt.Fprintln(e.out, why.Text)
		return nil
	}
	var lines []device.RecentLine
	if err := e.request("GET", "/recent", nil, &lines); err != nil {
		return err
	}
	for _, l := range lines {
		fmt.Fprintln(e.out, l)
	}
	return nil
}
