//go:build unix && !linux

package terminal

import (
	"os"

	"golang.org/x/sys/unix"
)

const getTermios, setTermios = unix.TIOCGETA, unix.TIOCSETA

func isNull(_ *os.File, st os.FileInfo) bool {
	null, err := os.Stat(os.DevNull)
	return err == nil && os.SameFile(st, null)
}

// stopJob stops this process and all others of its job.
func stopJob() { _ = unix.Kill(0, unix.SIGTSTP) }
