package rehearse

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"conch/audio/twin"
	"conch/device/control"
)

// How a script says what is done about pairing.

// strangers refuses a verb where the devices know each other from the beginning.
func strangers(parse func(*Line, string, *names) error) func(*Line, string, *names) error {
	return func(l *Line, args string, n *names) error {
		if !n.strangers {
			return errors.New("these devices know each other from the beginning; to have them pair: unpaired = true in the room file, or --unpaired")
		}
		return parse(l, args, n)
	}
}

// withAir takes the rest of: hear DEV OTHER [RT60 [SNR]].
func withAir(l *Line, who, args string) (err error) {
	l.Other, l.For, l.Noise = who, twin.DefaultRT60, twin.DefaultSNR
	words := strings.Fields(args)
	switch {
	case who == "nobody" && len(words) > 0, len(words) > 2:
		return errUsage
	case who == "nobody":
		l.For, l.Noise = 0, 0
	case who == l.Device:
		return fmt.Errorf("%s does not hear itself", who)
	}
	if len(words) > 0 {
		if l.For, err = positive(words[0]); err != nil {
			return err
		}
		if l.For < twin.MinRT60 || l.For > twin.MaxRT60 {
			return fmt.Errorf("%s: must be from %s to %s", words[0], twin.MinRT60, twin.MaxRT60)
		}
	}
	if len(words) > 1 {
		db, isDB := strings.CutSuffix(words[1], "dB")
		if l.Noise, err = strconv.ParseFloat(db, 64); err != nil || !isDB || l.Noise < -20 || l.Noise > twin.MaxSNR {
			return fmt.Errorf("%s: must be from -20dB to %gdB", words[1], twin.MaxSNR)
		}
	}
	return nil
}

func withCode(l *Line, args string, n *names) error {
	name, code := cutWord(args)
	if code == "" {
		return errUsage
	}
	if l.Text = code; code != "typed" && code != "wrong" && (len(code) != 6 || strings.Trim(code, "0123456789") != "") {
		return fmt.Errorf("code %q: must be six digits, typed or wrong", code)
	}
	return n.device(l, name)
}

func withOther(l *Line, args string, n *names) error {
	name, other := cutWord(args)
	if err := n.device(l, other); err != nil {
		return err
	}
	l.Other = other
	return n.device(l, name)
}

func withState(l *Line, args string, n *names) error {
	name, rest := cutWord(args)
	state, why := cutWord(rest)
	l.State, l.Why = control.PairingState(state), control.PairingWhy(why)
	states := []control.PairingState{control.PairingOpen, control.PairingListening, control.PairingJoining, control.PairingPaired, control.PairingFailed,
		control.PairingCancelled, control.PairingLeft, control.PairingRemoved}
	if !slices.Contains(states, l.State) {
		return fmt.Errorf("state %q: must be one of %s", state, joined(states, ", ", func(s control.PairingState) string { return string(s) }))
	}
	reasons := []control.PairingWhy{control.WhyWrongCode, control.WhyExpired, control.WhyClosed, control.WhyBusy, control.WhyNobody, control.WhyTwoWindows,
		control.WhyNotHeard, control.WhyUnreachable, control.WhyHost, control.WhyFull, control.WhyDisk, control.WhyMuted, control.WhyAlready,
		control.WhyDevice, control.WhyUnsure, control.WhyRefused, control.WhyProtocol}
	switch {
	case l.State != control.PairingFailed && why != "":
		return errUsage
	case l.State == control.PairingFailed && !slices.Contains(reasons, l.Why):
		return fmt.Errorf("wait pairing DEV failed %q: must say why: %s", why, joined(reasons, ", ", func(w control.PairingWhy) string { return string(w) }))
	}
	return n.device(l, name)
}

func withCount(l *Line, args string, n *names) (err error) {
	name, count := cutWord(args)
	if l.Count, err = strconv.Atoi(count); err != nil || l.Count < 1 || l.Count > maxRoomDevices {
		return fmt.Errorf("wait members DEV %q: must be a number from 1 to %d", count, maxRoomDevices)
	}
	return n.device(l, name)
}
