package realtime

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"conch/coordinator/turn"
)

// How sessions begin, end, break and are renewed.

// connect opens a session when there is none and its time has come.
func (r *conversation) connect() {
	if r.link != nil || r.opening {
		return
	}
	if r.spare != nil {
		l := r.spare
		r.spare = nil
		r.begin(l)
		return
	}
	if wait := time.Until(r.retryAt); wait > 0 {
		if r.slow && r.cfg.Key() != r.usedKey { // somebody mended the key
			r.slow = false
		} else {
			if r.slow {
				r.at(time.Now().Add(min(wait, keyLook)))
			} else {
				r.at(r.retryAt)
			}
			return
		}
	}
	if r.held() {
		return
	}
	r.open()
}

func (r *conversation) open() {
	r.opening, r.usedKey, r.tried = true, r.cfg.Key(), time.Now()
	key := r.usedKey
	specs, version := r.c.currentTools()
	without := r.without
	ctx, giveUp := context.WithCancel(r.ctx)
	r.giveUp = giveUp
	r.wg.Go(func() {
		defer giveUp()
		l, err := r.cfg.open(ctx, key, specs, without)
		if l != nil {
			l.tools = version
		}
		r.opened <- openResult{l, err} // of one, and one opener at a time
	})
}

func (r *conversation) adopt(o openResult) {
	r.opening = false
	if again := r.again; o.err != nil && again {
		r.again = false
		return // step begins the next
	}
	r.again, r.without = false, 0
	if o.err == nil {
		if r.link != nil {
			r.spare = o.link
		} else {
			r.begin(o.link)
		}
		return
	}
	if r.ctx.Err() != nil {
		return
	}
	lost := turn.SessionLost{At: r.out.Now()}
	lost.Say, lost.Fatal = wordsOf(o.err, r.cfg.Wall())
	var no *refused
	if errors.As(o.err, &no) && no.bend != 0 { // it hung up on what it refused; the next attempt leaves that out
		r.without = no.bend
		r.backoff(false)
		r.retrying(lost.Say, o.err)
		return
	}
	hinted := no != nil && no.after > 0 && !lost.Fatal
	r.backoff(!hinted && (lost.Fatal || waits(lost.Say)))
	if hinted { // not before that; and ours goes on growing, so that "one second" is not asked for ever every second
		r.notBefore = time.Now().Add(no.after + rand.N(no.after/10+1))
		r.retryAt = latest(r.retryAt, r.notBefore)
	}
	r.retrying(lost.Say, o.err)
	if r.link == nil {
		r.tell(lost)
	}
}

// hurry tries at once for a turn that has begun without a session. It waits for one for five seconds only (TURNS.md 6),
// which a back-off that has grown to five seconds would use up. Once a turn, and not before a server wants it.
func (r *conversation) hurry(t turn.ID) {
	if r.link != nil || r.slow || t == "" || t == r.hurried {
		return
	}
	r.hurried, r.attempt = t, 0
	if soon := latest(r.tried.Add(backoffMin), r.notBefore); soon.Before(r.retryAt) {
		r.retryAt = soon
	}
}

