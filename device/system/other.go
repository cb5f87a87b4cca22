//go:build !linux

package system

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"unsafe"
)

// lacks says that this system has no such thing.
func lacks(what string) error {
	return fmt.Errorf("there is no %s on %s: %w", what, runtime.GOOS, errors.ErrUnsupported)
}

// Bound bounds nothing: only Linux bounds a process that runs already.
func Bound(*os.Process, uint64, uint64, uint64) {}

// Ioctl would ask the driver of a device that only Linux has.
func Ioctl(uintptr, uintptr, unsafe.Pointer) error { return lacks("driver for this device") }

// IoctlNumber would tell it a number.
func IoctlNumber(uintptr, uintptr, uintptr) error { return lacks("driver for this device") }

// Network would tell of changes: whoever wants them looks from time to time.
func Network(bool) (*os.File, error) { return nil, lacks("word of changes of the network") }

// Confine starts cmd, and confines nothing: only Linux does.
func Confine(cmd *exec.Cmd, _ []string, _ ...*os.File) error { return cmd.Start() }
