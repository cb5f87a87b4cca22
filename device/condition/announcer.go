package condition

import (
	"time"
)

// A box on a shelf has no screen: what is wrong with it is said, by the clips that were made when conch was built, so that it needs
// neither network nor key nor anything installed. Once, and not again and again:
//
//	condition begins ──> it lasts (2 s for a button, 20 s for a network) ──> quiet, and no night ──> said
//	                      └─ ends before: nothing                             └─ waits, and is said when it still holds
//
//	again     after Again at the soonest, and only if it ended and began anew
//	at most   Burst in an hour, the rest is for the light and the CLI
//	night     device.quiet, or ten to seven; a clock that is wrong knows no night
//	a turn    is never talked over: it waits for a gap like every announcement (TURNS.md 5); a press silences it, and it counts
//	          as said
//
// At a press whose turn fails because of it, it is said in any case.

// Our choices.
const (
	Again = 6 * time.Hour // before the same is said once more
	Burst = 5             // sentences in an hour
	Retry = time.Minute   // after one that could not be said
)

// Announcer decides what is said and when. It is pure: time comes in, the name of a clip comes out. The zero value has said nothing.
type Announcer struct {
	since  map[Code]time.Duration   // when each that holds began, as far as it was seen
	done   map[Code]bool            // said since it began
	last   map[string]time.Duration // by clip: said at all
	recent []time.Duration          // the latest, oldest first, at most Burst
	wait   time.Duration            // nothing before
}

// Look says what to say now; "": nothing. can: the loudspeaker is there and it is no night.
func (c *Announcer) Look(now time.Duration, held []Code, can bool) (clip string, code Code) {
	if c.since == nil {
		c.since, c.done, c.last = map[Code]time.Duration{}, map[Code]bool{}, map[string]time.Duration{}
	}
	holds := map[Code]bool{}
	for _, code := range held {
		holds[code] = true
		if _, ok := c.since[code]; !ok {
			c.since[code] = now
		}
	}
	for code := range c.since {
		if !holds[code] {
			delete(c.since, code)
			delete(c.done, code)
		}
	}
	for len(c.recent) > 0 && now-c.recent[0] >= time.Hour {
		c.recent = c.recent[1:]
	}
	if !can || now < c.wait || len(c.recent) >= Burst {
		return "", ""
	}
	for _, n := range table {
		for _, code := range held {
			if n.clip != "" && n.fits(code) && !c.done[code] && now-c.since[code] >= n.after && !c.explained(code, holds) && c.due(n.clip, now) {
				return n.clip, code
			}
		}
	}
	return "", ""
}

func (c *Announcer) explained(code Code, holds map[Code]bool) bool {
	for _, other := range row(code).covered {
		if holds[other] {
			return true
		}
	}
	return false
}

func (c *Announcer) due(clip string, now time.Duration) bool {
	last, ok := c.last[clip]
	return !ok || now-last >= Again
}

// Said notes that it was, or that it could not be.
func (c *Announcer) Said(now time.Duration, clip string, code Code, ok bool) {
	if !ok {
		c.wait = now + Retry
		return
	}
	if _, holds := c.since[code]; holds {
		c.done[code] = true
	}
	c.last[clip] = now
	c.recent = append(c.recent, now)
}
