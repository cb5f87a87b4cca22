package main

import (
	"fmt"

	"conch/device/control"
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
	of := func(limit string, is bool) string {
		if !is {
			return " (no limit)"
		}
		return " of " + limit
	}
	votes := ""
	if u.Votes > 0 {
		votes = ", " + printable.Count(u.Votes, "vote") + " by a model"
	}
	fmt.Fprintf(e.out, "%s: %s, %.0f s heard, %.0f s said%s\n", u.Day, printable.Count(u.Responses, "answer"), u.HeardSeconds, u.SaidSeconds, votes)
	fmt.Fprintf(e.out, "tokens %d%s\n", u.Tokens, of(fmt.Sprint(u.CeilingTokens), u.CeilingTokens > 0))
	parts := ""
	if u.HearCost > 0 || u.SpeakCost > 0 {
		parts = fmt.Sprintf(": %.4f for tokens, %.4f to hear, %.4f to speak", u.Cost-u.HearCost-u.SpeakCost, u.HearCost, u.SpeakCost)
	}
	cost := control.Money(u.Cost)
	if !u.Priced {
		cost = "unknown, without voice.price_in and the other prices"
	}
	fmt.Fprintf(e.out, "cost   %s%s%s\n", cost, of(control.Money(u.CeilingCost), u.CeilingCost > 0), parts)
	until := u.Until.Local().Format("2006-01-02 at 15:04")
	if u.Refusing != "" {
		fmt.Fprintf(e.out, "no new answers (%s) until %s, or: conch usage reset\n", u.Refusing, until)
		return
	}
	fmt.Fprintf(e.out, "the count begins anew on %s\n", until)
}
