package audio

import (
	"sync"
	"time"
)

// hour counts what happened within the last one, a minute at a time.
type hour struct {
	began time.Time

	mu      sync.Mutex
	minutes [60]uint64
	newest  int64 // minute since began
}

func (h *hour) add(n uint64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.pass()
	h.minutes[h.newest%60] += n
}

func (h *hour) sum() (n uint64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.pass()
	for _, m := range h.minutes {
		n += m
	}
	return n
}

// pass forgets the minutes that are more than an hour ago. Needs mu.
func (h *hour) pass() {
	now := int64(time.Since(h.began) / time.Minute)
	for m := max(h.newest, now-60) + 1; m <= now; m++ {
		h.minutes[m%60] = 0
	}
	h.newest = now
}
