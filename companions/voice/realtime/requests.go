package realtime

import (
	"time"

	"conch/coordinator/turn"
)

// What a turn has asked for, and taking it back.

type request struct {
	order turn.Order
	tries int
	after time.Time // not before
}

// answerBegan: from here on the turn is not asked for again.
func (r *conversation) answerBegan(t turn.ID) {
	if t == "" {
		return
	}
	r.settled = t
	keep, next := r.plan[:0], 0
	for i, o := range r.plan {
		if i < r.next {
			if turn.TurnOf(o.order) == t {
				continue
			}
			next++
		}
		keep = append(keep, o)
	}
	r.plan, r.next = keep, next
}

// unplanCreates takes back what was not sent yet.
func (r *conversation) unplanCreates(id turn.ID) {
	keep := r.plan[:r.next]
	for i := r.next; i < len(r.plan); i++ {
		if c, ok := r.plan[i].order.(turn.CreateResponse); ok && c.Turn == id {
			continue
		}
		keep = append(keep, r.plan[i])
	}
	r.plan = keep
}

// unplan forgets a turn that was refused, so that it is not repeated in the next session.
func (r *conversation) unplan(t turn.ID) {
	keep, next := r.plan[:0], 0
	for i, o := range r.plan {
		if turn.TurnOf(o.order) == t {
			continue
		}
		if i < r.next {
			next++
		}
		keep = append(keep, o)
	}
	r.plan, r.next = keep, next
}

// unblock tries again at once what waited for an answer that is over now.
func (r *conversation) unblock() {
	if r.next < len(r.plan) {
		r.plan[r.next].after = time.Time{}
	}
}

func (o request) resumes() bool {
	c, ok := o.order.(turn.CreateResponse)
	return ok && c.Resume
}
