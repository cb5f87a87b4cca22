//go:build race

package device

// The race detector makes a device about ten times as much work.
const (
	roomsAtOnce = 3
	joinWaves   = 1
	joinRooms   = 5
	joinsTimed  = false
)
