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
	KeyLook        = 5 * time.Second
	stableAfter    = 10 * time.Second // a session that lived this long resets the back-off
)

// Backoff decides when the next attempt at a session is made (TURNS.md 6). It knows neither clock nor chance: both are given.
//
//	an attempt failed         150 ms later, doubled each time up to 5 s, half of it by chance
//	by a refusal              30 s later; a person who mends it need not wait for them: slow
//	the server says when      not before that, whatever else happens but Insist
//	a turn has begun          at once, once a turn, but for 150 ms since the last attempt and a refusal
//	the world has changed     at once, and from the beginning
//	a session that lasted     the next failure is the first again
type Backoff struct {
	At        time.Time // of the next attempt
	Slow      bool      // the last one was refused
	attempt   int
	Last      time.Time // one began
	notBefore time.Time // the server wants none earlier
	failed    time.Time // the last one did
	hurried   turn.ID   // the turn for which one was made at once
}

// Fail notes an attempt that failed; slow: by a refusal.
func (b *Backoff) Fail(now time.Time, slow bool, chance func(time.Duration) time.Duration) {
	wait := min(BackoffMin<<min(b.attempt, 10), BackoffMax)
	b.attempt++
	b.failed = now
	if b.Slow = slow; slow {
		wait = BackoffRefused
	}
	b.At = now.Add(wait/2 + chance(wait/2))
}

// Hint puts the next attempt off as the server wants it; ours goes on growing, so that "one second" is not asked for ever
// every second.
func (b *Backoff) Hint(now time.Time, after time.Duration, chance func(time.Duration) time.Duration) {
	b.notBefore = now.Add(after + chance(after/10+1))
	b.At = latest(b.At, b.notBefore)
}

// Hurry tries at once for a turn that has begun without a session. It waits for one for five seconds only, which a back-off
// that has grown to five seconds would use up.
func (b *Backoff) Hurry(t turn.ID) {
	if b.Slow || t == "" || t == b.hurried {
		return
	}
	b.hurried, b.attempt = t, 0
	if soon := latest(b.Last.Add(BackoffMin), b.notBefore); soon.Before(b.At) {
		b.At = soon
	}
}

// Insist tries at once for a person who asks, whatever the server wanted, if the last failure is as long ago as the wait after a refusal: who
// says an hour may be well in a minute, and a person may have paid.
func (b *Backoff) Insist(now time.Time) {
	if now.Sub(latest(b.failed, b.Last)) >= BackoffRefused && now.Before(b.At) {
		b.At = now
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
