package join

import (
	"context"
	"errors"
	"time"

	"conch/device/wait"
)

// ErrRestart is how Run ends when the device has become another one on disk, a member of a room or of none: whoever ran it runs it
// anew. `conch run` becomes itself again (exec, the same process), a rehearsal makes a new device.
var ErrRestart = errors.New("begin anew")

// restartPatience bounds the wait for a turn, or a half-typed line, that is in the way of beginning anew. Our choice: longer than a
// question and its answer take.
const restartPatience = 90 * time.Second

// Restart lets what is being said sound, and a person who talks or types come to an end; then this device's parts end with ErrRestart.
func (p *Pairing) Restart(ctx context.Context) {
	p.ending.Store(true)
	p.speech.said(ctx)
	c, cancel := context.WithTimeout(ctx, restartPatience)
	defer cancel()
	_ = wait.Until(c, p.host.Quiet)
	if ctx.Err() == nil {
		p.step(StepRestart)
		close(p.again)
	}
}

// Restarts says that this device will begin anew, once nobody talks or types.
func (p *Pairing) Restarts() bool { return p.ending.Load() }
