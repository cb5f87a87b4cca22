package companions

import (
	"context"
	"sync"

	"conch/companions/round"
)

// Bounds of those who watch.
const (
	maxWatchers  = 32 // at the bound: a channel that is closed already
	watchEntries = 64 // that wait for one watcher; at the bound the oldest is dropped and counted
)

// watchers are those who see the ledger's entries as they happen.
type watchers struct {
	mu      sync.Mutex
	of      map[chan round.Entry]func() bool // with what stops waiting for its context
	shut    bool
	dropped uint64
	refused uint64
}

// Watch gives the ledger's entries of this device as they happen, until ctx or Run ends; then the channel is closed. A
// watcher that does not keep up loses the oldest entries.
func (r *Room) Watch(ctx context.Context) <-chan round.Entry { return r.watchers.add(ctx) }

func (w *watchers) add(ctx context.Context) <-chan round.Entry {
	c := make(chan round.Entry, watchEntries)
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.shut || len(w.of) >= maxWatchers {
		w.refused++
		close(c)
		return c
	}
	if w.of == nil {
		w.of = map[chan round.Entry]func() bool{}
	}
	w.of[c] = context.AfterFunc(ctx, func() { w.remove(c) })
	return c
}

func (w *watchers) remove(c chan round.Entry) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if _, ok := w.of[c]; ok {
		delete(w.of, c)
		close(c)
	}
}

// tell hands an entry to everybody. Only the room's goroutine sends, so after one is taken out there is a place.
func (w *watchers) tell(e round.Entry) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for c := range w.of {
		select {
		case c <- e:
			continue
		default:
		}
		select {
		case <-c:
			w.dropped++
		default: // the watcher was quicker
		}
		c <- e
	}
}

func (w *watchers) close() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.shut = true
	for c, stop := range w.of {
		stop()
		close(c)
	}
	clear(w.of)
}

func (w *watchers) stats() (watching int, dropped uint64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.of), w.dropped
}
