package main

import (
	"errors"
	"fmt"

	"conch/device"
)

type askCmd struct {
	Text []string `arg:"" help:"The question."`
	JSON bool     `help:"Print JSON." name:"json"`
}

func (c askCmd) Run(e *env) error {
	var a device.Answer
	if err := e.request("POST", "/ask", textOf(c.Text), &a); err != nil {
		return err
	}
	switch {
	case c.JSON:
		return e.json(a)
	case a.Text != "":
		fmt.Fprintln(e.out, a.Text)
	}
	switch {
	case a.Summary.Reason == "done":
		return nil
	case a.Words == "":
		return fmt.Errorf("ask: %s", a.Summary.Reason) // cut by a press, for one
	}
	return fmt.Errorf("ask: %s: %s", a.Summary.Reason, a.Words)
}

type sayCmd struct {
	Text []string `arg:"" help:"What to say."`
}

func (c sayCmd) Run(e *env) error {
	var out struct{ Outcome string }
	if err := e.request("POST", "/say", textOf(c.Text), &out); err != nil {
		return err
	}
	fmt.Fprintln(e.out, out.Outcome)
	if out.Outcome != "delivered" {
		return errors.New("say: " + out.Outcome)
	}
	return nil
}
