package device

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

// beginAnew lets what is being said sound, and a person who talks or types come to an end; then run ends with ErrRestart.
func (p *pairer) beginAnew(ctx context.Context) {
	p.said(ctx)
	c, cancel := context.WithTimeout(ctx, restartPatience)
	defer cancel()
	_ = wait.Until(c, func() bool { return (p.d.opts.Typing == nil || !p.d.opts.Typing()) && p.d.Quiet() })
	if ctx.Err() == nil {
		p.step(stepRestart)
		p.d.restarting.Store(true)
		close(p.again)
	}
}

// logRestart: this device has become another one on disk.
const logRestart = "device.restart"
