package main

import (
	"fmt"
	"time"

	"conch/device/control"
	"conch/device/setup"
	"conch/device/sound"
)

type audioCmd struct {
	List audioListCmd `cmd:"" help:"List sound devices by their stable identity."`
	Test audioTestCmd `cmd:"" help:"Play a tone, then record three seconds and play them back."`
	Pick audioPickCmd `cmd:"" help:"Choose loudspeaker and microphone by hearing them, and write that down."`
}

type audioListCmd struct {
	JSON bool `help:"Print JSON." name:"json"`
}

func (c audioListCmd) Run(e *env) error {
	cfg, err := e.load()
	if err != nil {
		return err
	}
	devices, err := sound.Devices(cfg, e.logger(cfg))
	if err != nil {
		return err
	}
	if c.JSON {
		return e.json(devices)
	}
	if len(devices) == 0 {
		fmt.Fprintln(e.out, "no sound device: no card and no sound server (conch runs without sound and says so)")
	}
	for _, d := range devices {
		fmt.Fprintf(e.out, "%-9s %-40s %s\n", d.Kind, d.ID, d.Name)
	}
	if len(devices) > 0 {
		fmt.Fprintf(e.out, "\nconch plays on %s\n", sound.Loudspeaker(e.ctx, cfg, e.logger(cfg)))
	}
	return nil
}

type audioTestCmd struct {
	Seconds int `help:"Length of the recording." default:"3"`
}

func (c audioTestCmd) Run(e *env) error {
	if c.Seconds < 1 || c.Seconds > 30 {
		return fmt.Errorf("%w: --seconds %d: must be 1 to 30", control.ErrRefused, c.Seconds)
	}
	cfg, err := e.load()
	if err != nil {
		return err
	}
	return sound.Test(e.ctx, cfg, e.logger(cfg), time.Duration(c.Seconds)*time.Second, e.out)
}

type audioPickCmd struct {
	Yes      bool   `help:"Ask nobody: take what the flags say." short:"y"`
	JSON     bool   `help:"Print JSON; without --yes nothing is written." name:"json"`
	Playback string `help:"Loudspeaker, as conch audio list names it." placeholder:"DEVICE"`
	Capture  string `help:"Microphone, as conch audio list names it." placeholder:"DEVICE"`
}

func (c audioPickCmd) Run(e *env) error {
	only := setupCmd{Steps: []string{"sound"}, Pin: -1, Credentials: setup.Credentials}
	only.Yes, only.JSON, only.Playback, only.Capture = c.Yes, c.JSON, c.Playback, c.Capture
	return only.Run(e)
}
