package terminal

import (
	"os"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"
)

const getTermios, setTermios = unix.TCGETS, unix.TCSETS

// isNull says that a device is null(4).
func isNull(_ *os.File, st os.FileInfo) bool {
	sys, ok := st.Sys().(*syscall.Stat_t)
	return ok && sys.Rdev == unix.Mkdev(1, 3)
}

// stopJob stops this process and all others of its job, and returns when they go on; at once where no shell could have them go on. The signal to
// ourselves lies blocked in this thread first. Unblocked, it is carried out before the call returns, however busy the machine is; and whoever
// lets the job go on earlier takes it away (signal(7): SIGCONT discards what would stop). So we have stopped neither later than we think nor twice.
func stopJob() {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var stop, before unix.Sigset_t
	stop.Val[0] = 1 << (unix.SIGTSTP - 1)
	if err := unix.PthreadSigmask(unix.SIG_BLOCK, &stop, &before); err != nil {
		return
	}
	_ = unix.Tgkill(unix.Getpid(), unix.Gettid(), unix.SIGTSTP)
	_ = unix.Kill(0, unix.SIGTSTP)
	_ = unix.PthreadSigmask(unix.SIG_SETMASK, &before, nil)
}
