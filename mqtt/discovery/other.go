//go:build !linux

package discovery

import (
	"context"
	"errors"
	"syscall"
)

func shared(_, _ string, c syscall.RawConn) error {
	var err error
	return errors.Join(c.Control(func(fd uintptr) {
		err = syscall.SetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_REUSEADDR, 1)
	}), err)
}

func watchNetwork(context.Context) (<-chan struct{}, error) {
	return nil, errors.New("discovery: no word of changes of the network on this system")
}
