package realtime

import (
	"math"
	"time"

	"conch/companions/voice/kit"
	"conch/coordinator/turn"
)

// What is remembered of a session, within bounds.

type callInfo struct {
	born uint64 // the oldest has the smallest
	name string
	told bool
}

type itemInfo struct {
	born      uint64
	turn      turn.ID
	received  int  // samples of speech
	cancelled bool // the answer was, before it had ended
	written   bool // in text alone: its speech was made here
}

// Bounds of what is remembered of a session; the oldest goes.
const (
	maxItems     = 256
	maxResponses = 8
	maxUnbidden  = 64 // of a session; more are not even cancelled
	maxCalls     = 32 // of an answer: each brings an output, and all of them one more answer
)

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

// items are the entries of the server's conversation, and the calls among them.
type items struct {
	of    map[turn.ItemID]*itemInfo
	calls map[turn.CallID]callInfo
	born  uint64 // how many of these there have been
}

func (s *items) bear() uint64 {
	s.born++
	return s.born
}

func (s *items) ensure(id turn.ItemID, t turn.ID) *itemInfo {
	if it, ok := s.of[id]; ok {
		return it
	}
	forgetOldest(s.of, maxItems, func(it *itemInfo) (uint64, bool) { return it.born, true })
	it := &itemInfo{born: s.bear(), turn: t}
	s.of[id] = it
	return it
}

func (s *items) turnOf(id turn.ItemID) turn.ID {
	if it := s.of[id]; it != nil {
		return it.turn
	}
	return ""
}

// call is what is known of a call; for one that is new there is room.
func (s *items) call(id turn.CallID) callInfo {
	c, ok := s.calls[id]
	if !ok {
		forgetOldest(s.calls, maxItems, func(c callInfo) (uint64, bool) { return c.born, true })
		c.born = s.bear()
	}
	return c
}

// name remembers the name of a call whose arguments come without it (beta).
func (s *items) name(it *wireItem) {
	if it == nil || it.Type != "function_call" || it.CallID == "" {
		return
	}
	id := turn.CallID(it.CallID)
	if _, ok := s.calls[id]; !ok {
		c := s.call(id)
		c.name = it.Name
		s.calls[id] = c
	}
}

// seen remembers the last messages, to look at each once.
type seen struct {
	ring [256]uint64
	next int
	set  map[uint64]bool
}

// twice tells whether sum was met before, and remembers it. Zero is a message without an event_id.
func (s *seen) twice(sum uint64) bool {
	if sum == 0 {
		return false
	}
	if s.set[sum] {
		return true
	}
	if s.set == nil {
		s.set = make(map[uint64]bool, len(s.ring))
	}
	delete(s.set, s.ring[s.next])
	s.ring[s.next] = sum
	s.set[sum] = true
	s.next = (s.next + 1) % len(s.ring)
	return false
}

// answers are the server's, from response.created until ResponseDone was posted.
type answers map[turn.ResponseID]*response

// live is one that the server has not ended, or nil.
func (a answers) live() *response {
	for _, p := range a {
		if !p.ended {
			return p
		}
	}
	return nil
}

// liveFor tells whether one of them is to a turn.
func (a answers) liveFor(t turn.ID) bool {
	for _, p := range a {
		if p.turn == t && !p.ended {
			return true
		}
	}
	return false
}

// busy names what stands in the way of response.create.
func (a answers) busy(asked *asked) string {
	if asked.busy() {
		return "an answer that was asked for"
	}
	if p := a.live(); p != nil {
		return string(p.id)
	}
	return ""
}

// blockedSince tells since when the next response.create has had to wait: from now on for the end of a live answer, and for
// a request that the server has left without a word, since that was sent. A turn that gave up on one has waited already.
func (a answers) blockedSince(now time.Time, asked *asked) time.Time {
	if a.live() == nil && len(asked.creates) > 0 {
		return asked.creates[0].at
	}
	return now
}

// abandon stops waiting for answers that do not end.
func (a answers) abandon() {
	for id, p := range a {
		if !p.ended {
			p.stopPump()
			delete(a, id)
		}
	}
}

// makeRoom forgets answers beyond the bound: first those that nobody waits for.
func (a answers) makeRoom() {
	for _, idle := range []bool{true, false} {
		for _, p := range forgetOldest(a, maxResponses, func(p *response) (uint64, bool) { return p.born, !idle || p.turn == "" || p.cancelled }) {
			p.stopPump()
		}
	}
}

// response is one answer of the server, from response.created until ResponseDone was posted.
type response struct {
	born      uint64
	id        turn.ResponseID
	turn      turn.ID
	pump      *kit.Pump // nil until it says something
	pumped    bool      // the pump is through
	cancelled bool      // by us: what still comes of it is dropped
	ended     bool      // response.done was seen
	audible   bool      // it said or called something
	texted    bool
	text      string      // words without sound
	item      turn.ItemID // the first of these
	saying    bool        // they are being spoken here
	called    bool
	calls     int
	seconds   float64
	status    turn.ResponseStatus
	say       turn.Words
}

// begun tells whether something of the answer has come: speech, words or a call. Speech is told a moment later, when it is handed over, and
// the end of a session behind that. Until then the coordinator counts on the turn being asked for again when the session is lost.
func (p *response) begun() bool { return p.audible || p.texted }

func (p *response) stopPump() {
	if p.pump != nil {
		p.pump.Stop()
	}
}
