//go:build !linux

package realtime

import (
	"net"
	"time"
)

// Elsewhere TCP's keep-alive is what notices.

func setUserTimeout(net.Conn, time.Duration) {}

func acknowledged(net.Conn) (silent time.Duration, flying, queued bool) { return 0, false, false }
