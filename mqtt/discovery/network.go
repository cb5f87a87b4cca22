package discovery

import (
	"context"
	"errors"
	"fmt"
	"os"

	"conch/device/system"
)

// watchNetwork says when interfaces or addresses may have changed, until ctx ends; several changes may be one word. An error
// is that nothing will be said (a sandbox without AF_NETLINK): the caller then looks from time to time.
func watchNetwork(ctx context.Context) (<-chan struct{}, error) {
	f, err := system.Network(false)
	if err != nil {
		return nil, fmt.Errorf("discovery: listen for changes of the network: %w", err)
	}
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
