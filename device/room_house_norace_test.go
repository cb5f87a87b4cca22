//go:build !race

package device

const (
	roomsAtOnce = 12   // as many as tests run side by side (TestMain)
	joinWaves   = 4    // of
	joinRooms   = 25   // rooms: a hundred
	joinsTimed  = true // the time is held against them
)
