package join

import (
	"context"
	"errors"
	"time"

	"conch/device/wait"
)

// Looking for windows, and being found. What the network says is a hint where to knock; who answers there is proven by the code,
// and later by its certificate.

// lookEvery is how long one look takes; a window that has opened meanwhile is seen at the next one. The first look ends when the
// machine wants to know.
const lookEvery = lookLeast

// lookPause is between two looks, when one is not in a hurry any more: a multicast every two seconds at most.
const lookPause = 1250 * time.Millisecond

// look tells the machine what windows there are, until it wants to know no more.
func (p *Pairing) look(ctx context.Context, run int, a *attempt) {
	began := p.o.Now()
	for ctx.Err() == nil {
		windows, err := p.link.windows(ctx, a)
		if ctx.Err() != nil {
			return
		}
		if err != nil {
			p.log.Warn(logPairErr, "err", err)
		}
		p.tell(ctx, WindowsSeen{At: p.o.Now(), Run: run, Windows: windows})
		if err != nil || p.o.Now()-began >= lookMost {
			_ = wait.For(ctx, lookPause)
		}
	}
}

// windows are those that can be seen now.
func (l *Link) windows(ctx context.Context, a *attempt) ([]Window, error) {
	var all []Window
	if l.foreign() {
		m, err := a.meet(ctx, l)
		if err != nil {
			return nil, err
		}
		c, cancel := context.WithTimeout(ctx, lookEvery)
		defer cancel()
		open, err := m.Browse(c)
		if err != nil && !errors.Is(err, context.DeadlineExceeded) {
			return nil, err
		}
		for _, o := range open {
			all = append(all, Window{Device: o.Device, RoomID: o.RoomID, Room: o.RoomName})
		}
		return all, nil
	}
	found, err := l.Finder.Find(ctx, lookEvery, nil)
	for _, f := range found {
		if f.Pairing && !f.IsDevice(l.Self()) {
			all = append(all, Window{Device: f.Device, Name: f.Name, RoomID: f.RoomID, Room: f.Room, Addresses: f.Addresses})
		}
	}
	return all, err
}
