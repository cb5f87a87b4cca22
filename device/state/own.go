package state

import (
	"errors"
	"fmt"
	"os"

	"conch/device/control"
	"conch/device/system"
)

// Own takes a state directory for this process, until release is called. Two that have one tidy away what the other is just writing, and
// each forgets what the other keeps. What cannot be locked, as on some network's disk, is taken as it is.
func Own(dir string) (release func(), err error) {
	if dir == "" {
		return func() {}, nil
	}
	_ = os.MkdirAll(dir, 0o700) // whoever writes there says what is wrong with it
	d, err := system.LockDirectory(dir)
	switch {
	case errors.Is(err, system.ErrTaken):
		return nil, fmt.Errorf("%w: another conch keeps its things in %s: stop it, or give this one a state.dir of its own", control.ErrRefused, dir)
	case err != nil:
		return func() {}, nil //nolint:nilerr // likewise
	}
	return func() { _ = d.Close() }, nil
}
