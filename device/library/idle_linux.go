package library

import (
	"runtime"

	"golang.org/x/sys/unix"
)

// idle has the calling goroutine's reads wait for everybody else's (ioprio_set(2)), until what it returns is called. Its priority at the
// processor stays: the collector of Go waits for each thread, and would wait for one that others keep from running.
func idle() (end func()) {
	runtime.LockOSThread()
	set := func(class uintptr) {
		const process, shift = 1, 13
		_, _, _ = unix.Syscall(unix.SYS_IOPRIO_SET, process, 0, class<<shift) // where it is not allowed, it is only slow
	}
	set(3)
	return func() {
		set(0)
		runtime.UnlockOSThread()
	}
}
