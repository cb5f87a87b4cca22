package main

import (
	"encoding/json"
	"fmt"

	"conch/device/control"
	"conch/device/printable"
	"conch/device/room"
)

// roomCmd is the subcommands of conch room.
type roomCmd struct {
	List    roomListCmd    `cmd:"" help:"List who is in the room, as the running appliance sees it."`
	Pair    roomPairCmd    `cmd:"" help:"Let another device into the room: open a window of two minutes, and show its code."`
	Join    roomJoinCmd    `cmd:"" help:"Join a room whose window is open, by its code, typed or heard."`
	Remove  roomRemoveCmd  `cmd:"" help:"End another device's membership, at once."`
	Rename  roomRenameCmd  `cmd:"" help:"Call a device of the room by another name."`
	Keep    roomKeepCmd    `cmd:"" help:"Let this device keep the room, in place of one that is gone for good."`
	Leave   roomLeaveCmd   `cmd:"" help:"Leave the room."`
	Watch   roomWatchCmd   `cmd:"" help:"Show each round as it happens: who speaks and why, and why the others do not."`
	Control roomControlCmd `cmd:"" help:"Set how much companions join in, or mute one."`
	People  roomPeopleCmd  `cmd:"" help:"List the people at home whose names are known here, or forget one."`
	Replay  roomReplayCmd  `cmd:"" help:"Decide the rounds of ledgers again, and say whether every choice is reproduced."`
	ACL     roomACLCmd     `cmd:"" name:"acl" help:"Print an access list for a Mosquitto that the room's devices meet at."`
	ID      roomIDCmd      `cmd:"" name:"id" help:"Print this device's id, and whose that is."`
}

// Subcommands of conch room that talk to the running appliance.

type roomListCmd struct {
	JSON bool `help:"Print JSON." name:"json"`
}

func (c roomListCmd) Run(e *env) error {
	var s control.RoomStatus
	if err := e.request("GET", "/room", nil, &s); err != nil {
		return err
	}
	if c.JSON {
		return e.json(s)
	}
	fmt.Fprint(e.out, room.Text(s))
	return nil
}

type roomWatchCmd struct {
	JSON bool `help:"Print one JSON object a line." name:"json"`
}

func (c roomWatchCmd) Run(e *env) error {
	r, err := e.dial()
	if err != nil {
		return err
	}
	var s control.RoomStatus
	if err := r.Do(e.ctx, "GET", "/room", nil, &s); err != nil {
		return err
	}
	if !c.JSON {
		fmt.Fprint(e.out, room.Header(s))
	}
	return r.Lines(e.ctx, "/room/watch", func(line []byte) {
		if c.JSON {
			fmt.Fprintf(e.out, "%s\n", snakeBeside(line))
			return
		}
		var entry room.Entry
		if err := json.Unmarshal(line, &entry); err != nil {
			fmt.Fprintln(e.err, "conch: room watch:", err)
			return
		}
		if room.MembersTold(entry) { // whoever came has a name
			_ = r.Do(e.ctx, "GET", "/room", nil, &s) // the old names do as well
		}
		fmt.Fprint(e.out, room.EntryText(entry, s.Members))
	})
}

type roomControlCmd struct {
	Involvement string `arg:"" optional:"" default:"" enum:",off,low,medium,high" help:"off (only when asked by name), low, medium or high."`
	Companion   string `help:"Only this companion, by name; without it the whole room." short:"w" placeholder:"NAME"`
	Mute        bool   `help:"It stays silent, whatever is asked." xor:"mute"`
	Unmute      bool   `help:"It may speak again." xor:"mute"`
}

func (c roomControlCmd) Run(e *env) error {
	if c.Involvement == "" && !c.Mute && !c.Unmute {
		return fmt.Errorf("%w: room control: say what: off, low, medium or high, --mute or --unmute", control.ErrRefused)
	}
	in := map[string]any{}
	if c.Companion != "" {
		in["companion"] = c.Companion
	}
	if c.Involvement != "" {
		in["involvement"] = c.Involvement
	}
	if c.Mute || c.Unmute {
		in["mute"] = c.Mute
	}
	var t control.Turned
	if err := e.request("POST", "/room/control", in, &t); err != nil {
		return err
	}
	fmt.Fprintln(e.out, printable.Text(t.Text))
	return nil
}
