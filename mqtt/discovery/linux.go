//go:build linux

package discovery

import (
	"context"
	"errors"
	"fmt"
	"os"
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

// watchNetwork says when interfaces or addresses may have changed, until ctx ends; several changes may be one word. An error
// is that nothing will be said (a sandbox without AF_NETLINK): the caller then looks from time to time.
func watchNetwork(ctx context.Context) (<-chan struct{}, error) {
	fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, unix.NETLINK_ROUTE)
	if err != nil {
		return nil, fmt.Errorf("discovery: open a netlink socket: %w", err)
	}
	if err := unix.Bind(fd, &unix.SockaddrNetlink{
		Family: unix.AF_NETLINK, Groups: unix.RTMGRP_LINK | unix.RTMGRP_IPV4_IFADDR | unix.RTMGRP_IPV6_IFADDR,
	}); err != nil {
		_ = unix.Close(fd)
		return nil, fmt.Errorf("discovery: listen for changes of the network: %w", err)
	}
	f := os.NewFile(uintptr(fd), "netlink")
	stop := context.AfterFunc(ctx, func() { _ = f.Close() })
	changes := make(chan struct{}, 1)
	go func() { // ends with ctx
		defer stop()
		buf := make([]byte, 8192)
		for {
			// What it says is not read: the lists are asked for anew. Too much to say (ENOBUFS) is a change as well.
			if _, err := f.Read(buf); errors.Is(err, os.ErrClosed) {
				return
			}
			select {
			case changes <- struct{}{}:
			default:
			}
		}
	}()
	return changes, nil
}
