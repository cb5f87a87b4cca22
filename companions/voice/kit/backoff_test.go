package kit

import (
	"testing"
	"time"

	"conch/coordinator/turn"
)

// When the next attempt at a session is made, after what happened, with the least that chance adds.
func TestBackoff(t *testing.T) {
	t0 := time.Unix(1000, 0)
	none := func(time.Duration) time.Duration { return 0 }
	fail := func(b *Backoff, now time.Time) { b.Last = now; b.Fail(now, false, none) }
	refuse := func(b *Backoff, now time.Time) { b.Last = now; b.Fail(now, true, none) }
	times := func(n int, f func(*Backoff, time.Time)) func(*Backoff, time.Time) {
		return func(b *Backoff, now time.Time) {
			for range n {
				f(b, now)
			}
		}
	}
	begins := func(id turn.ID) func(*Backoff, time.Time) { return func(b *Backoff, _ time.Time) { b.Hurry(id) } }
	hint := func(b *Backoff, now time.Time) { b.Hint(now, 20*time.Second, none) }
	lasts := func(d time.Duration) func(*Backoff, time.Time) { return func(b *Backoff, _ time.Time) { b.Lasted(d) } }
	long := func(b *Backoff, now time.Time) { b.Hint(now, time.Hour, none) }
	changed := func(b *Backoff, now time.Time) { b.Anew(now) }

	for _, row := range []struct {
		name string
		do   []func(*Backoff, time.Time)
		want time.Duration
	}{
		{"the first failure", []func(*Backoff, time.Time){fail}, 75 * time.Millisecond},
		{"the third", []func(*Backoff, time.Time){times(3, fail)}, 300 * time.Millisecond},
		{"the hundredth", []func(*Backoff, time.Time){times(100, fail)}, 2500 * time.Millisecond},
		{"a refusal", []func(*Backoff, time.Time){refuse}, 15 * time.Second},
		{"the server says when", []func(*Backoff, time.Time){fail, hint}, 20 * time.Second},
		{"a turn begins", []func(*Backoff, time.Time){times(9, fail), begins("t-1")}, 150 * time.Millisecond},
		{"the same turn, after one more failure", []func(*Backoff, time.Time){times(9, fail), begins("t-1"), times(6, fail), begins("t-1")}, 2400 * time.Millisecond},
		{"a turn begins after a refusal", []func(*Backoff, time.Time){refuse, begins("t-1")}, BackoffAsked},
		{"the same turn, after it was refused again", []func(*Backoff, time.Time){refuse, begins("t-1"), refuse, begins("t-1")}, 15 * time.Second},
		{"a turn begins before the server wants it", []func(*Backoff, time.Time){fail, hint, begins("t-1")}, BackoffAsked},
		{"a turn begins within an hour that the server wants", []func(*Backoff, time.Time){refuse, long, begins("t-1")}, BackoffAsked},
		{"the world changes", []func(*Backoff, time.Time){refuse, changed}, 0},
		{"the world changes before the server wants it", []func(*Backoff, time.Time){fail, hint, changed}, 20 * time.Second},
		{"a failure after the world has changed", []func(*Backoff, time.Time){times(9, fail), changed, fail}, 75 * time.Millisecond},
		{"a session that lasted is lost", []func(*Backoff, time.Time){times(9, fail), lasts(stableAfter), fail}, 75 * time.Millisecond},
		{"a short one is lost", []func(*Backoff, time.Time){times(9, fail), lasts(time.Second), fail}, 2500 * time.Millisecond},
	} {
		var b Backoff
		for _, f := range row.do {
			f(&b, t0)
		}
		if got := b.At.Sub(t0); got != row.want {
			t.Errorf("%s: the next attempt after %v; want %v", row.name, got, row.want)
		}
	}
}
