package coordinator

import (
	"context"
	"errors"
	"sync"

	"conch/coordinator/turn"
)

// ErrBusy: a call is on, or rings.
var ErrBusy = errors.New("coordinator: a call is on already, or rings")

// callOffer is a claim that is to ring; the runner answers with its handle, or with zero.
type callOffer struct {
	claim  ClaimFunc
	handle chan turn.Handle
}

// Offer has a call ring: a press begins the claim, and no turn (TURNS.md 4). withdraw ends the ringing, if it rings still, and does not wait;
// then, and if a person refuses it, the claim ends as one that never began. Offer waits for the runner, so it is not for its callbacks.
func (c *Coordinator) Offer(ctx context.Context, claim ClaimFunc) (withdraw func(), err error) {
	o := callOffer{claim, make(chan turn.Handle, 1)}
	gone := func(h turn.Handle) { c.Post(turn.CallGone{At: c.Now(), Handle: h}) }
	if !c.inbox.post(entry{of: o}) {
		return nil, ErrBusy
	}
	select {
	case h := <-o.handle:
		if h == 0 {
			return nil, ErrBusy
		}
		return sync.OnceFunc(func() { gone(h) }), nil
	case <-ctx.Done():
		c.Call(func() { gone(<-o.handle) }) // it comes behind the offer, and finds the answer
		return nil, ctx.Err()
	}
}

// offered has a call ring, unless one is on.
func (r *runner) offered(o callOffer) {
	if r.m.InCall() || r.m.Ringing() {
		o.handle <- 0
		return
	}
	id := r.c.o.NewID()
	h := r.handles.keep(id, ToolResult{Effect: turn.EffectInputClaim, Claim: o.claim})
	o.handle <- h
	if h != 0 {
		r.log.Info(logCallRings, "turn", id, "handle", uint64(h))
		r.fact(turn.CallRings{At: r.now(), Turn: id, Handle: h})
	}
}
