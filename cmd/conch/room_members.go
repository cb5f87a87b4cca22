package main

import (
	"bufio"
	"errors"
	"fmt"
	"strings"

	"golang.org/x/term"

	"conch/device/control"
)

// roomRemoveCmd ends another device's membership; any member may.
type roomRemoveCmd struct {
	Device []string `arg:"" name:"device" help:"Its name in the room, or its id; conch room list shows both."`
	Yes    bool     `help:"Do not ask." short:"y"`
}

func (c roomRemoveCmd) Run(e *env) error {
	r, err := e.dial()
	if err != nil {
		return err
	}
	who := strings.Join(c.Device, " ")
	if err := e.sure(c.Yes, fmt.Sprintf("remove %s from the room? It is out at once, and comes back only by pairing", who)); err != nil {
		return err
	}
	var out control.RemoveAnswer
	if err := r.Do(e.ctx, "POST", "/room/remove", control.RemoveRequest{Device: who}, &out); err != nil {
		return err
	}
	fmt.Fprintln(e.out, out.Text)
	return nil
}

// roomLeaveCmd ends this device's own membership, as holding the button for 10 s does.
type roomLeaveCmd struct {
	Yes bool `help:"Do not ask." short:"y"`
}

func (c roomLeaveCmd) Run(e *env) error {
	r, err := e.dial()
	if err != nil {
		return err
	}
	if err := e.sure(c.Yes, "leave the room? This device comes back only by pairing"); err != nil {
		return err
	}
	var out control.LeaveAnswer
	if err := r.Do(e.ctx, "POST", "/room/leave", struct{}{}, &out); err != nil {
		return err
	}
	fmt.Fprintln(e.out, out.Text)
	return nil
}

// errUnsure: the person said no, or nothing.
var errUnsure = errors.New("nothing was changed")

// sure asks a person at a terminal. Where there is none, a program must have said so.
func (e *env) sure(yes bool, question string) error {
	if yes {
		return nil
	}
	if !term.IsTerminal(int(e.in.Fd())) {
		return fmt.Errorf("%w: this cannot be undone, and there is no terminal to ask at: say --yes", control.ErrRefused)
	}
	fmt.Fprintf(e.err, "%s [y/N] ", question)
	said := make(chan string, 1)
	go func() { // the read cannot be ended, but the program is about to be
		line, _ := bufio.NewReader(e.in).ReadString('\n')
		said <- line
	}()
	select {
	case line := <-said:
		if answer := strings.ToLower(strings.TrimSpace(line)); answer == "y" || answer == "yes" {
			return nil
		}
	case <-e.ctx.Done():
		fmt.Fprintln(e.err)
	}
	return errUnsure
}
