//go:build !linux

package mqtt

import "net"

// quicken is for the systems that conch is developed on; the appliance's is Linux.
func quicken(conn net.Conn) net.Conn { return conn }
