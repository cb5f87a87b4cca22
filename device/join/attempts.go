package join

import (
	"context"
	"sync"
	"sync/atomic"

	"conch/mqtt/pairing"
)

// What is carried out of an attempt, and by whom it is awaited.

// attempt is one try, from an order to its end.
type attempt struct {
	ctx          context.Context
	cancel       context.CancelFunc
	shut, unlook context.CancelFunc
	joiners      map[string]*pairing.Joiner // of each window: counts wrong codes over all that was heard; owned by run
	meets        sync.Mutex                 // of meeting
	meeting      *meeting                   // at a foreign broker
}

// crew carries attempts out.
type crew struct {
	Busy     atomic.Int64 // workers: an attempt that was given up may still come to something while there are any
	workers  sync.WaitGroup
	attempts map[int]*attempt // owned by run
}

func (c *crew) attempt(ctx context.Context, run int) *attempt {
	a := c.attempts[run]
	if a == nil {
		a = &attempt{}
		a.ctx, a.cancel = context.WithCancel(ctx)
		c.attempts[run] = a
	}
	return a
}

// work runs f until it is done, the attempt ends, or stop is called.
func (c *crew) work(a *attempt, stop *context.CancelFunc, f func(context.Context)) {
	ctx, cancel := context.WithCancel(a.ctx)
	if stop != nil {
		*stop = cancel
	}
	c.spawn(func() {
		defer cancel()
		f(ctx)
	})
}

// spawn starts a goroutine that run awaits.
func (c *crew) spawn(f func()) {
	c.Busy.Add(1)
	c.workers.Go(func() {
		defer c.Busy.Add(-1)
		f()
	})
}

// meeting is a place at a foreign broker, opened once for an attempt.
type meeting struct {
	pairing.Meeting
	err error
}

// meet gives the attempt's meeting.
func (a *attempt) meet(ctx context.Context, l *Link) (pairing.Meeting, error) {
	a.meets.Lock()
	defer a.meets.Unlock()
	if a.meeting != nil {
		return a.meeting, a.meeting.err
	}
	m, err := pairing.Meet(ctx, brokerConfig(l.o), l.o.Room.Name, l.id)
	if err != nil {
		return nil, err
	}
	a.meeting = &meeting{m, nil}
	context.AfterFunc(a.ctx, func() { _ = m.Close() })
	return a.meeting, nil
}
