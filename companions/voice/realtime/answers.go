package realtime

import (
	"time"

	"conch/coordinator/turn"
)

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