func latest(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// retrying says why an attempt failed: when a person would be told something new, then at the 2nd, 4th, 8th … alike. A
// week without a network is some twenty lines, not a hundred thousand. (The text itself differs each time, by a port.)
func (r *conversation) retrying(say turn.Words, err error) {
	if say != r.failing {
		r.failing, r.failed = say, 0
	}
	if r.failed++; r.failed&(r.failed-1) == 0 {
		r.log.Warn(logRetry, "err", err, "times", r.failed, "in", time.Until(r.retryAt).Round(time.Millisecond))
	}
}

// backoff sets the next attempt: 150 ms to 5 s, doubled each time, half of it by chance (TURNS.md 6).
func (r *conversation) backoff(slow bool) {
	wait := min(backoffMin<<min(r.attempt, 10), backoffMax)
	r.attempt++
	if r.slow = slow; slow {
		wait = backoffRefused
	}
	r.retryAt = time.Now().Add(wait/2 + rand.N(wait/2))
}

// begin makes l the session: what was said before, then what the turn still asks for.
func (r *conversation) begin(l *link) {
	r.forget()
	r.link = l
	r.speaking(l.dialect)
	r.owed = nil
	r.failing, r.failed = "", 0
	r.history.carry(r.plan.brings())
	for _, e := range r.history.entries {
		r.send(sentEvent{kind: sentHistory}, func(id string) any { return r.d.text(id, e.role, e.text) })
	}
	if t, n := r.plan.restart(); n > 0 {
		r.log.Info(logResent, "turn", t, "requests", n)
	}
	r.log.Info(logReady, "dialect", r.d.Name, "carried", len(r.history.entries))
	left := l.bent.parts.names()
	if len(left) > 0 {
		r.log.Warn(logBent, "without", left, "err", l.bent.why)
	}
	if r.cfg.Bent != nil {
		r.cfg.Bent(left, l.bent.why)
	}
	if !r.ready {
		r.ready, r.lastLost = true, nil
		r.out.Post(turn.SessionReady{At: r.out.Now()})
	}
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
	if time.Since(l.born) >= stableAfter {
		r.attempt = 0
	}
	r.backoff(false)
	lost := turn.SessionLost{At: r.out.Now(), Say: turn.WordsOffline}
	no := closing(why)
	if no != nil || errors.As(why, &no) {
		lost.Say, lost.Fatal = no.words()
		if no.code == codeExpired {
			lost.Say = turn.WordsOffline
			r.retryAt = time.Now()
		}
		if lost.Fatal || waits(lost.Say) {
			r.backoff(true)
		}
	}
	r.at(r.retryAt) // step may be beyond connect
	r.log.Warn(logLost, "err", why, "age", time.Since(l.born).Round(time.Second), "in", time.Until(r.retryAt).Round(time.Millisecond))
	r.forget()
	if speaking && !lost.Fatal {
		r.owed = &lost
	} else {
		r.tell(lost)
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

// reasonKept is how long a server's refusal is not overruled by attempts that only fail: longer than a turn waits and the
// longest back-off. Our choice.
const reasonKept = 12 * time.Second

// tell posts SessionLost, once until something changes.
func (r *conversation) tell(lost turn.SessionLost) {
	if l := r.lastLost; l != nil {
		if l.Say == lost.Say {
			r.toldAt = time.Now()
			return
		}
		if lost.Say == turn.WordsOffline && time.Since(r.toldAt) < reasonKept {
			return // what the server said is the better reason
		}
	}
	r.toldAt = time.Now()
	r.owed = nil
	r.ready, r.lastLost = false, &lost
	r.out.Post(lost)
}

// renew opens the next session while nothing happens, long before the server ends this one (60 min), and changes over.
func (r *conversation) renew() {
	if r.link == nil {
		return
	}
	due := r.link.born.Add(r.cfg.RenewAfter)
	if wait := time.Until(due); wait > 0 {
		r.at(due)
		return
	}
	if !r.idle() {
		if time.Since(r.active) > abandonAfter && len(r.pending) == 0 {
			r.log.Warn(logImpatient, "busy", r.responses.busy(&r.asked))
			r.responses.abandon()
			r.asked.creates, r.asked.commits = nil, nil
		}
		r.at(time.Now().Add(time.Second))
		return
	}
	if quiet := time.Until(r.active.Add(renewQuiet)); quiet > 0 {
		r.at(r.active.Add(renewQuiet))
		return
	}
	switch {
	case r.spare != nil:
		old := r.link
		l := r.spare
		r.spare = nil
		if l.ctx.Err() != nil {
			r.wg.Go(l.close)
			return
		}
		r.plan.empty()
		r.wg.Go(old.close)
		r.begin(l)
		r.log.Info(logRenewed, "age", time.Since(old.born).Round(time.Second))
	case !r.opening && time.Now().After(r.retryAt):
		r.open()
	default:
		r.at(time.Now().Add(time.Second))
	}
}

func (r *conversation) idle() bool {
	return len(r.responses) == 0 && len(r.asked.creates) == 0 && len(r.asked.commits) == 0 && r.plan.due() == nil && len(r.pending) == 0
}
