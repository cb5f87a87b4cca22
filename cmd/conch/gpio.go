package main

import (
	"fmt"
	"io"
	"strings"

	"conch/device/config"
	"conch/device/setup"
)

type gpioCmd struct {
	List  gpioListCmd  `cmd:"" help:"List chips, pins, boards and what is free; propose the board."`
	Learn gpioLearnCmd `cmd:"" help:"Press your button: find its pin and write the setting."`
}

type gpioListCmd struct {
	JSON     bool `help:"Print JSON." name:"json"`
	Boards   bool `help:"Print the boards that device.board knows."`
	Levels   bool `help:"Read free pins as well. Some kernels make inputs of them for it."`
	ProbeI2C bool `help:"Ask on the I2C bus for chips of known boards." name:"probe-i2c"`
}

func (c gpioListCmd) Run(e *env) error {
	if c.Boards {
		boards := setup.Boards()
		if c.JSON {
			return e.json(boards)
		}
		printBoards(e.out, boards)
		return nil
	}
	cfg, err := e.load()
	if err != nil {
		return err
	}
	all := setup.Pins(cfg, setup.PinsOptions{Levels: c.Levels, ProbeI2C: c.ProbeI2C})
	if c.JSON {
		return e.json(all)
	}
	printPins(e.out, cfg, all, c.Levels)
	return nil
}

func printBoards(out io.Writer, boards []setup.BoardRow) {
	for _, b := range boards {
		fmt.Fprintf(out, "%s\n    %s\n", b.Name, b.Title)
		for _, line := range []struct{ what, text string }{
			{"button", b.Button}, {"light", b.Light}, {"held", strings.Join(b.Held, ", ")}, {"taken", strings.Join(b.Taken, ", ")},
			{"card", strings.Join(b.Cards, ", ")}, {"config.txt", b.Overlay}, {"note", b.Note}, {"pins are", b.Confirmed},
		} {
			if line.text != "" {
				fmt.Fprintf(out, "    %-10s %s\n", line.what, line.text)
			}
		}
	}
	fmt.Fprintln(out, "\nSet one below [device]: board = \"NAME\"")
}

func printPins(out io.Writer, cfg config.Config, all setup.PinsReport, levels bool) {
	if all.Error != "" {
		fmt.Fprintln(out, all.Error)
	}
	for _, c := range all.Chips {
		mark := ""
		if c.Label == all.Header {
			mark = "  (the pins below)"
		}
		fmt.Fprintf(out, "chip %-22s %s, %d lines%s\n", c.Label, c.Name, c.Lines, mark)
	}
	if len(all.Pins) > 0 {
		fmt.Fprintf(out, "\n%-4s %-5s %-9s %-7s %s\n", "pin", "", "bias", direction(levels), "used by")
	}
	for _, p := range all.Pins {
		state := "taken"
		if p.Free {
			state = "free"
		}
		dir := "in"
		if p.Output {
			dir = "out"
		}
		if levels {
			dir = strings.TrimSpace(dir + " " + p.Level)
		}
		used := p.Use
		if p.Consumer != "" {
			used = strings.TrimPrefix(used+"; held by "+p.Consumer, "; ")
		} else if p.Used {
			used = strings.TrimPrefix(used+"; held by the kernel", "; ")
		}
		fmt.Fprintln(out, strings.TrimRight(fmt.Sprintf("%-4d %-5s %-9s %-7s %s", p.Pin, state, p.Bias, dir, used), " "))
	}
	if len(all.Inputs) > 0 {
		fmt.Fprintln(out, "\nkeys that can be the button (button.source = \"evdev\")")
	}
	for _, i := range all.Inputs {
		keys := strings.Join(i.Keys[:min(6, len(i.Keys))], ", ")
		if len(i.Keys) > 6 {
			keys += ", ..."
		}
		fmt.Fprintf(out, "%q  %s\n", i.Name, keys)
	}
	if all.Denied > 0 {
		fmt.Fprintf(out, "\n%d input devices may not be read: join the group input to see them\n", all.Denied)
	}
	fmt.Fprintln(out)
	printProposals(out, cfg, all.Seen)
}

func direction(levels bool) string {
	if levels {
		return "level"
	}
	return "is"
}

func printProposals(out io.Writer, cfg config.Config, seen setup.BoardsSeen) {
	if cfg.Device.Board != "" {
		fmt.Fprintf(out, "board: %s (device.board)\n", cfg.Device.Board)
	}
	for _, p := range seen.Proposals {
		how := "could be"
		if p.Sure {
			how = "is"
		}
		fmt.Fprintf(out, "this %s %s: %s\n", how, p.Title, strings.Join(p.Evidence, "; "))
		fmt.Fprintf(out, "    below [device]: %s\n", p.Setting())
		if p.Note != "" {
			fmt.Fprintf(out, "    %s\n", p.Note)
		}
	}
	if len(seen.Proposals) == 0 && cfg.Device.Board == "" {
		fmt.Fprintln(out, "no board is recognised; conch gpio list --boards names those there are, conch gpio learn finds a button")
	}
}

type gpioLearnCmd struct {
	Yes   bool `help:"Write the setting without asking." short:"y"`
	Print bool `help:"Show the setting and write nothing."`
}

func (c gpioLearnCmd) Run(e *env) error {
	cfg, err := e.load()
	if err != nil {
		return err
	}
	return setup.Learn(e.ctx, cfg, setup.LearnOptions{In: e.in, Out: e.out, Yes: c.Yes, Print: c.Print})
}
