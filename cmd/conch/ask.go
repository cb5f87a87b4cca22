package main

import (
	"cmp"
	"errors"
	"fmt"
	"strings"

	"conch/device/control"
)

type askCmd struct {
	Text []string `arg:"" help:"The question."`
	To   []string `help:"Only this companion, by name: the others do not hear of it. With several names, they are called on in that order." placeholder:"COMPANION" short:"t"`
	JSON bool     `help:"Print JSON." name:"json"`
}

func (c askCmd) Run(e *env) error {
	var a control.Answer
	in := map[string]any{"text": strings.Join(c.Text, " ")}
	if len(c.To) > 0 {
		in["to"] = c.To
	}
	if err := e.request("POST", "/ask", in, &a); err != nil {
		return err
	}
	switch {
	case c.JSON:
		if err := e.json(a); err != nil {
			return err
		}
	case a.Text != "" && a.Place != "": // from elsewhere in the room
		cut := ""
		if a.Why != "" {
			cut = " … (" + a.Why + ")"
		}
		fmt.Fprintf(e.out, "%s (%s): %s%s\n", a.Who, a.Place, a.Text, cut)
	case a.Text != "":
		fmt.Fprintln(e.out, a.Text)
	case a.Outcome == control.OutcomeSilent:
		fmt.Fprintf(e.out, "(nobody answers: %s)\n", a.Why)
	case a.Outcome == control.OutcomeAnswered && a.Place != "":
		fmt.Fprintf(e.out, "(%s in %s has answered; %s)\n", a.Who, a.Place, cmp.Or(a.Why, "its words did not come"))
	}
	switch a.Outcome {
	case control.OutcomeAnswered, control.OutcomeSilent:
		return nil
	case control.OutcomeSuperseded:
		return fmt.Errorf("ask: %s", cmp.Or(a.Why, a.Summary.Reason))
	}
	if a.Text != "" { // without a loudspeaker, say
		return fmt.Errorf("ask: that is the answer, but it was not heard (%s): %s", a.Summary.Reason, cmp.Or(a.Words, "see: conch doctor"))
	}
	return fmt.Errorf("ask: %s: %s", a.Summary.Reason, cmp.Or(a.Words, "no answer came"))
}

type sayCmd struct {
	Text []string `arg:"" help:"What to say."`
}

func (c sayCmd) Run(e *env) error {
	var out struct{ Outcome string }
	if err := e.request("POST", "/say", map[string]string{"text": strings.Join(c.Text, " ")}, &out); err != nil {
		return err
	}
	fmt.Fprintln(e.out, out.Outcome)
	if out.Outcome != "delivered" {
		return errors.New("say: " + out.Outcome)
	}
	return nil
}
