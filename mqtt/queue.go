package mqtt

import (
	"sync"
	"time"

	"conch/companions/round"
)

// Bounds of what waits to be sent.
const (
	maxPresses = 8
	maxWaiting = 512
	maxNotes   = 64
	maxLedger  = 64
	maxWait    = 2 * time.Second // older than that it is not sent: a late vote is worse than none
)

// queue is what waits to be sent on one link. Presses overtake everything, ledger entries go last. At the bound the
// oldest of the same class gives way: of presses the newest one voids the others anyway, so no press is ever lost by it. What waits
// is a round.Packet or a Note.
type queue struct {
	mu     sync.Mutex
	lanes  [4][]waiting // presses, the conversation, notes, the ledger
	closed bool         // nothing more comes

	poke chan struct{} // 1: something is there, or closed
}

type waiting struct {
	what any
	at   time.Duration
}

var laneBounds = [...]int{maxPresses, maxWaiting, maxNotes, maxLedger}

func newQueue() *queue { return &queue{poke: make(chan struct{}, 1)} }

func laneOf(p any) int {
	switch p.(type) {
	case round.Press:
		return 0
	case Note:
		return 2
	case round.Seen:
		return 3
	}
	return 1
}

// push adds a packet and says how many were given up for it; false when the queue is closed.
func (q *queue) push(now time.Duration, p any) (dropped int, ok bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		return 0, false
	}
	n := laneOf(p)
	if len(q.lanes[n]) >= laneBounds[n] {
		dropped = 1
		q.lanes[n] = append(q.lanes[n][:0], q.lanes[n][1:]...)
	}
	q.lanes[n] = append(q.lanes[n], waiting{p, now})
	q.wake()
	return dropped, true
}

// pop takes the next packet; what has waited too long is given up. end is true when nothing more will come.
func (q *queue) pop(now time.Duration) (p any, late int, end bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for n := range q.lanes {
		for len(q.lanes[n]) > 0 {
			w := q.lanes[n][0]
			q.lanes[n] = q.lanes[n][1:]
			if n > 0 && now-w.at > maxWait {
				late++
				continue
			}
			return w.what, late, false
		}
		q.lanes[n] = nil
	}
	return nil, late, q.closed
}

// close lets nothing more in; what is there can still be taken.
func (q *queue) close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = true
	q.wake()
}

// drop empties the queue and says how much was in it.
func (q *queue) drop() (n int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = true
	for i := range q.lanes {
		n += len(q.lanes[i])
		q.lanes[i] = nil
	}
	return n
}

func (q *queue) wake() {
	select {
	case q.poke <- struct{}{}:
	default:
	}
}
