package realtime

import (
	"slices"
	"time"

	"conch/coordinator/turn"
)

// plan is what the turn has asked for; it knows no wire. What of it was sent is kept until its answer began, for the next
// session (again.go).
type plan struct {
	requests []request
	next     int     // requests[:next] were sent in this session
	resend   bool    // a part of them went out in a session that was lost
	resent   turn.ID // the latest turn whose requests were sent again: not a third time
	settled  turn.ID // the latest turn whose answer was heard of, or was refused: it is not asked for again
}

type request struct {
	order turn.Order
	tries int
	after time.Time // not before
}

func (o request) resumes() bool {
	c, ok := o.order.(turn.CreateResponse)
	return ok && c.Resume
}

// add puts an order last; false: there is no room.
func (p *plan) add(o turn.Order) bool {
	if len(p.requests) >= maxPlan { // done requests are kept only to be repeated
		p.requests, p.next = p.requests[:copy(p.requests, p.requests[p.next:])], 0
	}
	if len(p.requests) >= maxPlan {
		return false
	}
	p.requests = append(p.requests, request{order: o})
	return true
}

// first puts a request before all that were not sent.
func (p *plan) first(o request) { p.requests = slices.Insert(p.requests, p.next, o) }

// due is what is sent next, nil: nothing.
func (p *plan) due() *request {
	if p.next < len(p.requests) {
		return &p.requests[p.next]
	}
	return nil
}

// empty forgets all of it.
func (p *plan) empty() { p.requests, p.next = nil, 0 }

// clear forgets the turns before: of what was not sent only words and answers to calls remain. It returns the turns that
// were said and not sent.
func (p *plan) clear() (unsent []turn.ID) {
	keep := p.requests[:0]
	for _, o := range p.requests[p.next:] {
		switch order := o.order.(type) {
		case turn.AddText, turn.SendToolOutput:
			keep = append(keep, o)
		case turn.CommitInput:
			unsent = append(unsent, order.Turn)
		}
	}
	p.requests, p.next = keep, 0
	return unsent
}

// answerBegan: from here on the turn is not asked for again.
func (p *plan) answerBegan(t turn.ID) {
	if t == "" {
		return
	}
	p.settled = t
	p.remove(func(o turn.Order, sent bool) bool { return sent && turn.TurnOf(o) == t })
}

// withdraw takes back the answers to a turn that were not sent yet.
func (p *plan) withdraw(t turn.ID) {
	p.remove(func(o turn.Order, sent bool) bool {
		c, ok := o.(turn.CreateResponse)
		return !sent && ok && c.Turn == t
	})
}

// forget is for a turn that was refused, so that it is not repeated in the next session.
func (p *plan) forget(t turn.ID) {
	p.remove(func(o turn.Order, _ bool) bool { return turn.TurnOf(o) == t })
}

func (p *plan) remove(gone func(o turn.Order, sent bool) bool) {
	keep, next := p.requests[:0], 0
	for i, o := range p.requests {
		sent := i < p.next
		if gone(o.order, sent) {
			continue
		}
		if sent {
			next++
		}
		keep = append(keep, o)
	}
	p.requests, p.next = keep, next
}

// unblock tries again at once what waited for an answer that is over now.
func (p *plan) unblock() {
	if o := p.due(); o != nil {
		o.after = time.Time{}
	}
}

// brings are the turns whose words a new session gets from the plan.
func (p *plan) brings() map[turn.ID]bool {
	of := map[turn.ID]bool{}
	for _, o := range p.requests {
		switch o.order.(type) {
		case turn.ClearInput, turn.CommitInput, turn.AddText:
			of[turn.TurnOf(o.order)] = true
		}
	}
	return of
}

// restart begins it in a new session, and returns how much is sent again and for whom; zero: none.
func (p *plan) restart() (t turn.ID, again int) {
	if n := len(p.requests); p.resend && n > 0 {
		t, again = turn.TurnOf(p.requests[n-1].order), n
	}
	p.next, p.resend = 0, false
	return t, again
}
