package pairing

import (
	"context"
	"errors"

	"conch/mqtt"
)

// JoinConfig is what a joiner needs: all of it.
type JoinConfig struct {
	Identity mqtt.Identity
	Name     string // of this device, for people
	Code     string // six digits, as heard or typed. Never logged
	// Store keeps what the room has told, durably: when it returns nil, this device is in. host is the device whose window it was.
	Store func(host Party, welcome []byte) error
}

// Join is one run with a window. It closes ch. A device that tries again uses a Joiner, which counts.
func Join(ctx context.Context, ch Channel, cfg JoinConfig) (Party, error) {
	return NewJoiner(cfg).Join(ctx, ch, cfg.Code)
}

// Joiner counts the runs in which this device has shown something that its code could be tried against: after MaxTries of
// them that failed it gives up (ErrTooMany), for there may be somebody in the middle who guesses.
type Joiner struct {
	cfg JoinConfig
}

// NewJoiner has made no attempt yet.
func NewJoiner(cfg JoinConfig) *Joiner { return &Joiner{cfg: cfg} }

// Join is one run with this code.
func (j *Joiner) Join(ctx context.Context, ch Channel, code string) (Party, error) {
	return Party{}, errors.New("pairing: not yet")
}
