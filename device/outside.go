package device

import (
	"context"
	"time"

	"conch/companions"
	"conch/coordinator"
)

// What rehearsals and benchmarks, which stand around whole devices, see of one besides what a person sees.

// Room is the way to the other companions; nil: one companion and no broker.
func (d *Device) Room() *companions.Room { return d.room }

// Coordinator owns the turns.
func (d *Device) Coordinator() *coordinator.Coordinator { return d.coordinator }

// Put asks as Ask does, and returns when the question is in the inboxes.
func (d *Device) Put(text string) { d.ask(newTurn(), text) }

// Settled says that the device has done what follows from what it was told.
func (d *Device) Settled() bool {
	return d.coordinator.Settled() && (d.room == nil || d.room.Settled())
}

// Restarting says that it is about to begin anew: Run returns ErrRestart.
func (d *Device) Restarting() bool { return d.restarting.Load() || d.pairing.ending.Load() }

// Restart has the device begin anew, as after a change of its room, once nobody talks or types: Run returns ErrRestart.
func (d *Device) Restart(ctx context.Context) {
	d.pairing.ending.Store(true)
	d.pairing.beginAnew(ctx)
}

// Until polls cond every few milliseconds.
func Until(ctx context.Context, cond func() bool) error {
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !cond() {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
	}
	return nil
}

// Pause waits, unless ctx ends before.
func Pause(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-t.C:
		return nil
	}
}
