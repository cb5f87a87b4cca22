//go:build linux

package system

import (
	"errors"
	"os"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// peer is unix(7), SO_PEERCRED.
func peer(fd int) (uid, pid int, err error) {
	cred, err := unix.GetsockoptUcred(fd, unix.SOL_SOCKET, unix.SO_PEERCRED)
	if err != nil {
		return 0, 0, err
	}
	return int(cred.Uid), int(cred.Pid), nil
}

// Apart has a program be in a process group of its own. mortal: the kernel ends it with the thread that starts it.
func Apart(mortal bool) *syscall.SysProcAttr {
	a := &syscall.SysProcAttr{Setpgid: true}
	if mortal {
		a.Pdeathsig = syscall.SIGKILL
	}
	return a
}

// Bound bounds a process that runs: its memory, its time at the processor in seconds, and what it writes into a file.
func Bound(process *os.Process, memory, seconds, file uint64) {
	for limit, most := range map[int]uint64{unix.RLIMIT_AS: memory, unix.RLIMIT_CPU: seconds, unix.RLIMIT_FSIZE: file} {
		_ = unix.Prlimit(process.Pid, limit, &unix.Rlimit{Cur: most, Max: most}, nil) // it may be over already
	}
}

// MemoryFile is a file without a name, gone when it is closed.
func MemoryFile(name string) (*os.File, error) {
	fd, err := unix.MemfdCreate(name, unix.MFD_CLOEXEC)
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), name), nil
}

// Wait waits until one of the files can be read, for at most timeout (negative: for ever), and says which is the first; -1: none.
func Wait(timeout time.Duration, files ...*os.File) (int, error) {
	millis := -1
	if timeout >= 0 {
		millis = int((timeout + time.Millisecond - 1) / time.Millisecond)
	}
	fds := make([]unix.PollFd, len(files))
	for i, f := range files {
		fds[i] = unix.PollFd{Fd: int32(f.Fd()), Events: unix.POLLIN}
	}
	for {
		switch n, err := unix.Poll(fds, millis); {
		case errors.Is(err, unix.EINTR): // the runtime's own signals; the wait may become longer by this, never endless
		case err != nil:
			return -1, err
		case n == 0:
			return -1, nil
		default:
			for i := range fds {
				if fds[i].Revents != 0 {
					return i, nil
				}
			}
		}
	}
}

// Ioctl asks the driver of a device; arg is what the request wants.
func Ioctl(fd uintptr, request uintptr, arg unsafe.Pointer) error {
	if _, _, errno := unix.Syscall(unix.SYS_IOCTL, fd, request, uintptr(arg)); errno != 0 {
		return errno
	}
	return nil
}

// IoctlNumber tells the driver of a device a number.
func IoctlNumber(fd, request, number uintptr) error {
	if _, _, errno := unix.Syscall(unix.SYS_IOCTL, fd, request, number); errno != 0 {
		return errno
	}
	return nil
}

// Network is readable after every change of links and addresses, and of routes, too (rtnetlink(7)). What it says need not be read: ENOBUFS, too
// much to say, is a change as well.
func Network(routes bool) (*os.File, error) {
	fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, unix.NETLINK_ROUTE)
	if err != nil {
		return nil, os.NewSyscallError("socket", err)
	}
	groups := uint32(unix.RTMGRP_LINK | unix.RTMGRP_IPV4_IFADDR | unix.RTMGRP_IPV6_IFADDR)
	if routes {
		groups |= unix.RTMGRP_IPV4_ROUTE | unix.RTMGRP_IPV6_ROUTE
	}
	if err := unix.Bind(fd, &unix.SockaddrNetlink{Family: unix.AF_NETLINK, Groups: groups}); err != nil {
		_ = unix.Close(fd)
		return nil, os.NewSyscallError("bind", err)
	}
	return os.NewFile(uintptr(fd), "rtnetlink"), nil
}
