package device

import (
	"context"
	"runtime/debug"
	"time"
)

// restTick is how often rest looks whether the device idles: it idles after two looks in a row.
const restTick = 5 * time.Second

// rest returns memory to the kernel when the device begins to idle, after its start and after turns.
type rest struct {
	quiet func() bool
	turns func() uint64 // how many turns have ended
	free  func()
}

// run is the goroutine.
func (r rest) run(ctx context.Context) error {
	look := time.NewTicker(restTick)
	defer look.Stop()
	owed, was, turns := true, false, r.turns()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-look.C:
		}
		quiet, now := r.quiet(), r.turns()
		owed = owed || !quiet || now != turns
		idle := quiet && was && now == turns
		was, turns = quiet, now
		if owed && idle {
			r.free()
			owed = false
		}
	}
}

// rest is that of this device. The collector alone would keep a third of the heap as garbage for hours.
func (d *Device) rest() rest {
	return rest{quiet: d.Quiet, turns: d.turns.Load, free: debug.FreeOSMemory}
}
