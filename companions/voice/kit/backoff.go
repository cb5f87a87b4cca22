package kit

import (
	"time"

	"conch/coordinator/turn"
)

// Bounds of it; our choices.
const (
	BackoffMin     = 150 * time.Millisecond
	BackoffMax     = 5 * time.Second
	BackoffRefused = 30 * time.Second // wrong key or no quota; a changed key is tried within KeyLook
	BackoffAsked   = time.Second      // between two attempts that a user asks for, at a server that has refused
	KeyLook        = 5 * time.Second
	stableAfter    = 10 * time.Second // a session that lived this long resets the back-off
)

// Backoff decides when the next attempt at a session is made (TURNS.md 6). It knows neither clock nor chance: both are given.
//
//	an attempt failed         150 ms later, doubled each time up to 5 s, half of it by chance
//	by a refusal              30 s later; a person who mends it need not wait for them: slow
//	the server says when      not before that, but for a turn
//	a turn has begun          at once, once a turn, but for 150 ms since the last attempt, or 1 s where the server refused
//	the world has changed     at once, and from the beginning
//	a session that lasted     the next failure is the first again
type Backoff struct {
	At        time.Time // of the next attempt
	Slow      bool      // the last one was refused
	attempt   int
	Last      time.Time // one began
	notBefore time.Time // the server wants none earlier
	hurried   turn.ID   // the turn for which one was made at once
}

// Fail notes an attempt that failed; slow: by a refusal.
func (b *Backoff) Fail(now time.Time, slow bool, chance func(time.Duration) time.Duration) {
	wait := min(BackoffMin<<min(b.attempt, 10), BackoffMax)
	b.attempt++
	if b.Slow = slow; slow {
		wait = BackoffRefused
	}
	b.At = now.Add(wait/2 + chance(wait/2))
}

// Failed counts the attempts that failed since the last one that lasted.
func (b *Backoff) Failed() int { return b.attempt }

// Hint puts the next attempt off as the server wants it; ours goes on growing, so that "one second" is not asked for ever
// every second.
func (b *Backoff) Hint(now time.Time, after time.Duration, chance func(time.Duration) time.Duration) {
	b.notBefore = now.Add(after + chance(after/10+1))
	b.At = latest(b.At, b.notBefore)
}

// Hurry tries at once for a turn that has begun without a session, whatever the server wanted: it may be well by now, the user may have paid,
// and the turn waits for five seconds only.
func (b *Backoff) Hurry(t turn.ID) {
	if t == "" || t == b.hurried {
		return
	}
	b.hurried, b.attempt = t, 0
	after := BackoffMin
	if b.Slow || b.notBefore.After(b.Last) {
		after = BackoffAsked
	}
	if soon := b.Last.Add(after); soon.Before(b.At) {
		b.At = soon
	}
}

// Anew tries at once: the world has changed.
func (b *Backoff) Anew(now time.Time) {
	b.attempt, b.Slow = 0, false
	b.At = latest(now, b.notBefore)
}

// Lasted notes how long a session was there.
func (b *Backoff) Lasted(d time.Duration) {
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
