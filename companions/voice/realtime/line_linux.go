package realtime

import (
	"net"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// setUserTimeout bounds how long the system keeps trying to bring what we sent to the other end. An answer to a probe of a
// full window does not count for it, so it must be longer than servers are busy.
func setUserTimeout(c net.Conn, d time.Duration) {
	onSocket(c, func(fd int) {
		_ = unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT, int(d.Milliseconds())) // without it, keep-alive remains
	})
}

// acknowledged asks the system for what the other end has acknowledged.
func acknowledged(c net.Conn) (silent time.Duration, flying, queued bool) {
	onSocket(c, func(fd int) {
		if info, err := unix.GetsockoptTCPInfo(fd, unix.IPPROTO_TCP, unix.TCP_INFO); err == nil {
			silent = time.Duration(info.Last_ack_recv) * time.Millisecond
			// Where the other end has room and yet nothing is in flight, it cannot be sent: no route any more.
			flying = info.Unacked > 0 || info.Notsent_bytes > 0 && info.Snd_wnd >= info.Snd_mss
			queued = flying || info.Notsent_bytes > 0
		}
	})
	return silent, flying, queued
}

func onSocket(c net.Conn, f func(fd int)) {
	s, ok := c.(syscall.Conn)
	if !ok {
		return
	}
	if raw, err := s.SyscallConn(); err == nil {
		_ = raw.Control(func(fd uintptr) { f(int(fd)) }) // a closed socket has nothing to tell
	}
}
