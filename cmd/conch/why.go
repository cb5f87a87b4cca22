package main

import (
	"fmt"

	"conch/device"
	"conch/device/printable"
)

type whyCmd struct {
	All  bool `help:"Print the last facts, orders and transitions of the turn machine."`
	JSON bool `help:"Print JSON." name:"json"`
}

func (c whyCmd) Run(e *env) error {
	if !c.All {
		var why struct {
			Text string `json:"text"`
		}
		path := "/why"
		if !c.JSON { // that is English
			path += "?lang=" + e.describe().in.Code()
		}
		if err := e.request("GET", path, nil, &why); err != nil {
			return err
		}
		if c.JSON {
			return e.json(why)
		}
		fmt.Fprintln(e.out, printable.Text(why.Text))
		return nil
	}
	var lines []device.RecentLine
	if err := e.request("GET", "/recent", nil, &lines); err != nil {
		return err
	}
	if c.JSON {
		return e.json(lines)
	}
	for _, l := range lines {
		fmt.Fprintln(e.out, printable.Text(l.String()))
	}
	return nil
}
