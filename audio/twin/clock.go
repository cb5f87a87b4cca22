package twin

import (
	"sync/atomic"
	"time"
)

// Clock is the time of a Card and of whoever shares its Now. Either it stands still until the card advances it, or it
// follows the wall (in a synctest bubble: the bubble's time).
type Clock struct {
	now   atomic.Int64 // standing clock
	wall  bool         // fixed after the constructor
	start time.Time
}

// NewClock makes a clock that stands at zero until a card advances it.
func NewClock() *Clock { return &Clock{} }

// WallClock makes a clock that runs by itself from zero.
func WallClock() *Clock { return &Clock{wall: true, start: time.Now()} }

// Now is the time since the clock was made. It allocates nothing.
func (c *Clock) Now() time.Duration {
	if c.wall {
		return time.Since(c.start)
	}
	return time.Duration(c.now.Load())
}

func (c *Clock) set(t time.Duration) {
	if !c.wall {
		c.now.Store(int64(t))
	}
}
