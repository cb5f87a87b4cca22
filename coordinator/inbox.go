package coordinator

import (
	"reflect"
	"sync"
	"sync/atomic"

	"conch/coordinator/turn"
)

// Bounds of the inbox. Our choices: a full inbox of 256 is worked off in well under a millisecond, and nobody presses a
// thousand times before that.
const (
	inboxFacts    = 256  // facts that wait before their producers do
	inboxGestures = 1024 // presses, releases and hushes that wait; they have these places to themselves
	inboxMore     = 1024 // facts of those who do not wait, beyond the first bound
	inboxOffers   = 64   // injections that wait to be queued; who asks for one never waits
)

// entry is one place in the inbox.
type entry struct {
	ev      turn.Event // nil when of says it all
	of      any        // what the runner must do or check with it; see runner.take
	gen     uint64     // the generation that Drop returned, when dropped
	dropped bool       // whoever saw the edge has dropped already
	granted bool       // a press whose turn has the floor already
	spoken  uint64     // of a gesture elsewhere: what persons had said in the room before it (Options.Elsewhere)
	slot    bool       // it holds one of the places that producers wait for
}

// inbox is one queue in order of arrival with four kinds of places, so that a gesture overtakes no fact (what was said
// before the press counts as said) but never waits for a place either.
//
//	facts     producers wait for a place          at the bound: they go on waiting, until the inbox closes
//	gestures  a press, release or hush            at the bound: takes the place of the last waiting one of its kind,
//	                                              whose Drop has long been made
//	more      facts of whoever must not wait,     at the bound: refused and counted
//	          because the runner may be what
//	          calls him, and waits for himself
//	offers    an injection                        at the bound: refused, and whoever asked is told
type inbox struct {
	// fixed after New
	slots  chan struct{} // one token per fact that waits
	wake   chan struct{} // one token when there is something to take
	closed chan struct{}

	// atomic
	drops   atomic.Int64  // waiting gestures that carry a generation
	refused atomic.Uint64 // facts refused at a bound

	// guarded by mu
	mu       sync.Mutex
	shut     bool
	queue    []entry
	spare    []entry
	gestures int
	more     int
	offers   int
}

func newInbox(facts int) *inbox {
	return &inbox{
		slots:  make(chan struct{}, facts),
		wake:   make(chan struct{}, 1),
		closed: make(chan struct{}),
		queue:  make([]entry, 0, facts+64),
		spare:  make([]entry, 0, facts+64),
	}
}

// isGesture tells which facts have a reserved place.
func isGesture(ev turn.Event) bool {
	switch ev.(type) {
	case turn.Pressed, turn.Released, turn.Hushed, turn.Quieted:
		return true
	}
	return false
}

func isOffer(e entry) bool { _, ok := e.of.(injection); return ok }

// put queues e, and waits for a place unless e is a gesture or an injection, or the inbox closes: not for who may be called by the
// runner. It reports whether e will be taken.
func (b *inbox) put(e entry) bool {
	if isGesture(e.ev) || isOffer(e) {
		return b.post(e)
	}
	e.slot = true
	select {
	case b.slots <- struct{}{}:
		return b.post(e)
	case <-b.closed:
		return false
	}
}

// empty says that nothing waits.
func (b *inbox) empty() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.queue) == 0
}

// post queues e and never waits. It reports whether e will be taken.
func (b *inbox) post(e entry) bool {
	if !e.slot && !isGesture(e.ev) && !isOffer(e) {
		select {
		case b.slots <- struct{}{}:
			e.slot = true
		default:
		}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.shut {
		return false
	}
	switch {
	case isGesture(e.ev):
		if b.gestures >= inboxGestures {
			return b.replace(e)
		}
		b.gestures++
		if e.dropped {
			b.drops.Add(1)
		}
	case isOffer(e):
		if b.offers >= inboxOffers {
			return false
		}
		b.offers++
	case !e.slot:
		if b.more >= inboxMore {
			b.refused.Add(1)
			return false
		}
		b.more++
	}
	b.queue = append(b.queue, e)
	select {
	case b.wake <- struct{}{}:
	default:
	}
	return true
}

// replace puts a gesture in the place of the last waiting one of its kind.
func (b *inbox) replace(e entry) bool {
	b.refused.Add(1)
	kind := reflect.TypeOf(e.ev)
	for i := len(b.queue) - 1; i >= 0; i-- {
		old := &b.queue[i]
		if reflect.TypeOf(old.ev) != kind {
			continue
		}
		if e.dropped && !old.dropped {
			b.drops.Add(1)
		}
		if !e.dropped && old.dropped {
			e.gen, e.dropped = old.gen, true
		}
		*old = e
		return true
	}
	return false
}

// take returns everything that waits, in order of arrival. The slice is good until the next take; the runner calls done
// for each entry before it carries it out, so that producers move on.
func (b *inbox) take() []entry {
	b.mu.Lock()
	defer b.mu.Unlock()
	clear(b.spare) // let go of what was carried out
	b.queue, b.spare = b.spare[:0], b.queue
	b.gestures, b.more, b.offers = 0, 0, 0
	return b.spare
}

// done gives e's place back.
func (b *inbox) done(e entry) {
	if e.slot {
		<-b.slots
	}
	if e.dropped {
		b.drops.Add(-1)
	}
}

// close refuses everything from now on and lets waiting producers go.
func (b *inbox) close() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.shut {
		b.shut = true
		close(b.closed)
	}
}
