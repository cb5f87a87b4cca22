package main

import (
	"cmp"
	"errors"
	"fmt"
	"strings"

	"conch/device/control"
	"conch/device/language"
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
	l := e.language()
	text, cut := a.Heard()
	text = printable.Text(text)
	if cut != "" {
		text += " … (" + why(l, cut) + ")"
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
		fmt.Fprintf(e.out, "(%s)\n", l.Phrase("ask.nobody", "why", why(l, a.Why)))
	case a.Outcome == control.OutcomeAnswered && a.Place != "":
		without := cmp.Or(why(l, a.Why), l.Phrase("ask.no_words"))
		fmt.Fprintf(e.out, "(%s)\n", l.Phrase("ask.answered_there", "name", printable.Name(a.Who), "place", printable.Name(a.Place), "why", without))
	case a.Outcome == control.OutcomeAnswered && a.Summary.Tools > 0:
		fmt.Fprintf(e.out, "(%s)\n", l.Phrase("ask.done"))
	}
	return c.ended(e, a)
}

// why is the reason of an answer's end, which the appliance gives in English.
func why(l language.Language, english string) string {
	return l.Retell("why", l.Retell("cut", printable.Text(english)))
}

// ended is the exit status, and what is wrong. What was done is no failure, though nobody was told.
func (c askCmd) ended(e *env, a control.Answer) error {
	l, superseded := e.language(), a.Outcome == control.OutcomeSuperseded
	reason, broken := why(l, cmp.Or(a.Why, a.Summary.Reason)), why(l, a.Summary.Reason)
	wrong := func(text string) error { return errors.New("ask: " + text) }
	_, cut := a.Heard()
	switch {
	case a.Outcome == control.OutcomeSilent, superseded && c.JSON && len(a.Done) > 0:
		return nil
	case superseded && len(a.Done) > 0:
		fmt.Fprintf(e.out, "%s (%s)\n", printable.Text(strings.Join(a.Done, " ")), l.Phrase("ask.done_unheard_why", "why", reason))
		return nil
	case cut != "":
		return wrong(l.Phrase("ask.not_to_end", "why", why(l, cut)))
	case a.Outcome == control.OutcomeAnswered:
		return nil
	case superseded:
		return wrong(l.Phrase("ask.not_answered", "why", reason))
	case len(a.Done) > 0 && !c.JSON:
		fmt.Fprintf(e.out, "%s (%s)\n", printable.Text(strings.Join(a.Done, " ")), l.Phrase("ask.done_unheard"))
	}
	words := cmp.Or(a.Words, l.Phrase("ask.see_doctor"))
	switch s := a.Summary; {
	case a.Text != "" && s.SpeechMS > 0 && s.HeardMS >= s.SpeechMS: // a model that may not say more, say
		return wrong(l.Phrase("ask.not_whole", "words", cmp.Or(a.Words, l.Phrase("ask.broke_off", "why", broken))))
	case a.Text != "" && s.HeardMS > 0:
		return wrong(l.Phrase("ask.as_far", "why", broken, "words", words))
	case a.Text != "": // without a loudspeaker, say
		return wrong(l.Phrase("ask.unheard", "why", broken, "words", words))
	}
	return wrong(broken + ": " + cmp.Or(a.Words, l.Phrase("ask.no_answer")))
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
	ended := e.language().Retell("outcome", printable.Text(out.Outcome))
	fmt.Fprintln(e.out, ended)
	if out.Outcome != "delivered" {
		return errors.New("say: " + ended)
	}
	return nil
}
