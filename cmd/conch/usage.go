package main

import (
	"fmt"
	"time"

	"conch/device/control"
	"conch/device/language"
	"conch/device/printable"
)

type usageCmd struct {
	Show  usageShowCmd  `cmd:"" default:"withargs" help:"Print what was used today, and the limits of voice.ceiling_tokens and voice.ceiling_cost."`
	Reset usageResetCmd `cmd:"" help:"Count the day from zero: a limit that was reached is lifted."`
}

type usageShowCmd struct {
	JSON bool `help:"Print JSON." name:"json"`
}

func (c usageShowCmd) Run(e *env) error {
	var u control.UsageReport
	if err := e.request("GET", "/usage", nil, &u); err != nil {
		return err
	}
	if c.JSON {
		return e.json(u)
	}
	printUsage(e, u)
	return nil
}

type usageResetCmd struct{}

func (usageResetCmd) Run(e *env) error {
	var u control.UsageReport
	if err := e.request("POST", "/usage/reset", nil, &u); err != nil {
		return err
	}
	printUsage(e, u)
	return nil
}

func printUsage(e *env, u control.UsageReport) {
	in := e.describe().in
	limited := func(used, limit string, is bool) string {
		if !is {
			return in.Phrase("usage.no_limit", "used", used)
		}
		return in.Phrase("usage.of", "used", used, "limit", limit)
	}
	row := func(key, text string) {
		fmt.Fprintf(e.out, "%s%s\n", printable.Pad(in.Phrase("usage."+key), 7), text)
	}
	votes := ""
	if u.Votes > 0 {
		votes = ", " + in.Phrase("usage.votes", "n", u.Votes)
	}
	fmt.Fprintln(e.out, in.Phrase("usage.day", "day", u.Day, "answers", in.Phrase("usage.answers", "n", u.Responses),
		"heard", fmt.Sprintf("%.0f", u.HeardSeconds), "said", fmt.Sprintf("%.0f", u.SaidSeconds))+votes)
	estimated := ""
	if u.Estimated > 0 {
		estimated = ": " + in.Phrase("usage.estimated", "n", u.Estimated)
	}
	row("tokens", limited(fmt.Sprint(u.Tokens), fmt.Sprint(u.CeilingTokens), u.CeilingTokens > 0)+estimated)
	parts := ""
	if u.HearCost > 0 || u.SpeakCost > 0 {
		parts = ": " + in.Phrase("usage.parts", "tokens", fmt.Sprintf("%.4f", u.Cost-u.HearCost-u.SpeakCost),
			"hear", fmt.Sprintf("%.4f", u.HearCost), "speak", fmt.Sprintf("%.4f", u.SpeakCost))
	}
	cost := control.Money(u.Cost)
	if !u.Priced {
		cost = in.Phrase("usage.unknown")
	}
	row("cost", limited(cost, control.Money(u.CeilingCost), u.CeilingCost > 0)+parts)
	day, at := u.Until.Local().Format(time.DateOnly), u.Until.Local().Format("15:04")
	if u.Refusing != "" {
		fmt.Fprintln(e.out, in.Phrase("usage.refusing", "why", spent(in, u), "day", day, "time", at))
		return
	}
	fmt.Fprintln(e.out, in.Phrase("usage.anew", "day", day, "time", at))
}

// spent is which limit is reached.
func spent(in language.Language, u control.UsageReport) string {
	switch {
	case u.CeilingTokens > 0 && u.Tokens >= int64(u.CeilingTokens):
		return in.Phrase("usage.tokens_spent", "limit", u.CeilingTokens)
	case u.CeilingCost > 0 && u.Cost >= u.CeilingCost:
		return in.Phrase("usage.cost_spent", "limit", control.Money(u.CeilingCost))
	}
	return printable.Text(u.Refusing)
}
