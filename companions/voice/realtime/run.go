package realtime

import (
	"context"
	"errors"
	"time"

	"conch/companions/voice"
	"conch/companions/voice/kit"
	"conch/coordinator/turn"
)

func newRun(ctx context.Context, c *Client, out voice.Outlet) *conversation {
	r := &conversation{
		c: c, cfg: &c.cfg, out: out, log: c.log, ctx: ctx, clock: clock{active: time.Now()},
		finished: make(chan *response, 8), spoken: make(chan written), responses: answers{},
		keeper: kit.NewKeeper(c.cfg.Keep, c.log),
	}
	r.connector = connector{cfg: &c.cfg, log: c.log, ctx: ctx, wg: &r.wg, wished: c.Wished, clock: &r.clock, told: kit.Told{Out: out},
		opened: make(chan openResult, 1)}
	r.sender = sender{log: c.log, full: r.drop}
	r.input = input{utterance: &c.Said, to: &r.sender, d: &r.d, clock: &r.clock, log: c.log, scratch: make([]int16, 0, rate/10)}
	r.adapt(c.cfg.Dialect)
	r.forget()
	r.history.Recall(c.cfg.Recall)
	r.keeper.Start()
	r.wg.Go(func() { c.usage.Run(ctx) })
	return r
}

// adapt takes the dialect of a session.
func (r *conversation) adapt(d Dialect) {
	r.d = d
	r.input.adapt()
}

// forget begins an empty session.
func (r *conversation) forget() {
	r.pending, r.sent = nil, sentEvents{}
	r.asked, r.seen = asked{}, seen{}
	r.items = items{calls: map[turn.CallID]callInfo{}, of: map[turn.ItemID]*itemInfo{}}
	r.input.turn, r.input.sent, r.gate = "", 0, time.Time{}
	r.counts.garbage, r.counts.unbidden = 0, 0
	clear(r.garbled[:])
}

func (r *conversation) loop() {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for r.ctx.Err() == nil {
		r.step()
		if later := r.keeper.Offer(&r.history, r.idle); !later.IsZero() {
			r.clock.wakeAt(later)
		}
		timer.Reset(time.Until(r.clock.alarm))
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
		case <-r.c.Wake:
		case m := <-in:
			r.receive(m)
		case out <- frame:
			r.pending = r.pending[:copy(r.pending, r.pending[1:])]
		case <-dead:
			r.died()
		case o := <-r.connector.opened:
			r.adopt(o)
		case resp := <-r.finished:
			resp.pumped, r.clock.active = true, time.Now()
			r.settle(resp)
		case w := <-r.spoken:
			r.said(w)
		case <-timer.C:
		}
	}
}

// shutdown ends everything that was started and waits for it.
func (r *conversation) shutdown(cancel context.CancelFunc) {
	cancel()
	r.keeper.Last(&r.history)
	for _, l := range []*link{r.link, r.connector.spare} {
		if l != nil {
			l.close()
		}
	}
	r.wg.Wait()
	select {
	case o := <-r.connector.opened:
		if o.link != nil {
			o.link.close()
		}
	default:
	}
}

// step does all that can be done now.
func (r *conversation) step() {
	r.clock.alarm = time.Now().Add(time.Hour)
	orders, overflow := r.c.Orders()
	for _, o := range orders {
		r.take(o)
	}
	if overflow {
		r.log.Error(logOverflow, "limit", kit.MaxOrders)
		r.plan.empty()
		r.drop(errors.New("orders came faster than they could be carried out"))
	}
	r.nudge()
	if r.link == nil {
		if l := r.connector.next(); l != nil {
			r.begin(l)
		}
	}
	r.renew()
	if r.link != nil {
		r.rewish()
	}
	r.settleDoubt()
	r.advance()
	if t := r.input.sendSilence(&r.asked); t != "" {
		r.commitRefused(t)
	}
}

// rewish tells the session what is wished otherwise than when it was described.
func (r *conversation) rewish() {
	was, now := r.link.wished, r.c.Wished()
	r.link.wished = now
	if was.Version != now.Version {
		r.send(sentEvent{kind: sentSession}, func(id string) any { return r.d.retool(id, now.Tools) })
	}
	if was.Names != now.Names && r.d.Prompts && r.c.cfg.scribe(&r.d) != "" && r.link.omitted.parts&(partTranscription|partNamed) == 0 {
		r.send(sentEvent{kind: sentSession}, func(id string) any { return r.c.cfg.rescribe(&r.d, id, now.Names) })
	}
}

// nudge does what the last Call and the last Nudge ask for.
func (r *conversation) nudge() {
	switch nudged := r.c.Called(); {
	case !nudged:
	case r.link != nil:
		r.link.expect() // it may have died without a word
	default:
		r.connector.nudge()
	}
}
