package mqtt

import (
	"slices"
	"sync"
	"time"

	"conch/companions/round"
)

// Rate is what one member may say in a second, for as long as it likes, and how much of it at once.
type Rate struct{ Second, AtOnce float64 }

// Bounds are those of what arrives from one member; what is beyond is dropped before anything of it is read. They are meant
// for whoever is broken or wants to harm: a device in a lively room says ten envelopes a second.
type Bounds struct {
	Envelopes Rate
	Bytes     Rate
	Presses   Rate // apart from all the rest, so that nothing else uses them up; a press comes twice
	All       Rate // envelopes of all members together; beyond it each may still say
	Modest    Rate // so many, presses included
}

func (b Bounds) orDefaults() Bounds {
	def := func(r *Rate, v Rate) {
		if *r == (Rate{}) {
			*r = v
		}
	}
	def(&b.Envelopes, Rate{256, 1024})
	def(&b.Bytes, Rate{256 << 10, 1 << 20}) // a history is 256 KiB
	def(&b.Presses, Rate{100, 200})
	def(&b.All, Rate{1500, 6000}) // where anybody can write under every name, no more signatures than that are looked at
	def(&b.Modest, Rate{16, 64})
	return b
}

// Bounds of what has arrived and was not handled yet.
const (
	maxArrived      = 256                  // envelopes of one sender
	maxArrivedOne   = maxHistory + 128<<10 // and their bytes
	maxArrivedBytes = 4 << 20              // of all senders
	maxUrgent       = 32                   // presses of one sender: some time's, for a process that was kept from running
	maxPress        = 2 << 10              // bytes of one; what is longer has no haste
	quantum         = 4 << 10              // bytes that a sender gets in its turn
	overhead        = 1 << 10              // bytes that an envelope counts for besides its own: a signature takes as long as many
	strangers       = round.DeviceID("")   // all that have no lane of their own
)

// allowance is what may be said at once, and comes back by the second.
type allowance struct {
	spent float64
	at    time.Duration
}

// take is false when so much is not there.
func (b *allowance) take(now time.Duration, r Rate, n int) bool {
	b.spent = max(0, b.spent-r.Second*(now-b.at).Seconds())
	b.at = now
	if b.spent+float64(n) > r.AtOnce {
		return false
	}
	b.spent += float64(n)
	return true
}

func (b *allowance) full(now time.Duration, r Rate) bool {
	return b.spent <= r.Second*(now-b.at).Seconds()
}

// lane is what one sender, by the topic, has said and nobody has looked at yet.
type lane struct {
	from    round.DeviceID
	presses []arrival // oldest first, like
	rest    []arrival
	bytes   int // of rest
	deficit int // bytes that it may still say in this turn

	envelopes, volume, urgent, modest allowance
	excess                            excess
}

// lanes keep what arrives, by sender: presses first, a sender each in turn; then the rest, as many bytes of each sender in turn
// (deficit round robin, Shreedhar and Varghese 1995). So whoever says much waits behind itself. At a bound the sender's own oldest
// goes; at that of all, the oldest of whoever has most.
type lanes struct {
	bounds Bounds
	poke   chan struct{} // 1: something is there

	mu     sync.Mutex
	of     map[round.DeviceID]*lane
	hasty  []*lane // with presses, in turn
	others []*lane // with something else, in turn
	bytes  int
	all    allowance
}

func newLanes(b Bounds) *lanes {
	return &lanes{bounds: b.orDefaults(), poke: make(chan struct{}, 1), of: map[round.DeviceID]*lane{}}
}

// lane finds or makes a sender's. Those that are empty and owe nothing are as good as none, and go when it becomes many.
func (q *lanes) lane(now time.Duration, from round.DeviceID) *lane {
	if l := q.of[from]; l != nil {
		return l
	}
	if len(q.of) >= maxPeers {
		for id, l := range q.of {
			if len(l.presses)+len(l.rest) == 0 && l.envelopes.full(now, q.bounds.Envelopes) && l.volume.full(now, q.bounds.Bytes) &&
				l.urgent.full(now, q.bounds.Presses) && !l.excess.lasts {
				delete(q.of, id)
			}
		}
	}
	if len(q.of) >= maxPeers {
		from = strangers
		if l := q.of[from]; l != nil {
			return l
		}
	}
	l := &lane{from: from}
	q.of[from] = l
	return l
}

// admit says whether a sender may say so much more; what it may not is counted.
func (q *lanes) admit(now time.Duration, from round.DeviceID, press bool, size int) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	l := q.lane(now, from)
	ok := false
	switch {
	case press && size <= maxPress:
		ok = l.urgent.take(now, q.bounds.Presses, 1)
	case l.envelopes.take(now, q.bounds.Envelopes, 1):
		ok = l.volume.take(now, q.bounds.Bytes, size)
	}
	ok = ok && (q.all.take(now, q.bounds.All, 1) || l.modest.take(now, q.bounds.Modest, 1))
	if !ok {
		l.excess.add(now, size)
	}
	return ok
}

// push adds what has arrived from a sender, and says how many were given up for it.
func (q *lanes) push(now time.Duration, from round.DeviceID, press bool, a arrival) (dropped int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	l := q.lane(now, from)
	if press && len(a.payload) <= maxPress {
		if len(l.presses) == maxUrgent {
			l.presses = slices.Delete(l.presses, 0, 1)
			dropped++
		}
		if l.presses = append(l.presses, a); len(l.presses) == 1 {
			q.hasty = append(q.hasty, l)
		}
	} else {
		l.rest = append(l.rest, a)
		l.bytes += len(a.payload)
		q.bytes += len(a.payload)
		if len(l.rest) == 1 {
			q.others = append(q.others, l)
		}
		for len(l.rest) > 1 && (len(l.rest) > maxArrived || l.bytes > maxArrivedOne) {
			q.drop(l)
			dropped++
		}
		for q.bytes > maxArrivedBytes {
			most := slices.MaxFunc(q.others, func(a, b *lane) int { return a.bytes - b.bytes })
			q.drop(most)
			dropped++
		}
	}
	select {
	case q.poke <- struct{}{}:
	default:
	}
	return dropped
}

// drop gives up a lane's oldest; a lane that is empty by that has had its turn when it comes.
func (q *lanes) drop(l *lane) {
	n := len(l.rest[0].payload)
	l.rest[0] = arrival{}
	l.rest = l.rest[1:]
	l.bytes -= n
	q.bytes -= n
	if len(l.rest) == 0 {
		q.leave(l)
	}
}

func (q *lanes) leave(l *lane) {
	l.rest, l.deficit = nil, 0
	if i := slices.Index(q.others, l); i >= 0 {
		q.others = slices.Delete(q.others, i, i+1)
	}
}

// next takes whose turn it is.
func (q *lanes) next() (a arrival, ok bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.hasty) > 0 {
		l := q.hasty[0]
		q.hasty = slices.Delete(q.hasty, 0, 1)
		a := l.presses[0]
		l.presses = slices.Delete(l.presses, 0, 1)
		if len(l.presses) > 0 {
			q.hasty = append(q.hasty, l)
		}
		return a, true
	}
	for len(q.others) > 0 {
		l := q.others[0]
		a := l.rest[0]
		if cost := len(a.payload) + overhead; len(q.others) > 1 && l.deficit < cost {
			l.deficit += quantum
			copy(q.others, q.others[1:])
			q.others[len(q.others)-1] = l
			continue
		} else if len(q.others) > 1 {
			l.deficit -= cost
		}
		q.drop(l)
		return a, true
	}
	return arrival{}, false
}
