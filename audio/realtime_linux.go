package audio

import (
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

// realtime asks for SCHED_FIFO for the calling thread, which must be the sound system's own, and returns the priority got,
// or -1. Where the user's limit is lower than prio, the limit is taken (systemd LimitRTPRIO=, PAM's rtprio for group audio).
//
// Reset-on-fork matters more than the number: Go may start a thread of its own from within a callback, and without the flag
// that thread would be real-time as well, and a busy goroutine on it would stand above everything else on the machine.
//
// Not with a single processor: the sound system's thread turns in a circle, without a callback, when its card is pulled out
// (audio/FACTS.md 2), and above everything else it would keep those from running who are to notice and to stop it. Seen in a
// guest with one processor: the card was gone for a minute before anybody knew.
func realtime(prio uint32) int64 {
	if runtime.NumCPU() == 1 {
		return -1
	}
	if try(prio) == nil {
		return int64(prio)
	}
	var limit unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_RTPRIO, &limit) == nil && limit.Cur > 0 && limit.Cur < uint64(prio) && try(uint32(limit.Cur)) == nil {
		return int64(limit.Cur)
	}
	return -1
}

func try(prio uint32) error {
	return unix.SchedSetAttr(0, &unix.SchedAttr{
		Size: unix.SizeofSchedAttr, Policy: unix.SCHED_FIFO, Flags: unix.SCHED_FLAG_RESET_ON_FORK, Priority: prio}, 0)
}

// thread is the calling thread, which is the sound system's own: it gets ThreadName.
func thread() int64 {
	name := append([]byte(ThreadName), 0)
	_ = unix.Prctl(unix.PR_SET_NAME, uintptr(unsafe.Pointer(&name[0])), 0, 0, 0) // it is for people
	return int64(unix.Gettid())
}

// ordinary takes the priority from a thread again. (That what it starts is ordinary anyway is not given up: only root may.)
func ordinary(thread int64) {
	_ = unix.SchedSetAttr(int(thread), &unix.SchedAttr{
		Size: unix.SizeofSchedAttr, Policy: unix.SCHED_NORMAL, Flags: unix.SCHED_FLAG_RESET_ON_FORK}, 0) // it may have ended
}
