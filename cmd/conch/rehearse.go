package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"syscall"

	"conch/device/config"
	"conch/device/control"
	"conch/device/rehearse"
	"conch/device/service"
	"conch/device/terminal"
)

type rehearseCmd struct {
	Script   string `help:"Script to play (- is standard input); see device/rehearse/REHEARSAL.md. Without: talk to the room yourself." placeholder:"FILE"`
	Room     string `help:"Devices and companions of the room (default: kitchen with Ada, bedroom with Ben, hall with Cleo)." placeholder:"FILE"`
	Unpaired bool   `help:"The devices begin as strangers, and pair by the script (hold, join, hear)."`
	JSON     bool   `help:"One JSON object a line on standard output." name:"json"`
	Out      string `help:"Directory for a WAV of each device and each companion, and each device's ledger." placeholder:"DIR"`
	Speed    string `help:"1 is real time; there is no other: devices and voices meet over real sockets." default:"1" placeholder:"N"`
	Faults   string `help:"What goes wrong with --serve, e.g. slow=2s,duplicate=0.1,fail." placeholder:"LIST"`
	Serve    string `help:"Serve the rehearsal voice (Realtime protocol) to other clients instead." placeholder:"HOST:PORT"`
	Page     string `help:"Where the page is that shows the room, and talks; off: nowhere. With a script only where this is given." placeholder:"HOST:PORT"`
	Open     bool   `help:"Open the page in a browser."`
	Log      bool   `help:"Show the log between the talk, at a terminal, and all of it where a script or a pipe gets warnings only."`
	KeyFile  string `help:"With --serve: file that holds the only key that is let in, mode 0600; without it any will do that is not empty." placeholder:"FILE"`
}

func (c rehearseCmd) Run(e *env) error {
	cfg, err := e.load()
	if err != nil {
		return err
	}
	switch {
	case c.Serve != "" && (c.Script != "" || c.Room != ""):
		return fmt.Errorf("%w: --serve and --script or --room exclude each other", control.ErrRefused)
	case c.Faults != "" && c.Serve == "":
		return fmt.Errorf("%w: --faults needs --serve HOST:PORT; in a script: model slow DEV, and the like", control.ErrRefused)
	case c.Serve != "" && (c.JSON || c.Out != "" || c.Unpaired):
		return fmt.Errorf("%w: --serve excludes --json, --out and --unpaired: no room is played", control.ErrRefused)
	case c.KeyFile != "" && c.Serve == "":
		return fmt.Errorf("%w: --key-file needs --serve HOST:PORT", control.ErrRefused)
	case c.Serve != "" && (c.Page != "" || c.Open):
		return fmt.Errorf("%w: --serve excludes --page and --open: no room is played", control.ErrRefused)
	case c.Open && c.Page == "off":
		return fmt.Errorf("%w: --open needs a page: leave out --page off", control.ErrRefused)
	case c.Speed != "1":
		return fmt.Errorf("%w: --speed %s: must be 1 (devices, broker and voices meet over real sockets and real programs, which take the "+
			"time they take; a faster clock would only see them late)", control.ErrRefused, c.Speed)
	case c.Serve != "":
		return rehearse.Serve(e.ctx, c.Serve, c.Faults, c.KeyFile, service.NewLogger(cfg.Log, e.err), e.out)
	}
	screen := terminal.New(e.out)
	logged := e.logPlace(c.Log).choose(&cfg, e.err, screen)
	r := rehearse.Rehearsal{Room: rehearse.DefaultRoom(), Out: c.Out, Text: e.out, Config: cfg, Log: service.NewLogger(cfg.Log, logged)}
	if c.JSON {
		r.JSON = e.out
	}
	switch r.Open = c.Open; {
	case c.Page == "off":
	case c.Page == "" && (c.Script == "" || c.Open):
		r.Page = config.DefaultWebListen
	default:
		r.Page = c.Page
	}
	if c.Room != "" {
		if r.Room, err = rehearse.ReadRoom(c.Room); err != nil {
			return fmt.Errorf("%w: --room: %w", control.ErrRefused, err)
		}
	}
	r.Room.Strangers = r.Room.Strangers || c.Unpaired
	if c.Script == "" {
		if c.JSON {
			return fmt.Errorf("%w: --json needs --script FILE", control.ErrRefused)
		}
		return r.Talk(e.ctx, e.in, screen)
	}
	in, dir := io.Reader(e.in), "."
	if c.Script != "-" {
		f, err := os.OpenFile(c.Script, os.O_RDONLY|syscall.O_NONBLOCK, 0) // opening a FIFO must not wait for a writer
		if err != nil {
			return fmt.Errorf("%w: --script: %s: %w", control.ErrRefused, c.Script, config.UnwrapPath(err))
		}
		defer f.Close()
		if st, err := f.Stat(); err == nil && !st.Mode().IsRegular() {
			return fmt.Errorf("%w: --script: %s is not a regular file", control.ErrRefused, c.Script)
		}
		in, dir = f, filepath.Dir(c.Script)
	}
	if r.Script, err = rehearse.ReadScript(in, c.Script, dir, r.Room); err != nil {
		return fmt.Errorf("%w: %w", control.ErrRefused, err)
	}
	return r.Run(e.ctx)
}
