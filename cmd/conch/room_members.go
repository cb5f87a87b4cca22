package main

import (
	"bufio"
	"errors"
	"fmt"
	"strings"

	"golang.org/x/term"

	"conch/device/control"
	"conch/device/printable"
)

// roomRemoveCmd ends another device's membership; any member may.
type roomRemoveCmd struct {
	Device []string `arg:"" name:"device" help:"Its name in the room, or its id; conch room list shows both."`
	Guests bool     `help:"With the devices that it has let in, and that these have let in." name:"with-guests"`
	Yes    bool     `help:"Do not ask." short:"y"`
}

func (c roomRemoveCmd) Run(e *env) error {
	r, err := e.dial()
	if err != nil {
		return err
	}
	who := strings.Join(c.Device, " ")
	q := control.RemoveRequest{Device: who, Guests: c.Guests, Look: true}
	var out control.RemoveAnswer
	if err := r.Do(e.ctx, "POST", "/room/remove", q, &out); err != nil {
		return err
	}
	guests := strings.Join(out.Guests, ", ")
	what := out.Name
	if c.Guests && guests != "" {
		what += ", and " + guests + ", which it let in,"
	}
	question := fmt.Sprintf("remove %s from the room? Out at once, and back only by pairing with the device that keeps the room", what)
	if err := e.sure(c.Yes, question); err != nil {
		return err
	}
	if !c.Guests && guests != "" && !c.Yes && e.sure(false, fmt.Sprintf("%s has let in %s. Remove these, too?", out.Name, guests)) == nil {
		q.Guests = true
	}
	q.Look = false
	if err := r.Do(e.ctx, "POST", "/room/remove", q, &out); err != nil {
		return err
	}
	fmt.Fprintln(e.out, printable.Text(out.Text))
	return nil
}

// roomRenameCmd calls a device of the room by another name; any member may.
type roomRenameCmd struct {
	Device string `arg:"" name:"device" help:"Its name in the room, or its id; conch room list shows both."`
	Name   string `arg:"" name:"name" help:"What it is to be called; a name with blanks stands in quotes."`
}

// Help is what conch room rename --help says on top.
func (roomRenameCmd) Help() string {
	return "It is called so at once and as long as it is in the room, whatever device.name says. What its companion knows of the place where it speaks " +
		"is said anew at the next start."
}

func (c roomRenameCmd) Run(e *env) error {
	var out control.RenameAnswer
	if err := e.request("POST", "/room/rename", control.RenameRequest{Device: c.Device, Name: c.Name}, &out); err != nil {
		return err
	}
	fmt.Fprintln(e.out, out.Text)
	return nil
}

// roomKeepCmd makes this device the keeper of its room, as holding its button twice does.
type roomKeepCmd struct {
	At  string `help:"Not this device keeps the room but the one there, which this one does not find by itself." placeholder:"NAME[:PORT]"`
	Yes bool   `help:"Do not ask." short:"y"`
}

// Help is what conch room keep --help says on top.
func (roomKeepCmd) Help() string {
	return "The same as holding this device's button for five seconds, and once more when it says that the device that keeps the room is gone. That " +
		"one must have been out of reach for three minutes. The others come over by themselves; what was the keeper is a member when it is back. " +
		"Where they do not find it (guest Wi-Fi, another network): conch room keep --at NAME, at each of them."
}

func (c roomKeepCmd) Run(e *env) error {
	if err := checkHost("--at", c.At); err != nil {
		return fmt.Errorf("%w: room keep: %w", control.ErrRefused, err)
	}
	r, err := e.dial()
	if err != nil {
		return err
	}
	who := "this device"
	if c.At != "" {
		who = "the device at " + c.At
	}
	if err := e.sure(c.Yes, "let "+who+" keep the room, in place of one that is gone for good?"); err != nil {
		return err
	}
	var out control.PairingLine
	if err := r.Do(e.ctx, "POST", "/room/keep", control.KeepRequest{At: c.At}, &out); err != nil {
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
	if err := e.canBeSure(c.Yes); err != nil {
		return err
	}
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
	fmt.Fprintln(e.out, printable.Text(out.Text))
	return nil
}

// errUnsure: the person said no, or nothing.
var errUnsure = errors.New("nothing was changed")

// canBeSure refuses what cannot be undone where nobody said yes, and nobody can be asked.
func (e *env) canBeSure(yes bool) error {
	if !yes && !term.IsTerminal(int(e.in.Fd())) {
		return fmt.Errorf("%w: this cannot be undone, and there is no terminal to ask at: say --yes", control.ErrRefused)
	}
	return nil
}

// sure asks a person at a terminal. Where there is none, a program must have said so.
func (e *env) sure(yes bool, question string) error {
	if err := e.canBeSure(yes); yes || err != nil {
		return err
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
