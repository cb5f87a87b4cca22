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
	"conch/device/language"
	"conch/gpio"
)

// learnCommand is what Learn is for people.
const learnCommand = "gpio learn"

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
	l := cfg.Device.Language
	say := func(text string) { fmt.Fprintln(o.Out, text) }
	if r, err := control.Dial(cfg); err == nil && r != nil {
		say(l.Phrase("learn.running"))
	}
	uses := pinUses(&cfg)
	if pin := cfg.Button.Pin; strings.HasPrefix(uses[pin], "button") {
		delete(uses, pin) // that is what is asked
	}
	found, err := o.Listen(ctx, gpio.LearnOptions{
		Chip: cfg.Button.Chip, Uses: uses,
		Watch: func(pins []int, left map[int]string) {
			for _, p := range sortedKeys(left) {
				if strings.HasPrefix(left[p], "conch itself") || strings.HasPrefix(left[p], "conch@") {
					say(l.Phrase("setup.left_out", "pin", p, "why", left[p]))
				}
			}
			say(l.Phrase("setup.listening_on", "pins", pinNames(pins)))
			say(l.Phrase("learn.press"))
		},
		Heard: func(h gpio.Heard) { say(heardText(h, l)) },
	})
	switch {
	case errors.Is(err, context.Canceled):
		return errors.New(l.Phrase("learn.nothing"))
	case err != nil:
		return fmt.Errorf("%w: %w", control.ErrRefused, err)
	}
	say(l.Phrase("setup.your_button", "pin", learntText(found, l)))
	edits, why := learnt(&cfg, l, found, gpio.Detect(gpio.DetectOptions{Root: o.Root}))
	for _, line := range why {
		say(line)
	}
	if len(edits) == 0 {
		return nil
	}
	return o.write(cfg, edits)
}

// learnt is what to set for a button, and what to say about it: the board that has it, when what the machine shows leaves just
// one; else the pin.
func learnt(c *config.Config, l language.Language, found gpio.Learned, seen gpio.Seen) (edits []config.Edit, why []string) {
	active := map[bool]string{true: "high", false: "low"}[found.ActiveHigh]
	// The resistor is left out of it: one more in the same direction does no harm.
	if c.Button.Pin == found.Pin && c.Button.Active == active && (c.Button.Source == "gpio" || c.Button.Source == "auto") {
		return nil, []string{l.Phrase("learn.same")}
	}
	for _, key := range []string{"button.pin", "button.active", "device.board", "button.source"} {
		if from := c.Origin(key); strings.HasPrefix(from, "environment ") {
			why = append(why, l.Phrase("learn.stronger", "key", key, "origin", from))
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
		why = append(why, l.Phrase("learn.of_board", "board", p.Title, "evidence", strings.Join(p.Evidence, "; ")))
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
		why = append(why, l.Phrase("learn.boards", "names", strings.Join(names, ", ")))
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
	l := cfg.Device.Language
	c, err := planned(cfg, edits, l)
	if err != nil {
		return fmt.Errorf("%s: %w", learnCommand, err)
	}
	fmt.Fprintf(o.Out, "\n%s\n%s", c.path, c.diff())
	if o.Print {
		return nil
	}
	if !o.Yes {
		if !term.IsTerminal(int(o.In.Fd())) {
			return fmt.Errorf("%w: %s: %s", control.ErrRefused, learnCommand, l.Phrase("learn.nobody"))
		}
		fmt.Fprintf(o.Out, "\n%s [y/N] ", l.Phrase("setup.write"))
		answer, _ := bufio.NewReader(o.In).ReadString('\n')
		if !slices.Contains(yesWords, strings.ToLower(strings.TrimSpace(answer))) {
			fmt.Fprintln(o.Out, l.Phrase("learn.unchanged"))
			return nil
		}
	}
	if err := c.write(learnCommand, l); err != nil {
		return fmt.Errorf("%s: %w", learnCommand, err)
	}
	fmt.Fprintln(o.Out, l.Phrase("learn.written"))
	return nil
}

// learntText says which button was learnt.
func learntText(found gpio.Learned, l language.Language) string {
	level := map[bool]string{true: "high", false: "low"}[found.ActiveHigh]
	if found.Bias == gpio.BiasOff {
		return l.Phrase("learn.own_resistor", "pin", found.Pin, "level", level)
	}
	return l.Phrase("setup.pin_pressed", "pin", found.Pin, "level", level)
}

func heardText(h gpio.Heard, l language.Language) string {
	pins := pinNames(h.Pins)
	switch h.Kind {
	case gpio.HeardOnce:
		return l.Phrase("learn.once", "pins", pins)
	case gpio.HeardTwice:
		return l.Phrase("learn.twice", "pins", pins)
	case gpio.HeardOther:
		return l.Phrase("learn.other", "now", pinNames(h.Pins[1:2]), "before", pinNames(h.Pins[:1]))
	case gpio.HeardTogether:
		return l.Phrase("learn.together", "pins", pins)
	case gpio.HeardNoise:
		return l.Phrase("learn.noise", "pins", pins)
	}
	return l.Phrase("learn.stays", "pins", pins)
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
