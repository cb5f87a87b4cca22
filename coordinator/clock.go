package coordinator

import "time"

// Clock is where the runner's time comes from. The real one reads the monotonic clock, so a change of the wall clock
// moves no deadline.
type Clock interface {
	// Now is the time since the program started; all facts share it.
	Now() time.Duration
	// NewTimer returns a timer that fires once after d.
	NewTimer(d time.Duration) Timer
}

// Timer is the part of time.Timer that the runner uses, with the semantics it has since Go 1.23: after Reset or Stop no
// stale value is received.
type Timer interface {
	C() <-chan time.Time
	Reset(d time.Duration) bool
	Stop() bool
}

// RealClock is the system's clock. now is the clock shared by button, sound and voice; nil starts a new one.
func RealClock(now func() time.Duration) Clock {
	if now == nil {
		start := time.Now()
		now = func() time.Duration { return time.Since(start) }
	}
	return realClock{now}
}

type realClock struct{ now func() time.Duration }

func (c realClock) Now() time.Duration             { return c.now() }
func (c realClock) NewTimer(d time.Duration) Timer { return realTimer{time.NewTimer(d)} }

type realTimer struct{ t *time.Timer }

func (t realTimer) C() <-chan time.Time        { return t.t.C }
func (t realTimer) Reset(d time.Duration) bool { return t.t.Reset(d) }
func (t realTimer) Stop() bool                 { return t.t.Stop() }
