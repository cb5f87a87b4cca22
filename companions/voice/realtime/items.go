package realtime

import (
	"math"

	"conch/coordinator/turn"
)

// What is remembered of a session, within bounds.

type callInfo struct {
	born uint64 // the oldest has the smallest
	turn turn.ID
	name string
	told bool
}

type itemInfo struct {
	born      uint64
	turn      turn.ID
	received  int  // samples of speech
	cancelled bool // the answer was, before it had ended
}

// Bounds of what is remembered of a session; the oldest goes.
const (
	maxItems     = 256
	maxResponses = 8
	maxUnbidden  = 64 // of a session; more are not even cancelled
	maxCalls     = 32 // of an answer: each brings an output, and all of them one more answer
)

// bear numbers what is remembered.
func (r *conversation) bear() uint64 {
	r.born++
	return r.born
}

// forgetOldest makes room for one more below most, of those that may go, and returns what went.
func forgetOldest[K comparable, V any](of map[K]V, most int, born func(V) (at uint64, may bool)) (gone []V) {
	for len(of) >= most {
		var oldest K
		first := uint64(math.MaxUint64)
		for k, v := range of {
			if at, may := born(v); may && at < first {
				oldest, first = k, at
			}
		}
		if first == math.MaxUint64 {
			break
		}
		gone = append(gone, of[oldest])
		delete(of, oldest)
	}
	return gone
}

func (r *conversation) item(id turn.ItemID, t turn.ID) *itemInfo {
	if it, ok := r.items[id]; ok {
		return it
	}
	forgetOldest(r.items, maxItems, func(it *itemInfo) (uint64, bool) { return it.born, true })
	it := &itemInfo{born: r.bear(), turn: t}
	r.items[id] = it
	return it
}

func (r *conversation) turnOfItem(id string) turn.ID {
	if it := r.items[turn.ItemID(id)]; it != nil {
		return it.turn
	}
	return ""
}

// response is one answer of the server, from response.created until ResponseDone was posted.
type response struct {
	born      uint64
	id        turn.ResponseID
	turn      turn.ID
	pump      *pump // nil until it says something
	pumped    bool  // the pump is through
	cancelled bool  // by us: what still comes of it is dropped
	ended     bool  // response.done was seen
	audible   bool  // it said or called something
	texted    bool
	called    bool
	calls     int
	seconds   float64
	status    turn.ResponseStatus
	say       turn.Words
}

// begun tells whether something of the answer was told: a delta or a call. Until then the coordinator counts on the turn
// being asked for again when the session is lost.
func (p *response) begun() bool {
	return p.called || p.texted || (p.pump != nil && p.pump.handed.Load() > 0)
}

func (p *response) stopPump() {
	if p.pump != nil {
		p.pump.stop()
	}
}
