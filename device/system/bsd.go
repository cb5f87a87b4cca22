//go:build unix && !linux

package system

import (
	"errors"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// peer is unix(4), LOCAL_PEERCRED.
func peer(fd int) (uid, pid int, err error) {
	cred, err := unix.GetsockoptXucred(fd, unix.SOL_LOCAL, unix.LOCAL_PEERCRED)
	if err != nil {
		return 0, 0, err
	}
	return int(cred.Uid), 0, nil
}

// Apart has a program be in a process group of its own. Nothing here ends it with who started it.
func Apart(bool) *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

// MemoryFile is a file that has lost its name already, gone when it is closed.
func MemoryFile(name string) (*os.File, error) {
	f, err := os.CreateTemp("", name)
	if err == nil {
		err = os.Remove(f.Name())
	}
	return f, err
}

// Wait waits until one of the files can be read, for at most timeout (negative: for ever), and says which is the first; -1: none. It is
// select(2): poll(2) knows no terminals on macOS.
func Wait(timeout time.Duration, files ...*os.File) (int, error) {
	for {
		var most int
		var set unix.FdSet
		for _, f := range files {
			set.Set(int(f.Fd()))
			most = max(most, int(f.Fd()))
		}
		var limit *unix.Timeval
		if timeout >= 0 {
			t := unix.NsecToTimeval(int64(timeout))
			limit = &t
		}
		switch n, err := unix.Select(most+1, &set, nil, nil, limit); {
		case errors.Is(err, unix.EINTR):
		case err != nil:
			return -1, err
		case n == 0:
			return -1, nil
		default:
			for i, f := range files {
				if set.IsSet(int(f.Fd())) {
					return i, nil
				}
			}
		}
	}
}
