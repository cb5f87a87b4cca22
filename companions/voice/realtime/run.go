package realtime

import (
	"context"
	"errors"
	"time"

	"conch/companions/voice"
	"conch/coordinator/turn"
)

func newRun(ctx context.Context, c *Client, out voice.Outlet) *conversation {
	r := &conversation{
		c: c, cfg: &c.cfg, out: out, log: c.log, ctx: ctx,
		opened: make(chan openResult, 1), finished: make(chan *response, 8),
		responses: answers{}, scratch: make([]int16, 0, rate/10), active: time.Now(),
	}
	r.speaking(c.cfg.Dialect)
	r.forget()
	r.history.recall(c.cfg.Recall)
	r.toKeep = make(chan []voice.Line, 1)
	if c.cfg.Keep != nil {
		r.keepers.Go(r.keeper)
	}
	r.wg.Go(func() { c.saver(ctx) })
	return r
}

// forget begins an empty session.
func (r *conversation) forget() {
	r.pending, r.asked = nil, asked{}
	r.seen, r.sent = seen{}, sentEvents{}
	r.calls, r.items = map[turn.CallID]callInfo{}, map[turn.ItemID]*itemInfo{}
	r.voice, r.spoken, r.gate = "", 0, time.Time{}
	r.counts.Garbage, r.counts.Unbidden = 0, 0
	clear(r.garbled[:])
}

func (r *conversation) loop() {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for r.ctx.Err() == nil {
		r.step()
		r.keep()
		timer.Reset(time.Until(r.alarm))
		var in <-chan message
		var dead <-chan struct{}
		var out chan<- []byte
		var frame []byte
		if r.link != nil {
			in, dead = r.link.in, r.link.ctx.Done()
			if len(r.pending) > 0 {
				out, frame = r.link.out, r.pending[0]
			}
		}
		select {
		case <-r.ctx.Done():
		case <-r.c.wake:
		case m := <-in:
			r.receive(m)
		case out <- frame:
			r.pending = r.pending[:copy(r.pending, r.pending[1:])]
		case <-dead:
			r.died()
		case o := <-r.opened:
			r.adopt(o)
		case resp := <-r.finished:
			resp.pumped, r.active = true, time.Now()
			r.settle(resp)
		case <-timer.C:
		}
	}
}

// shutdown ends everything that was started and waits for it.
func (r *conversation) shutdown(cancel context.CancelFunc) {
	cancel()
	if r.cfg.Keep != nil && r.history.changes != r.kept {
		r.keepNow()
	}
	close(r.toKeep)
	for _, l := range []*link{r.link, r.spare} {
		if l != nil {
			l.close()
		}
	}
	r.wg.Wait()
	r.keepers.Wait()
	select {
	case o := <-r.opened:
		if o.link != nil {
			o.link.close()
		}
	default:
	}
}

// step does all that can be done now.
func (r *conversation) step() {
	r.alarm = time.Now().Add(time.Hour)
	orders, overflow := r.c.takeOrders()
	for _, o := range orders {
		r.take(o)
	}
	if overflow {
		r.log.Error(logOverflow, "limit", maxOrders)
		r.plan.empty()
		r.drop(errors.New("orders came faster than they could be carried out"))
	}
	r.nudge()
	r.connect()
	r.renew()
	if r.link != nil {
		if specs, version := r.c.currentTools(); r.link.tools != version {
			r.link.tools = version
			r.send(sentEvent{kind: sentSession}, func(id string) any { return r.d.retool(id, specs) })
		}
	}
	r.advance()
	r.sendSilence()
}

func (r *conversation) at(t time.Time) {
	if t.Before(r.alarm) {
		r.alarm = t
	}
}
