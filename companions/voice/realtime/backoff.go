package realtime

import (
	"time"

	"conch/coordinator/turn"
)

// backoff decides when the next attempt at a session is made (TURNS.md 6). It knows neither clock nor chance: both are given.
//
//	an attempt failed         150 ms later, doubled each time up to 5 s, half of it by chance
//	by a refusal              30 s later; a person who mends it need not wait for them: slow
//	the server says when      not before that, whatever else happens
//	a turn has begun          at once, once a turn, but for 150 ms since the last attempt and a refusal
//	the world has changed     at once, and from the beginning
//	a session that lasted     the next failure is the first again
type backoff struct {
	at        time.Time // of the next attempt
	slow      bool      // the last one was refused
	attempt   int
	last      time.Time // one began
	notBefore time.Time // the server wants none earlier
	hurried   turn.ID   // the turn for which one was made at once
}

func (b *backoff) fail(now time.Time, slow bool, chance func(time.Duration) time.Duration) {
	wait := min(backoffMin<<min(b.attempt, 10), backoffMax)
	b.attempt++
	if b.slow = slow; slow {
		wait = backoffRefused
	}
	b.at = now.Add(wait/2 + chance(wait/2))
}

// hint puts the next attempt off as the server wants it; ours goes on growing, so that "one second" is not asked for ever
// every second.
func (b *backoff) hint(now time.Time, after time.Duration, chance func(time.Duration) time.Duration) {
	b.notBefore = now.Add(after + chance(after/10+1))
	b.at = latest(b.at, b.notBefore)
}

// hurry tries at once for a turn that has begun without a session. It waits for one for five seconds only, which a back-off
// that has grown to five seconds would use up.
func (b *backoff) hurry(t turn.ID) {
	if b.slow || t == "" || t == b.hurried {
		return
	}
	b.hurried, b.attempt = t, 0
	if soon := latest(b.last.Add(backoffMin), b.notBefore); soon.Before(b.at) {
		b.at = soon
	}
}

func (b *backoff) anew(now time.Time) {
	b.attempt, b.slow = 0, false
	b.at = latest(now, b.notBefore)
}

func (b *backoff) lasted(d time.Duration) {
	if d >= stableAfter {
		b.attempt = 0
	}
}

func latest(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// clock is when something is due, and when something was.
type clock struct {
	alarm  time.Time // step must run again without a cause
	active time.Time // something of a conversation happened
}

func (c *clock) wakeAt(t time.Time) {
	if t.Before(c.alarm) {
		c.alarm = t
	}
}
