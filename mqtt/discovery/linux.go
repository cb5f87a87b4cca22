//go:build linux

package discovery

import (
	"errors"
	"syscall"

	"golang.org/x/sys/unix"
)

// shared lets others on this machine use the port too, and keeps what they have joined from us. (Of SO_REUSEPORT nothing is
// wanted: it hands a packet that is for one to any of the sharers.)
func shared(network, _ string, c syscall.RawConn) error {
	var err error
	set := func(fd uintptr) {
		err = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_REUSEADDR, 1)
		// Before Linux 4.20 there is no such thing for IPv6: packets of interfaces that are not ours are dropped by who reads.
		if network == "udp6" {
			_ = unix.SetsockoptInt(int(fd), unix.IPPROTO_IPV6, unix.IPV6_MULTICAST_ALL, 0)
		} else {
			_ = unix.SetsockoptInt(int(fd), unix.IPPROTO_IP, unix.IP_MULTICAST_ALL, 0)
		}
	}
	return errors.Join(c.Control(set), err)
}
