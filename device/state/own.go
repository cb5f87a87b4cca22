package state

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"

	"conch/device/control"
)

// Own takes a state directory for this process, until release is called. Two that have one tidy away what the other is just writing, and
// each forgets what the other keeps. What cannot be locked, as on some network's disk, is taken as it is.
func Own(dir string) (release func(), err error) {
	if dir == "" {
		return func() {}, nil
	}
	_ = os.MkdirAll(dir, 0o700) // whoever writes there says what is wrong with it
	d, err := os.Open(dir)
	if err != nil {
		return func() {}, nil //nolint:nilerr // likewise
	}
	if err := unix.Flock(int(d.Fd()), unix.LOCK_EX|unix.LOCK_NB); errors.Is(err, unix.EWOULDBLOCK) {
		_ = d.Close() // nothing was written
		return nil, fmt.Errorf("%w: another conch keeps its things in %s: stop it, or give this one a state.dir of its own", control.ErrRefused, dir)
	}
	return func() { _ = d.Close() }, nil
}
