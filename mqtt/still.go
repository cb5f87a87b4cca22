package mqtt

import (
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
	if gap := now - w.seen; gap > witness+Lateness {
		w.stood += gap - witness
	}
	w.seen = max(w.seen, now)
	return now - w.stood
}

// Lateness is how much later than a deadline a process that runs comes to see that it has passed, or to read a clock.
const Lateness = 50 * time.Millisecond
