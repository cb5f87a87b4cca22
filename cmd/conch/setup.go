package main

import (
	"fmt"
	"maps"
	"os/signal"
	"slices"
	"strings"
	"syscall"

	"conch/device/config"
	"conch/device/control"
	"conch/device/setup"
)

// setupCmd is a person's first minutes with a box.
type setupCmd struct {
	Steps []string `arg:"" optional:"" help:"Only these: language, board, sound, pin, voice, limit, votes, house, quiet, try. Without any: all that is not in place." placeholder:"STEP"`
	Only  []string `help:"The same, as a flag." placeholder:"STEP"`
	Yes   bool     `help:"Ask nobody: each question has the answer of its flag, else that of Enter." short:"y"`
	JSON  bool     `help:"Print one JSON object a step, with what would be asked; without --yes nothing is written." name:"json"`

	Board    string `help:"Board, as conch gpio list --boards names it, or none." placeholder:"NAME"`
	Playback string `help:"Loudspeaker, as conch audio list names it." placeholder:"DEVICE"`
	Capture  string `help:"Microphone, as conch audio list names it." placeholder:"DEVICE"`
	Pin      int    `help:"Pin of the button, as Broadcom counts." default:"-1" placeholder:"N"`
	Active   string `help:"Level of the pin while pressed: low or high." placeholder:"LEVEL"`
	URL      string `help:"Server of your own." name:"url" placeholder:"URL"`
	Model    string `help:"Its model." placeholder:"NAME"`
	KeyFile  string `help:"File that has the key; - is standard input." placeholder:"FILE"`
	Votes    string `help:"Who votes in a room: rules, auto (a model where these are not certain), model." placeholder:"WHO"`
	Language string `help:"What conch itself speaks: en, de, es, fr." placeholder:"CODE"`
	Quiet    string `help:"Hours in which people sleep, as in 22:00-07:00, or none." placeholder:"HOURS"`
	Limit    string `help:"What the answers of a day may cost, or none." placeholder:"SUM"`
	Broker   string `help:"Broker of Home Assistant." placeholder:"HOST:PORT"`

	BrokerUser         string `help:"User there." placeholder:"NAME"`
	BrokerPasswordFile string `help:"File that has its password." placeholder:"FILE"`

	Reboot bool `help:"With --yes: reboot where the board needs it."`

	Credentials string `hidden:"" default:"/etc/conch/credentials"`
	Root        string `hidden:"" help:"Before /proc, /sys and /boot; for tests."`
}

// Help is on top of conch setup --help.
func (setupCmd) Help() string {
	return "Seven questions, each with an answer on Enter: the language, the board (found by its own memory, its sound card or its chips; what its driver " +
		"needs is written into config.txt of the boot partition), loudspeaker and microphone (by a beep and an echo), the button (by pressing " +
		"it), who answers (a key, or a server of your own; tried before it is stored), the broker of Home Assistant, and when people sleep; with a key " +
		"what a day may cost; and in a room whether a model may be asked who speaks next, with what that costs. " +
		"It ends with a trial. s skips a step, Ctrl-C leaves; a second run goes on where the first was."
}

func (c setupCmd) Run(e *env) error {
	only := slices.Concat(c.Steps, c.Only)
	for _, name := range only {
		if !slices.Contains(setup.Names(), name) {
			hint := ""
			if near := config.Nearest(name, setup.Names()); near != "" {
				hint = " (did you mean " + near + "?)"
			}
			return fmt.Errorf("%w: setup: there is no step %q%s; there are %s", control.ErrRefused, name, hint, strings.Join(setup.Names(), ", "))
		}
	}
	if c.Pin < -1 || c.Pin > 27 {
		return fmt.Errorf("%w: setup: --pin %d: must be 0 to 27", control.ErrRefused, c.Pin)
	}
	load := func(over map[string]string) (config.Config, error) {
		set := maps.Clone(e.set)
		if set == nil {
			set = map[string]string{}
		}
		maps.Copy(set, over)
		cfg, err := config.Load(config.LoadOptions{File: e.config, Flags: set, Keyless: true, New: true, Root: c.Root})
		if err != nil {
			return config.Config{}, fmt.Errorf("%w: %w", control.ErrRefused, err)
		}
		return *cfg, nil
	}
	cfg, err := e.loadNew()
	if err != nil {
		return err
	}
	// A connection that breaks off, or a pipe that closes, leaves nothing standing still.
	ctx, stop := signal.NotifyContext(e.ctx, syscall.SIGHUP, syscall.SIGPIPE)
	defer stop()
	return setup.Run(ctx, setup.Options{
		In: e.in, Out: e.out, Log: e.logger(cfg), Only: only, Yes: c.Yes, JSON: c.JSON, Load: load, Keys: c.Credentials, Root: c.Root,
		Answers: setup.Answers{Board: c.Board, Playback: c.Playback, Capture: c.Capture, Pin: c.Pin, Active: c.Active, URL: c.URL, Model: c.Model,
			KeyFrom: c.KeyFile, Votes: c.Votes, Language: c.Language, Quiet: c.Quiet, Reboot: c.Reboot,
			Limit: c.Limit, Broker: c.Broker, BrokerUser: c.BrokerUser, BrokerPasswordFrom: c.BrokerPasswordFile},
	})
}
