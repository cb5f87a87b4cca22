package mqtt

import (
	"errors"
	"net"
	"os"
	"sync"
	"time"
)

// wakeful is a clock that stands while this process does. Somebody reads it at least once a witness: a longer gap was no time in which
// anything could be done.
type wakeful struct {
	mu    sync.Mutex
	seen  time.Duration
	stood time.Duration
}

const witness = time.Second

// at is what the clock shows when it is now.
func (w *wakeful) at(now time.Duration) time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	if gap := now - w.seen; gap > witness+lateness {
		w.stood += gap - witness
	}
	w.seen = max(w.seen, now)
	return now - w.stood
}

// lateness is how much later than a deadline a process that runs comes to see that it has passed, or to read a clock.
const lateness = 50 * time.Millisecond

// mercy is how often in a row a deadline is forgiven: on a machine that is always late somebody may be gone all the same.
const mercy = 3

// forgiving is a connection whose deadlines (those of SetDeadline) do not count the time in which this process stood still, as it does under
// SIGSTOP or on a machine that is busy with something else: what the other side sent meanwhile waits to be read, and it would be put out for
// a silence that was ours. Who is really silent
// goes a little later.
type forgiving struct {
	net.Conn

	mu       sync.Mutex
	due      time.Time     // zero: nothing is forgiven
	patience time.Duration // from when due was set
	forgiven int           // how often
	both     bool          // due is for writing, too
}

func (f *forgiving) SetDeadline(t time.Time) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.due, f.patience, f.forgiven, f.both = t, time.Until(t), 0, true
	return f.Conn.SetDeadline(t)
}

func (f *forgiving) SetReadDeadline(t time.Time) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.due, f.both = time.Time{}, false
	return f.Conn.SetReadDeadline(t)
}

func (f *forgiving) SetWriteDeadline(t time.Time) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.both = false
	return f.Conn.SetWriteDeadline(t)
}

func (f *forgiving) Read(b []byte) (int, error) {
	for {
		n, err := f.Conn.Read(b)
		if n > 0 || !errors.Is(err, os.ErrDeadlineExceeded) || !f.again(false) {
			return n, err
		}
	}
}

func (f *forgiving) Write(b []byte) (int, error) {
	sent := 0
	for {
		n, err := f.Conn.Write(b[sent:])
		sent += n
		if err == nil || !errors.Is(err, os.ErrDeadlineExceeded) || !f.again(true) {
			return sent, err
		}
	}
}

// again says whether what has met its deadline may be tried again.
func (f *forgiving) again(write bool) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	now := time.Now()
	switch {
	case f.due.IsZero() || write && !f.both:
		return false
	case now.Before(f.due): // there is a new one
		return true
	case f.forgiven == mercy || now.Sub(f.due) < lateness:
		return false
	}
	f.forgiven++
	f.due = now.Add(f.patience)
	if f.both {
		return f.Conn.SetDeadline(f.due) == nil
	}
	return f.Conn.SetReadDeadline(f.due) == nil
}
