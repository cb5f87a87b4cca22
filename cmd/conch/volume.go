package main

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"conch/device/control"
	"conch/device/pattern"
	"conch/device/state"
)

type hushCmd struct {
	JSON bool `help:"Print JSON." name:"json"`
}

// Help is what conch hush --help says on top.
func (hushCmd) Help() string {
	return "The answer ends, and so does whatever plays; in a room all fall silent. Nobody is listened to afterwards: " +
		"that takes a press. To keep the microphone " +
		"closed: conch mute on. It names the devices that have confirmed within 1.5 s that they are silent, and those that have not; " +
		"then the exit status is 1. A device that is switched off is named, and is no failure."
}

func (c hushCmd) Run(e *env) error {
	var h control.Hushed
	if err := e.request("POST", "/hush", struct{}{}, &h); err != nil {
		return err
	}
	if c.JSON {
		if err := e.json(h); err != nil {
			return err
		}
	} else {
		fmt.Fprintln(e.out, h.Words(e.language()))
	}
	if !h.Whole() {
		return errors.New(e.language().Phrase("hush.press_there"))
	}
	return nil
}

type volumeCmd struct {
	Volume string `arg:"" optional:"" help:"0 to 100; +10 or -10: so much more or less. Without it: how loud it is, and who says so."`
	JSON   bool   `help:"Print JSON." name:"json"`
}

// Help is what conch volume --help says on top.
func (volumeCmd) Help() string {
	return "What is set here counts at once, and after a restart, as if it had been said (\"louder\", \"set the volume to 40\"). " +
		"It counts until somebody says " +
		"otherwise, by word, by this command, or by another audio.volume in the configuration: the latest wish counts."
}

func (c volumeCmd) Run(e *env) error {
	q, err := volumeRequest(c.Volume)
	if err != nil {
		return err
	}
	var a control.VolumeAnswer
	if q == nil {
		a, err = e.volumeNow()
	} else {
		err = e.request("POST", "/volume", q, &a)
	}
	switch {
	case err != nil:
		return err
	case c.JSON:
		return e.json(a)
	}
	d := e.describe()
	unkept := ""
	if a.Unkept {
		unkept = " " + d.in.Phrase("status.volume_unkept")
	}
	fmt.Fprintf(e.out, "%s %d, %s%s\n", d.in.Phrase("status.volume"), a.Volume, d.volumeFrom(a.VolumeFrom), unkept)
	return nil
}

// volumeRequest is what the person wants; nil: only to know.
func volumeRequest(word string) (*control.VolumeRequest, error) {
	if word == "" {
		return nil, nil //nolint:nilnil // nothing is asked for
	}
	n, err := strconv.Atoi(strings.TrimSuffix(word, "%"))
	relative := word[0] == '+' || word[0] == '-'
	if err != nil || n < -100 || n > 100 {
		return nil, fmt.Errorf("%w: volume %s: must be 0 to 100, or +N or -N for so much more or less", control.ErrRefused, word)
	}
	if relative {
		return &control.VolumeRequest{By: n}, nil
	}
	return &control.VolumeRequest{Percent: &n}, nil
}

// quieter has a number behind a minus be no flag: it goes behind all flags.
func quieter(args []string) []string {
	for i, a := range args {
		if a == "--" {
			return args
		}
		if minus().MatchString(a) && slices.Contains(args[:i], "volume") {
			return slices.Concat(args[:i], args[i+1:], []string{"--", a})
		}
	}
	return args
}

var minus = pattern.New(`^-[0-9]+%?$`)

// volumeNow is the volume that the running appliance has, or that a start would find.
func (e *env) volumeNow() (control.VolumeAnswer, error) {
	cfg, err := e.loadForClient()
	if err != nil {
		return control.VolumeAnswer{}, err
	}
	return state.VolumeNow(e.ctx, cfg), nil
}
