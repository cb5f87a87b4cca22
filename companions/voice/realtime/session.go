package realtime

import (
	"context"
	"time"

	"conch/coordinator/turn"
)

// How sessions begin, end and are renewed.

// adopt takes what an opener brings.
func (r *conversation) adopt(o openResult) {
	switch lost := r.connector.attempted(o); {
	case lost != nil && r.link == nil:
		r.connector.told.Lost(*lost)
	case o.link == nil:
	case r.link == nil:
		r.begin(o.link)
	default:
		r.connector.spare = o.link
	}
}

// begin makes l the session: what was said before, then what the turn still asks for.
func (r *conversation) begin(l *link) {
	r.forget()
	r.link = l
	r.adapt(l.dialect)
	r.connector.failing, r.connector.failed = "", 0
	r.history.Carry(r.plan.brings())
	for _, e := range r.history.Entries {
		r.send(sentEvent{kind: sentHistory}, func(id string) any { return r.d.text(id, e.Role, e.Text) })
	}
	if t, n := r.plan.restart(); n > 0 {
		r.log.Info(logResent, "turn", t, "requests", n)
	}
	r.log.Info(logReady, "dialect", r.d.Name, "carried", len(r.history.Entries))
	left := l.omitted.parts.names()
	if len(left) > 0 {
		r.log.Warn(logOmitted, "without", left, "err", l.omitted.why)
	}
	if r.cfg.Omitted != nil {
		r.cfg.Omitted((l.omitted.parts &^ r.cfg.unasked()).names(), l.omitted.why)
	}
	r.connector.told.Ready()
}

// died hears the link's last messages, then lets it go.
func (r *conversation) died() {
	l := r.link
	for r.link == l {
		select {
		case m := <-l.in:
			r.receive(m)
			continue
		default:
		}
		r.drop(context.Cause(l.ctx))
	}
}

// drop gives the session up.
func (r *conversation) drop(why error) {
	l := r.link
	if l == nil {
		return
	}
	r.link = nil
	r.wg.Go(l.close)
	broken, speaking := r.breakOff()
	untold := r.plan.repeat(&r.asked, &r.history)
	for _, u := range untold {
		r.log.Warn(logGivenUp, "turn", u.turn)
	}
	lost := r.connector.broke(time.Since(l.born), why)
	r.forget()
	if speaking && !lost.Fatal {
		r.connector.told.Owed = &lost
	} else {
		r.connector.told.Lost(lost)
	}
	for _, p := range broken {
		r.settle(p)
	}
	for _, u := range untold {
		if u.asked {
			r.out.Post(turn.ResponseRefused{At: r.out.Now(), Turn: u.turn, Say: turn.WordsNoAnswer})
		} else {
			r.out.Post(turn.InputRefused{At: r.out.Now(), Turn: u.turn})
		}
	}
}

// renew opens the next session while nothing happens, long before the server ends this one (60 min), and changes over.
func (r *conversation) renew() {
	if r.link == nil {
		return
	}
	due := r.link.born.Add(r.cfg.RenewAfter)
	if wait := time.Until(due); wait > 0 {
		r.clock.wakeAt(due)
		return
	}
	if !r.idle() {
		if time.Since(r.clock.active) > abandonAfter && len(r.pending) == 0 {
			r.log.Warn(logImpatient, "busy", r.responses.busy(&r.asked))
			r.responses.abandon()
			r.asked.creates, r.asked.commits = nil, nil
		}
		r.clock.wakeAt(time.Now().Add(time.Second))
		return
	}
	if quiet := time.Until(r.clock.active.Add(renewQuiet)); quiet > 0 {
		r.clock.wakeAt(r.clock.active.Add(renewQuiet))
		return
	}
	switch c := &r.connector; {
	case c.spare != nil:
		old := r.link
		l := c.spare
		c.spare = nil
		if l.ctx.Err() != nil {
			r.wg.Go(l.close)
			return
		}
		r.plan.empty()
		r.wg.Go(old.close)
		r.begin(l)
		r.log.Info(logRenewed, "age", time.Since(old.born).Round(time.Second))
	case !c.opening && time.Now().After(c.At):
		c.open()
	default:
		r.clock.wakeAt(time.Now().Add(time.Second))
	}
}

func (r *conversation) idle() bool {
	return len(r.responses) == 0 && len(r.asked.creates) == 0 && len(r.asked.commits) == 0 && r.plan.due() == nil && len(r.pending) == 0
}
