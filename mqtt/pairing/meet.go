package pairing

import (
	"context"
	"errors"

	"conch/companions/round"
	"conch/mqtt"
)

// Meeting is a place on a foreign broker where devices pair: the topics conch/v1/<room>/pairing/<device>, over an MQTT session of
// its own.
type Meeting interface {
	// Open tells everybody who browses, now and later, that this device has a window open for a room; Shut ends that.
	Open(roomID, roomName string)
	Shut()
	// Browse asks who has a window open, and waits for answers until ctx ends or wait is over.
	Browse(ctx context.Context) ([]Opening, error)
	// Dial is a channel to a device's window.
	Dial(ctx context.Context, to round.DeviceID) (Channel, error)
	// Accept waits for a joiner while this device's window is open.
	Accept(ctx context.Context) (Channel, error)
	Close() error
}

// Opening is a window that somebody says is open.
type Opening struct {
	Device   round.DeviceID
	RoomID   string
	RoomName string
}

// Meet connects to the foreign broker of cfg (its URL, user, password, certificates).
func Meet(ctx context.Context, cfg mqtt.Config, room string, self mqtt.Identity) (Meeting, error) {
	return nil, errors.New("pairing: not yet")
}
