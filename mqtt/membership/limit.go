package membership

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"conch/companions/round"
	"conch/mqtt"
)

// What one member may ask of the room: a burst at once, then one an interval. A member that keeps to its own times (a list every six hours, a
// certificate every minute while one is due, a question again every two seconds) never meets a bound.
type rate struct {
	burst int
	every time.Duration
}

var (
	rates = map[string]rate{
		noteAsk:    {12, 5 * time.Second},
		noteOpen:   {10, 10 * time.Second}, // a window, and its repetitions
		noteShut:   {10, 10 * time.Second},
		noteAdmit:  {10, 10 * time.Second},
		noteRemove: {10, 10 * time.Second},
		noteRename: {10, 10 * time.Second},
		noteRenew:  {4, time.Minute},
		noteLeft:   {2, time.Minute},
		noteAck:    {10, 10 * time.Second},
	}
	otherRate  = rate{10, time.Second}                     // what only the host says, or what a later version knows
	settleRate = rate{20, 5 * time.Second}                 // calls about who keeps the room: a member calls every ten seconds while its host is away
	windowRate = rate{5, 10 * time.Minute}                 // windows of one device: each is heard in the whole room, at night as well
	announced  = rate{20, 30 * time.Second}                // words of the host about windows of others
	jumpRate   = rate{2, time.Minute}                      // versions that the list jumps because somebody has a later one, of all together
	calmAfter  = 10 * time.Minute                          // without an excess: it is none any more
	tellEvery  = time.Minute                               // of one that goes on
	errExcess  = errors.New("more than a member asks for") // counted and named
)

// bucket is what is left of a rate.
type bucket struct {
	left int
	at   time.Time // when the last one came back
}

func (b *bucket) take(r rate, now time.Time) bool {
	if b.at.IsZero() {
		b.left, b.at = r.burst, now
	}
	if n := int(now.Sub(b.at) / r.every); n > 0 {
		b.left, b.at = min(r.burst, b.left+n), b.at.Add(time.Duration(n)*r.every)
	}
	if b.left == 0 {
		return false
	}
	b.left--
	return true
}

// asker is what one member has asked.
type asker struct {
	buckets map[string]*bucket
	over    int       // what was not looked at, since it began
	last    time.Time // of them; zero: none
	told    time.Time
}

// limits counts per member.
type limits struct {
	mu     sync.Mutex
	askers map[round.DeviceID]*asker // members only
	jumps  bucket
}

func (l *limits) asker(from round.DeviceID) *asker {
	if l.askers == nil {
		l.askers = map[round.DeviceID]*asker{}
	}
	a := l.askers[from]
	if a == nil {
		a = &asker{buckets: map[string]*bucket{}}
		l.askers[from] = a
	}
	return a
}

// take says whether that one is to be looked at, and otherwise how many were not, if it is time to say so.
func (l *limits) take(from round.DeviceID, what string, r rate, now time.Time) (ok bool, over int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	a := l.asker(from)
	b := a.buckets[what]
	if b == nil {
		b = &bucket{}
		a.buckets[what] = b
	}
	if b.take(r, now) {
		return true, 0
	}
	a.over, a.last = a.over+1, now
	if !a.told.IsZero() && now.Sub(a.told) < tellEvery {
		return false, 0
	}
	a.told = now
	return false, a.over
}

// calm are those that have kept to their bounds for a while. Who is no member any more is forgotten.
func (l *limits) calm(member func(round.DeviceID) bool, now time.Time) (calm []round.DeviceID) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for id, a := range l.askers {
		if !a.last.IsZero() && (now.Sub(a.last) >= calmAfter || !member(id)) {
			calm = append(calm, id)
			a.over, a.last, a.told = 0, time.Time{}, time.Time{}
		}
		if !member(id) {
			delete(l.askers, id)
		}
	}
	return calm
}

// jump says whether the list may jump to a later version.
func (l *limits) jump(now time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.jumps.take(jumpRate, now)
}

// bounds holds what members ask of this device against the limits, and says who asks for too much.
type bounds struct {
	*book
	limits limits
}

// allowed says whether a note of another device is to be looked at. It never waits.
func (b *bounds) allowed(from round.DeviceID, n mqtt.Note) bool {
	room := b.Room()
	if room == nil || from == b.id.ID() {
		return false
	}
	if from == room.Host {
		return true
	}
	r, asks := rates[n.Method]
	if asks && room.Host != b.id.ID() {
		return false // said to the host
	}
	if _, ok := room.Member(from); !ok {
		return true // which is refused by name
	}
	what := n.Method
	if !asks {
		what, r = "other notes", otherRate
	}
	return b.take(from, what, r)
}

// take counts, and says who asks for too much.
func (b *bounds) take(from round.DeviceID, what string, r rate) bool {
	ok, over := b.limits.take(from, what, r, time.Now())
	b.excess(from, what, over)
	return ok
}

func (b *bounds) excess(from round.DeviceID, what string, over int) {
	room := b.Room()
	if over == 0 || room == nil {
		return
	}
	l, _ := room.Member(from)
	b.tell([]Change{{What: Excess, Device: from, Name: l.Name, Why: fmt.Errorf("%w: %s, %d not looked at", errExcess, what, over)}})
}

// asked says whether a member has ever asked that.
func (l *limits) asked(from round.DeviceID, what string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	a := l.askers[from]
	return a != nil && a.buckets[what] != nil
}
