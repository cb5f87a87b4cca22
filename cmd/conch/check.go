package main

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"conch/device/buttons"
	"conch/device/cards"
	"conch/device/config"
	"conch/device/control"
	"conch/device/provider"
	"conch/device/sound"
	"conch/device/state"
)

type checkCmd struct {
	Changed bool `help:"Only what somebody has set: in the file, the environment or a flag, by a board, by word or command."`
	JSON    bool `help:"Print JSON." name:"json"`
}

func (c checkCmd) Run(e *env) error {
	cfg, err := e.load()
	if err != nil {
		return err
	}
	rows, lives := state.InForce(e.ctx, cfg), cards.Check(cfg)
	if c.Changed {
		rows = slices.DeleteFunc(rows, func(r config.Row) bool { return strings.HasPrefix(r.Origin, "default") })
	}
	plan, unplanned := provider.Planned(&cfg)
	if c.JSON {
		err = e.json(struct {
			Voice    provider.Plan `json:"voice"`
			File     string        `json:"file"` // empty: there is none
			Settings []config.Row  `json:"settings"`
			cards.Report
		}{plan, cfg.File, rows, lives})
	} else {
		fmt.Fprintf(e.out, "%-24s %s\n", "file", cmp.Or(cfg.File, "none is there; /etc/conch/conch.toml may be, or one of one's own (--config)"))
		for _, r := range rows {
			fmt.Fprintf(e.out, "%-24s %-40s %s\n", r.Key, r.Value, r.Origin)
		}
		for _, r := range lives.Companions {
			fmt.Fprintf(e.out, "%-24s %-40s %s\n", "companion", fmt.Sprintf("%s (id %s)", r.Name, r.ID), r.Source)
		}
		printPlan(e, plan)
		fmt.Fprintf(e.out, "%-24s %s\n", "loudspeaker", sound.Loudspeaker(e.ctx, cfg, e.logger(cfg)))
		err = errors.Join(sound.Check(e.ctx, cfg, e.out), buttons.Check(cfg))
	}
	trouble := cfg.KeyTrouble()
	if trouble != "" {
		fmt.Fprintln(e.err, "conch:", trouble)
	}
	if unplanned != nil {
		fmt.Fprintln(e.err, "conch:", control.Refusal(unplanned))
	}
	missing := cfg.MissingFiles()
	for _, m := range missing {
		fmt.Fprintln(e.err, "conch:", m)
	}
	misfits := cfg.Misfits()
	for _, m := range misfits {
		fmt.Fprintln(e.err, "conch:", m)
	}
	for _, p := range lives.Problems {
		fmt.Fprintln(e.err, "conch:", p.Text)
	}
	switch n := len(lives.Problems); {
	case err != nil:
		return err
	case trouble != "":
		return fmt.Errorf("%w: check: the key cannot be used; conch run starts, says so and reads it again by itself", control.ErrRefused)
	case unplanned != nil && len(missing) == 0:
		return fmt.Errorf("%w: check: the voice cannot be made; conch run says so", control.ErrRefused)
	case len(missing) > 0:
		return fmt.Errorf("%w: check: a file or folder that is named is not there; what needs it does not begin", control.ErrRefused)
	case len(misfits) > 0:
		return fmt.Errorf("%w: check: button, light, knob and board do not fit together; conch run starts without what does not fit, and says so",
			control.ErrRefused)
	case n == 1:
		return fmt.Errorf("%w: check: 1 mistake in the companions' cards; what is right loads", control.ErrRefused)
	case n > 1:
		return fmt.Errorf("%w: check: %d mistakes in the companions' cards; what is right loads", control.ErrRefused, n)
	}
	return nil
}

// printPlan prints who will answer.
func printPlan(e *env, p provider.Plan) {
	fmt.Fprintf(e.out, "%-24s %-40s %s\n", "voice", p.Kind, p.Why)
	if p.Kind == "auto" && len(p.Parts) > 0 {
		fmt.Fprintf(e.out, "%-24s %s\n", "", "its server is asked what it speaks; where that is chat:")
	}
	for _, part := range p.Parts {
		fmt.Fprintf(e.out, "%-24s %s\n", "  "+part.Does, part.By)
	}
}
