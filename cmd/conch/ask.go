package main

import (
	"cmp"
	"errors"
	"fmt"
	"strings"

	"conch/device/control"
	"conch/device/printable"
)

type askCmd struct {
	Text []string `arg:"" help:"The question."`
	To   []string `help:"Only this companion, by name: the others do not hear of it. With several names, they are called on in that order." placeholder:"COMPANION" short:"t"`
	JSON bool     `help:"Print JSON." name:"json"`
}

// Help is what conch ask --help says on top.
func (askCmd) Help() string {
	return "A question silences whatever is being answered, as a press does: of several at once the last is answered, and each of the others says " +
		"that a newer one came, with status 1. What one of them has had done by then, such as a timer, stays done: it says that, with status 0."
}

func (c askCmd) Run(e *env) error {
	if err := spoken("ask", "TEXT", c.Text...); err != nil {
		return err
	}
	if err := spoken("ask", "--to", c.To...); len(c.To) > 0 && err != nil {
		return err
	}
	var a control.Answer
	in := map[string]any{"text": strings.Join(c.Text, " ")}
	if len(c.To) > 0 {
		in["to"] = c.To
	}
	if err := e.request("POST", "/ask", in, &a); err != nil {
		return err
	}
	return c.tell(e, a)
}

func (c askCmd) tell(e *env, a control.Answer) error {
	text, cut := a.Heard()
	text = printable.Text(text)
	if cut != "" {
		text += " … (" + printable.Text(cut) + ")"
	}
	switch {
	case c.JSON:
		if err := e.json(a); err != nil {
			return err
		}
	case a.Text != "" && a.Place != "": // from elsewhere in the room
		fmt.Fprintf(e.out, "%s (%s): %s\n", printable.Name(a.Who), printable.Name(a.Place), text)
	case a.Text != "":
		fmt.Fprintln(e.out, text)
	case a.Outcome == control.OutcomeSilent:
		fmt.Fprintf(e.out, "(nobody answers: %s)\n", printable.Text(a.Why))
	case a.Outcome == control.OutcomeAnswered && a.Place != "":
		why := cmp.Or(printable.Text(a.Why), "its words did not come")
		fmt.Fprintf(e.out, "(%s in %s has answered; %s)\n", printable.Name(a.Who), printable.Name(a.Place), why)
	case a.Outcome == control.OutcomeAnswered && a.Summary.Tools > 0:
		fmt.Fprintln(e.out, "(done, without a word)")
	}
	return c.ended(e, a)
}

// ended is the exit status, and what is wrong. What was done is no failure, though nobody was told.
func (c askCmd) ended(e *env, a control.Answer) error {
	superseded := a.Outcome == control.OutcomeSuperseded
	why := cmp.Or(a.Why, a.Summary.Reason)
	_, cut := a.Heard()
	switch {
	case a.Outcome == control.OutcomeSilent, superseded && c.JSON && len(a.Done) > 0:
		return nil
	case superseded && len(a.Done) > 0:
		fmt.Fprintf(e.out, "%s (done, but the answer was not heard: %s)\n", printable.Text(strings.Join(a.Done, " ")), why)
		return nil
	case cut != "":
		return fmt.Errorf("ask: not heard to its end: %s", printable.Text(cut))
	case a.Outcome == control.OutcomeAnswered:
		return nil
	case superseded:
		return fmt.Errorf("ask: not answered: %s", why)
	case len(a.Done) > 0 && !c.JSON:
		fmt.Fprintf(e.out, "%s (done, but the answer was not heard)\n", printable.Text(strings.Join(a.Done, " ")))
	}
	if s := a.Summary; a.Text != "" && s.SpeechMS > 0 && s.HeardMS >= s.SpeechMS { // a model that may not say more, say
		return fmt.Errorf("ask: that was heard, and is not the whole answer: %s", cmp.Or(a.Words, "it broke off ("+s.Reason+")"))
	} else if a.Text != "" && s.HeardMS > 0 {
		return fmt.Errorf("ask: that is the answer as far as it came, and it was not heard to its end (%s): %s", s.Reason,
			cmp.Or(a.Words, "see: conch doctor"))
	}
	if a.Text != "" { // without a loudspeaker, say
		return fmt.Errorf("ask: that is the answer, but it was not heard (%s): %s", a.Summary.Reason, cmp.Or(a.Words, "see: conch doctor"))
	}
	return fmt.Errorf("ask: %s: %s", a.Summary.Reason, cmp.Or(a.Words, "no answer came"))
}

// spoken refuses words of which there are none.
func spoken(command, what string, words ...string) error {
	if strings.TrimSpace(strings.Join(words, " ")) == "" {
		return fmt.Errorf("%w: %s: %s is empty", control.ErrRefused, command, what)
	}
	return nil
}

type sayCmd struct {
	Text     []string `arg:"" help:"What to say."`
	Priority string   `help:"When: normal waits for a gap in what plays, block-behind-comms for no gap, preempt for no call either." default:"normal" placeholder:"P"`
	TTL      string   `name:"ttl" help:"For how long it may wait, 1s to 24h." default:"1m" placeholder:"TIME"`
	Key      string   `help:"One that waits under this name is replaced." placeholder:"NAME"`
}

func (c sayCmd) Run(e *env) error {
	if err := spoken("say", "TEXT", c.Text...); err != nil {
		return err
	}
	var out struct{ Outcome string }
	q := control.SayRequest{Text: strings.Join(c.Text, " "), Priority: c.Priority, Key: c.Key, TTL: c.TTL}
	if _, err := q.Injection(); err != nil { // before anybody is asked
		return fmt.Errorf("%w: say: %s", control.ErrRefused, control.Refusal(err))
	}
	if err := e.request("POST", "/say", q, &out); err != nil {
		return err
	}
	fmt.Fprintln(e.out, printable.Text(out.Outcome))
	if out.Outcome != "delivered" {
		return errors.New("say: " + printable.Text(out.Outcome))
	}
	return nil
}
