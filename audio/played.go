package audio

import (
	"sync/atomic"
	"time"
)

// What the card has played by now: where in the mix it is, and which samples of a source that were.

// playedClock relates the mix to time: at callback time t the card was handed the mix from position a to b.
// One writer (the callback), any number of readers (seqlock: odd while it is being written).
type playedClock struct {
	seq  atomic.Uint32
	t    atomic.Int64
	a, b atomic.Uint64
}

func (k *playedClock) set(t time.Duration, a, b uint64) {
	k.seq.Add(1)
	k.t.Store(int64(t))
	k.a.Store(a)
	k.b.Store(b)
	k.seq.Add(1)
}

// lastCall is the time of the last callback; zero before the first.
func (k *playedClock) lastCall() time.Duration { return time.Duration(k.t.Load()) }

// at is the position in the mix that leaves the card at now, if a frame waits there for queued ns.
func (k *playedClock) at(now time.Duration, queued int64) uint64 {
	for try := 0; ; try++ {
		seq := k.seq.Load()
		t, a, b := k.t.Load(), k.a.Load(), k.b.Load()
		if (seq&1 != 0 || k.seq.Load() != seq) && try < 100 {
			continue // the callback is between two stores: nanoseconds. At the bound we may be wrong by a period.
		}
		since := int64(now) - t - queued
		if since < 0 {
			back := uint64(samplesAt(time.Duration(-since), Rate)) + 1
			return a - min(a, back)
		}
		return min(b, a+uint64(samplesAt(time.Duration(since), Rate)))
	}
}

// placements remember which of a source's samples went where in the mix: after each chunk, (position in the mix, samples
// rendered). The oldest are overwritten: 256 chunks are 128 ms at 0.5 ms, more than any card queues.
type placements struct {
	n    atomic.Uint64
	ring [256]atomic.Uint64
}

func (h *placements) push(mix, rendered uint32) {
	n := h.n.Load()
	h.ring[n%uint64(len(h.ring))].Store(uint64(mix)<<32 | uint64(rendered))
	h.n.Store(n + 1)
}

// at tells how many of the rendered samples come after position pos of the mix; false when it does not know any more.
// Positions are compared modulo 2^32 (49 hours).
func (h *placements) at(pos, rendered uint32) (behind uint64, ok bool) {
	n := h.n.Load()
	var newer uint64
	have := false
	for i := n; i > 0 && n-i < uint64(len(h.ring))-2; i-- {
		e := h.ring[(i-1)%uint64(len(h.ring))].Load()
		if ahead := int32(pos - uint32(e>>32)); ahead >= 0 {
			played := uint32(e)
			if have { // a run begins where a chunk begins
				played += min(uint32(ahead), uint32(newer)-uint32(e))
			}
			return uint64(rendered - played), true
		}
		newer, have = e, true
	}
	if n > 0 && n < uint64(len(h.ring))-2 {
		return uint64(rendered), true // nothing of it has left the card
	}
	return 0, false
}
