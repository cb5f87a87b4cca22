package main

import (
	"fmt"
	"time"

	"conch/device/control"
	"conch/device/lights"
)

type lightCmd struct {
	List lightListCmd `cmd:"" help:"List what the light can tell, the most important first."`
	Show lightShowCmd `cmd:"" help:"Show one of them, to look after the wires; on the running appliance, or directly where none runs."`
}

type lightListCmd struct {
	JSON bool `help:"Print JSON." name:"json"`
}

func (c lightListCmd) Run(e *env) error {
	if c.JSON {
		type look struct {
			Name  string `json:"name"`
			About string `json:"about"`
		}
		var all []look
		for _, l := range lights.Looks() {
			all = append(all, look{l.Name, l.About})
		}
		return e.json(all)
	}
	for _, l := range lights.Looks() {
		fmt.Fprintf(e.out, "%-10s %s\n", l.Name, l.About)
	}
	return nil
}

type lightShowCmd struct {
	Look    string `arg:"" help:"What to show, as conch light list names it; all: one after the other."`
	Seconds int    `help:"For how long." default:"3"`
}

func (c lightShowCmd) Run(e *env) error {
	if c.Seconds < 1 || c.Seconds > 60 {
		return fmt.Errorf("%w: --seconds %d: must be 1 to 60", control.ErrRefused, c.Seconds)
	}
	cfg, err := e.loadForClient()
	if err != nil {
		return err
	}
	names := []string{c.Look}
	if c.Look == "all" {
		names = nil
		for _, l := range lights.Looks() {
			names = append(names, l.Name)
		}
	}
	for _, name := range names {
		err := lights.Show(e.ctx, cfg, name, time.Duration(c.Seconds)*time.Second, func(light string) {
			fmt.Fprintf(e.out, "%s: %s for %d s\n", light, name, c.Seconds)
		})
		if err != nil || e.ctx.Err() != nil {
			return err
		}
	}
	return nil
}

type muteCmd struct {
	Switch string `arg:"" optional:"" default:"" enum:",on,off" help:"on closes the microphone, off opens it again; without it, print which."`
	JSON   bool   `help:"Print JSON." name:"json"`
}

func (c muteCmd) Run(e *env) error {
	var now struct {
		Muted bool `json:"muted"`
	}
	var err error
	if c.Switch == "" {
		err = e.request("GET", "/status", nil, &now)
	} else {
		err = e.request("POST", "/mute", map[string]bool{"muted": c.Switch == "on"}, &now)
	}
	switch {
	case err != nil:
		return err
	case c.JSON:
		return e.json(now)
	case now.Muted:
		fmt.Fprintln(e.out, e.describe().in.Phrase("status.muted"))
	default:
		fmt.Fprintln(e.out, e.describe().in.Phrase("status.unmuted"))
	}
	return nil
}
