package realtime

import (
	"crypto/x509"
	"errors"
	"time"

	"conch/coordinator/turn"
)

// The world has changed: a network is there, or the clock was set. What waits for the next attempt is tried at once, an
// attempt that was made into the world before is given up, and a session that may have died without a word is asked for a
// sign of life.
//
//	Nudge ──> step ─┬─ a session: ping now         (not after pingAfter)
//	                ├─ an attempt under way: cancel it, and begin another
//	                └─ back-off: from its beginning; not before a server wants it
//
// Bound: one nudge that Run has not looked at is as good as many.

// Nudge says that an attempt which would have failed a moment ago may now succeed. It never waits.
func (c *Client) Nudge() {
	c.nudged.Store(true)
	c.poke()
}

// Call has f called by Run, as a sign that it still goes round. It never waits; false: one waits already.
func (c *Client) Call(f func()) bool {
	if !c.call.CompareAndSwap(nil, &f) {
		return false
	}
	c.poke()
	return true
}

// nudge does what the last Nudge asks for.
func (r *conversation) nudge() {
	if f := r.c.call.Swap(nil); f != nil {
		(*f)()
	}
	if !r.c.nudged.Swap(false) {
		return
	}
	if r.link != nil {
		r.link.expect()
		return
	}
	r.attempt, r.slow = 0, false
	r.retryAt = latest(time.Now(), r.notBefore)
	if r.opening && r.giveUp != nil {
		r.again = true
		r.giveUp()
	}
}

// held is asked before each attempt whether there is a reason to make none; if so it is told, and looked at again soon.
func (r *conversation) held() bool {
	if r.cfg.Hold == nil {
		return false
	}
	say := r.cfg.Hold()
	if say == "" {
		return false
	}
	if r.failing != say {
		r.failing, r.failed = say, 0
		r.log.Warn(logRetry, "held", say)
	}
	r.tell(turn.SessionLost{At: r.out.Now(), Say: say, Fatal: true})
	r.at(time.Now().Add(keyLook))
	return true
}

// clockWrong says that a server's certificate is not valid yet: no server has such a one for long, but a Pi without a network
// begins its days in the past.
func clockWrong(err error, now time.Time) bool {
	var bad x509.CertificateInvalidError
	return errors.As(err, &bad) && bad.Reason == x509.Expired && bad.Cert != nil && now.Before(bad.Cert.NotBefore)
}
