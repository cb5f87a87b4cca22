package join

import (
	"errors"
	"slices"
	"syscall"

	"conch/device/control"
	"conch/mqtt/membership"
	"conch/mqtt/pairing"
)

// Why pairing has failed, as people are told it.

var (
	errUnreachable = errors.New("pairing: the other device cannot be reached")
	errTwin        = errors.New("pairing: the other device has this device's own key")
)

// worst is the error that says most to who stands here: why the window that knew the code did not let this device in, else that it was wrong.
func worst(failed []error) error {
	rank := func(err error) int {
		switch whyOf(err) {
		case control.WhyWrongCode:
			return 1
		case control.WhyUnreachable, control.WhyProtocol, control.WhyClosed, control.WhyExpired, control.WhyBusy:
			return 2
		}
		return 0
	}
	return slices.MinFunc(failed, func(a, b error) int { return rank(a) - rank(b) })
}

// whyOf is an error as people are told it.
func whyOf(err error) control.PairingWhy {
	for _, w := range []struct {
		err error
		why control.PairingWhy
	}{
		{errTwin, control.WhyTwin}, {membership.ErrDisk, control.WhyDisk}, {pairing.ErrWrongCode, control.WhyWrongCode},
		{pairing.ErrTooMany, control.WhyWrongCode}, {pairing.ErrExpired, control.WhyExpired},
		{pairing.ErrNoWindow, control.WhyClosed}, {pairing.ErrClosed, control.WhyClosed}, {pairing.ErrBusy, control.WhyBusy},
		{membership.ErrWindow, control.WhyStopped}, {membership.ErrOften, control.WhyOften}, {membership.ErrKeptOut, control.WhyKeptOut},
		{membership.ErrUnannounced, control.WhyHost}, {membership.ErrEarly, control.WhyHost},
		{membership.ErrFull, control.WhyFull}, {membership.ErrNoHost, control.WhyHost}, {membership.ErrPaired, control.WhyAlready},
		{membership.ErrHeard, control.WhyHeard},
		{syscall.ENOSPC, control.WhyDisk}, {syscall.EROFS, control.WhyDisk}, {syscall.EACCES, control.WhyDisk}, {syscall.EDQUOT, control.WhyDisk},
		{syscall.EIO, control.WhyDisk},
		{pairing.ErrNotStored, control.WhyDisk}, {pairing.ErrRefused, control.WhyRefused}, {pairing.ErrVersion, control.WhyProtocol},
		{pairing.ErrProtocol, control.WhyProtocol},
		{errUnreachable, control.WhyUnreachable}, {pairing.ErrLost, control.WhyUnreachable}, {pairing.ErrSlow, control.WhyUnreachable},
	} {
		if errors.Is(err, w.err) {
			return w.why
		}
	}
	return control.WhyDevice
}

// whyShut is why a window is closed.
func whyShut(k pairing.WindowEventKind) control.PairingWhy {
	switch k {
	case pairing.EventTooMany:
		return control.WhyWrongCode
	case pairing.EventExpired:
		return control.WhyExpired
	case pairing.EventUnsure:
		return control.WhyUnsure
	}
	return control.WhyClosed
}
