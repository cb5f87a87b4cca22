package main

import (
	"encoding/json"
	"fmt"
	"strings"
	"text/tabwriter"

	"conch/device"
)

// roomCmd is the subcommands of conch room.
type roomCmd struct {
	List    roomListCmd    `cmd:"" help:"List who is in the room, as the running appliance sees it."`
	Watch   roomWatchCmd   `cmd:"" help:"Show each round as it happens: who speaks and why, and why the others do not."`
	Control roomControlCmd `cmd:"" help:"Set how much companions join in, or mute one."`
	Replay  roomReplayCmd  `cmd:"" help:"Put recorded dialogues to the room's judgement, or check a ledger's choices."`
	ID      roomIDCmd      `cmd:"" name:"id" help:"Print this device's id, for room.members of the others."`
}

type roomIDCmd struct{}

func (roomIDCmd) Run(e *env) error {
	cfg, err := e.load()
	if err != nil {
		return err
	}
	id, err := device.RoomID(cfg)
	if err != nil {
		return err
	}
	fmt.Fprintln(e.out, id)
	return nil
}

// Subcommands of conch room that talk to the running appliance.

type roomListCmd struct {
	JSON bool `help:"Print JSON." name:"json"`
}

func (c roomListCmd) Run(e *env) error {
	var s device.RoomStatus
	if err := e.request("GET", "/room", nil, &s); err != nil {
		return err
	}
	if c.JSON {
		return e.json(s)
	}
	link := "no broker"
	switch {
	case s.Connected:
		link = "broker " + s.Broker
	case s.Broker != "":
		link = "broker " + s.Broker + " (not connected)"
	}
	fmt.Fprintf(e.out, "room %s, %s\n", s.Room, link)
	w := tabwriter.NewWriter(e.out, 0, 4, 2, ' ', 0)
	for _, m := range s.Members {
		here := ""
		if m.Device == s.Device {
			here = "this device"
		}
		if len(m.Cards) == 0 {
			fmt.Fprintf(w, "%s\t%s\t-\t\t%s\n", m.Name, m.Device, here)
		}
		for _, card := range m.Cards {
			state := string(card.Involvement)
			if card.Muted {
				state = "muted"
			}
			fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", m.Name, m.Device, card.Name, state, here)
		}
	}
	if err := w.Flush(); err != nil {
		return err
	}
	for why, n := range s.Ignored() {
		if n > 0 {
			fmt.Fprintf(e.out, "ignored: %d x %s\n", n, why)
		}
	}
	return nil
}

type roomWatchCmd struct {
	JSON bool `help:"Print one JSON object a line." name:"json"`
}

func (c roomWatchCmd) Run(e *env) error {
	cfg, err := e.load()
	if err != nil {
		return err
	}
	r, err := device.Dial(cfg)
	if err != nil {
		return err
	}
	var s device.RoomStatus
	if err := r.Do(e.ctx, "GET", "/room", nil, &s); err != nil {
		return err
	}
	return r.Lines(e.ctx, "/room/watch", func(line []byte) {
		if c.JSON {
			fmt.Fprintf(e.out, "%s\n", line)
			return
		}
		var entry device.RoomEntry
		if err := json.Unmarshal(line, &entry); err != nil {
			fmt.Fprintln(e.err, "conch: room watch:", err)
			return
		}
		fmt.Fprint(e.out, device.EntryText(entry, s.Members))
	})
}

type roomControlCmd struct {
	Involvement string `arg:"" optional:"" help:"off, low, medium or high." enum:",off,low,medium,high" default:""`
	Companion   string `help:"Only this companion (its id); without it the whole room." short:"w" placeholder:"ID"`
	Mute        bool   `help:"It stays silent, whatever is asked." xor:"mute"`
	Unmute      bool   `help:"It may speak again." xor:"mute"`
}

func (c roomControlCmd) Run(e *env) error {
	in := map[string]any{}
	if c.Companion != "" {
		in["companion"] = strings.ToLower(c.Companion)
	}
	if c.Involvement != "" {
		in["involvement"] = c.Involvement
	}
	if c.Mute || c.Unmute {
		in["mute"] = c.Mute
	}
	return e.request("POST", "/room/control", in, nil)
}
