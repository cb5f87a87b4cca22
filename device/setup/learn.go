// Package setup is what a person does once: learn the button by pressing it, list boards and pins.
package setup

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"golang.org/x/term"

	"conch/device/config"
	"conch/device/control"
	"conch/gpio"
)

// LearnOptions say how conch gpio learn talks to a person.
type LearnOptions struct {
	In    *os.File
	Out   io.Writer
	Yes   bool   // write without asking
	Print bool   // show the setting, write nothing
	Root  string // before /proc and /sys, for tests
	// Listen is gpio.Learn, or a test's.
	Listen func(context.Context, gpio.LearnOptions) (gpio.Learned, error)
}

// Learn finds the button that somebody presses and writes it into the configuration file.
func Learn(ctx context.Context, cfg config.Config, o LearnOptions) error {
	if o.Listen == nil {
		o.Listen = gpio.Learn
	}
	if r, err := control.Dial(cfg); err == nil && r != nil {
		fmt.Fprintln(o.Out, "conch is running and may hold your button; if nothing is heard, stop it first: sudo systemctl stop conch")
	}
	uses := pinUses(&cfg)
	if pin := cfg.Button.Pin; strings.HasPrefix(uses[pin], "button") {
		delete(uses, pin) // that is what is asked
	}
	say := func(format string, args ...any) { fmt.Fprintf(o.Out, format+"\n", args...) }
	found, err := o.Listen(ctx, gpio.LearnOptions{
		Chip: cfg.Button.Chip, Uses: uses,
		Watch: func(pins []int, left map[int]string) {
			for _, p := range sortedKeys(left) {
				if strings.HasPrefix(left[p], "conch itself") || strings.HasPrefix(left[p], "conch@") {
					say("GPIO%d is left out: %s", p, left[p])
				}
			}
			say("listening on %s", pinNames(pins))
			say("press your button now, and let it go (Ctrl-C ends)")
		},
		Heard: func(h gpio.Heard) { say("%s", heardText(h)) },
	})
	switch {
	case errors.Is(err, context.Canceled):
		return errors.New("nothing was learnt, and nothing was changed")
	case err != nil:
		return fmt.Errorf("%w: %w", control.ErrRefused, err)
	}
	say("your button is %s", found)
	edits, why := learnt(&cfg, found, gpio.Detect(gpio.DetectOptions{Root: o.Root}))
	for _, line := range why {
		say("%s", line)
	}
	if len(edits) == 0 {
		return nil
	}
	return o.write(cfg, edits)
}

// learnt is what to set for a button, and what to say about it: the board that has it, when what the machine shows leaves just
// one; else the pin.
func learnt(c *config.Config, found gpio.Learned, seen gpio.Seen) (edits []config.Edit, why []string) {
	active := map[bool]string{true: "high", false: "low"}[found.ActiveHigh]
	// The resistor is left out of it: one more in the same direction does no harm.
	if c.Button.Pin == found.Pin && c.Button.Active == active && (c.Button.Source == "gpio" || c.Button.Source == "auto") {
		return nil, []string{"that is what the configuration says already; nothing to change"}
	}
	for _, key := range []string{"button.pin", "button.active", "device.board", "button.source"} {
		if from := c.Origin(key); strings.HasPrefix(from, "environment ") {
			why = append(why, fmt.Sprintf("%s comes from the %s, which is stronger than the file: change it there", key, from))
		}
	}
	fitting := found.FittingBoards()
	var boards []gpio.Proposal
	for _, p := range seen.Proposals {
		if slices.ContainsFunc(fitting, func(b gpio.Board) bool { return b.Name == p.Board }) {
			boards = append(boards, p)
		}
	}
	byHand := slices.ContainsFunc([]string{"button.pin", "button.active", "button.bias"},
		func(key string) bool { return strings.HasPrefix(c.Origin(key), "file ") })
	if c.Device.Board == "" && !byHand && (len(boards) == 1 || len(boards) > 1 && boards[0].Sure) {
		p := boards[0]
		why = append(why, fmt.Sprintf("that is the button of %s, and %s", p.Title, strings.Join(p.Evidence, "; ")))
		if p.Note != "" {
			why = append(why, p.Note)
		}
		return []config.Edit{{Key: "device.board", Value: config.Quote(p.Board)}}, why
	}
	if len(fitting) > 0 && c.Device.Board == "" {
		var names []string
		for _, b := range fitting {
			names = append(names, b.Name)
		}
		why = append(why, fmt.Sprintf("boards with this button: %s; if yours is one of them, board = \"NAME\" below [device] sets light and sound as well",
			strings.Join(names, ", ")))
	}
	if c.Button.Source != "gpio" && c.Button.Source != "auto" {
		edits = append(edits, config.Edit{Key: "button.source", Value: config.Quote("gpio")})
	}
	edits = append(edits, config.Edit{Key: "button.pin", Value: fmt.Sprint(found.Pin)}, config.Edit{Key: "button.active", Value: config.Quote(active)},
		config.Edit{Key: "button.bias", Value: config.Quote(found.Bias.String())})
	return edits, why
}

// write shows the change, asks, and makes it.
func (o LearnOptions) write(cfg config.Config, edits []config.Edit) error {
	c, err := planned(cfg, edits)
	if err != nil {
		return fmt.Errorf("gpio learn: %w", err)
	}
	fmt.Fprintf(o.Out, "\n%s\n%s", c.path, c.diff())
	if o.Print {
		return nil
	}
	if !o.Yes {
		if !term.IsTerminal(int(o.In.Fd())) {
			return fmt.Errorf("%w: gpio learn: nobody to ask on standard input; --yes writes it, --print only shows it", control.ErrRefused)
		}
		fmt.Fprint(o.Out, "\nwrite this? [y/N] ")
		answer, _ := bufio.NewReader(o.In).ReadString('\n')
		if a := strings.ToLower(strings.TrimSpace(answer)); a != "y" && a != "yes" {
			fmt.Fprintln(o.Out, "nothing was changed")
			return nil
		}
	}
	if err := c.write("gpio learn"); err != nil {
		return fmt.Errorf("gpio learn: %w", err)
	}
	fmt.Fprintf(o.Out, "written; it takes effect with: sudo systemctl restart conch\n")
	return nil
}

func heardText(h gpio.Heard) string {
	pins := pinNames(h.Pins)
	switch h.Kind {
	case gpio.HeardOnce:
		return pins + ": pressed and let go; once more, to be sure"
	case gpio.HeardTwice:
		return pins + ": the same again"
	case gpio.HeardOther:
		return fmt.Sprintf("that was GPIO%d, and before it GPIO%d; press the button once more", h.Pins[1], h.Pins[0])
	case gpio.HeardTogether:
		return pins + " moved together: one of them is a neighbour's wire; unplug what is not the button, and press again"
	case gpio.HeardNoise:
		return pins + " is never quiet, and left out"
	}
	return pins + " has changed and stays so; a button comes back"
}

func pinNames(pins []int) string {
	names := make([]string, len(pins))
	for i, p := range pins {
		names[i] = fmt.Sprintf("GPIO%d", p)
	}
	return strings.Join(names, ", ")
}

func sortedKeys(m map[int]string) []int {
	keys := make([]int, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
