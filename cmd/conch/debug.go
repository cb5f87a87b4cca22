package main

import (
	"fmt"
	"time"

	"conch/device/control"
	"conch/device/mcp"
)

// debugCmd is for whoever tests the appliance; help does not list it.
type debugCmd struct {
	Stall debugStallCmd `cmd:"" help:"Have one loop of the running appliance stand still, to see what the watchdog makes of it (root, or its user)."`
}

type debugStallCmd struct {
	Loop string        `arg:"" help:"coordinator, playback, capture, voice, button, room or mqtt."`
	For  time.Duration `help:"For how long (at most 5m)." default:"2m"`
}

func (c debugStallCmd) Run(e *env) error {
	if c.For <= 0 {
		return fmt.Errorf("%w: --for %s: must be more than nothing", control.ErrRefused, c.For)
	}
	var out struct{ Loop string }
	if err := e.request("POST", "/debug/stall", map[string]any{"loop": c.Loop, "for_ms": c.For.Milliseconds()}, &out); err != nil {
		return err
	}
	fmt.Fprintf(e.out, "%s stands still for %s\n", out.Loop, c.For)
	return nil
}

// mcpServerCmd is the process of conch-mcp@.service.
type mcpServerCmd struct{}

func (mcpServerCmd) Run(e *env) error { return mcp.Serve(e.ctx, e.in) }
