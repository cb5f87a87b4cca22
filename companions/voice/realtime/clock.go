package realtime

import "time"

// clock is when something is due, and when something was.
type clock struct {
	alarm  time.Time // step must run again without a cause
	active time.Time // something of a conversation happened
}

func (c *clock) wakeAt(t time.Time) {
	if t.Before(c.alarm) {
		c.alarm = t
	}
}
