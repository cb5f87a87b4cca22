package companions

import (
	"fmt"
	"log/slog"
	"sync"
	"time"

	"conch/companions/round"
)

// Bounds of the orders that wait for the device. A device that is not stuck works them off at once.
const (
	stageOrders  = 1024                   // at the bound: refused; a companion that cannot be prepared has failed
	stageRemarks = 768                    // of these, Remember and Correct; at the bound: refused and counted
	stageSlow    = 100 * time.Millisecond // an order that takes longer is worth a line
)

// order is one call of a Stage.
type order struct {
	what      string
	place     round.Place
	companion round.CompanionID
	call      func(Stage)
}

const (
	orderPrepare = "Prepare"
	orderSpeak   = "Speak"
	orderHush    = "Hush"
)

// outputs carries orders to the Stage, so that no slow device holds up the room. Two goroutines of Room.Run do it: hushing
// calls Hush, past everything that waits; ordering calls everything else, one at a time, in order, and nothing while a hush
// waits. So Hush may come while another call is still on its way, and no other two calls overlap. An order to speak that is
// older than the last hush is not carried out; if the hush came while it was, Abandon follows.
type outputs struct {
	// fixed after newHands
	stage  Stage
	log    *slog.Logger
	now    func() time.Duration
	failed func(o order, why string) // a Prepare that came to nothing
	orders chan struct{}             // one token when an order waits
	hushes chan struct{}             // one token when a hush waits
	silent chan struct{}             // held while Hush is called

	// guarded by mu
	mu     sync.Mutex
	queue  []order
	hush   *string     // why; nil: none waits. Of several the last counts
	void   round.Epoch // orders of older epochs are void
	counts StageStats
}

// StageStats count what became of orders to the device.
type StageStats struct {
	Orders  uint64 `json:"orders"`
	Hushes  uint64 `json:"hushes"`
	Void    uint64 `json:"void"`    // orders that a newer press made void
	Refused uint64 `json:"refused"` // at the bound: the device is stuck
	Slow    uint64 `json:"slow"`    // took longer than 100 ms
	Panics  uint64 `json:"panics"`
	Waiting int    `json:"waiting"`
}

func newOutputs(stage Stage, log *slog.Logger, now func() time.Duration, failed func(order, string)) *outputs {
	return &outputs{
		stage: stage, log: log, now: now, failed: failed,
		orders: make(chan struct{}, 1), hushes: make(chan struct{}, 1), silent: make(chan struct{}, 1),
	}
}

// post queues an order; it never waits.
func (q *outputs) post(o order) {
	q.mu.Lock()
	limit := stageOrders
	if o.what == "Remember" || o.what == "Correct" {
		limit = stageRemarks
	}
	full := len(q.queue) >= limit
	if full {
		q.counts.Refused++
	} else {
		q.queue = append(q.queue, o)
	}
	q.mu.Unlock()
	if full {
		if o.what == orderPrepare {
			q.failed(o, "the device is stuck: too many orders wait")
		}
		return
	}
	poke(q.orders)
}

// hushNow silences the device and makes orders of older epochs void.
func (q *outputs) hushNow(e round.Epoch, why string) {
	q.mu.Lock()
	q.hush = &why
	q.mu.Unlock()
	q.voidBefore(e)
	poke(q.hushes)
}

// voidBefore makes orders of epochs older than e void: somebody pressed.
func (q *outputs) voidBefore(e round.Epoch) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.void.Before(e) {
		q.void = e
	}
}

func (q *outputs) isVoid(o order) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return (o.what == orderPrepare || o.what == orderSpeak) && o.place.Epoch.Before(q.void)
}

// ordering is a goroutine of Room.Run: every call but Hush.
func (q *outputs) ordering(done <-chan struct{}) {
	for {
		q.mu.Lock()
		queue := q.queue
		q.queue = nil
		q.mu.Unlock()
		for _, o := range queue {
			q.carryOut(o)
		}
		select {
		case <-q.orders:
		case <-done:
			return
		}
	}
}

func (q *outputs) carryOut(o order) {
	q.silence() // what follows a hush must not be silenced by it
	if q.isVoid(o) {
		q.tally(func(s *StageStats) { s.Void++ })
		if o.what == orderPrepare {
			q.failed(o, "a newer press")
		}
		return
	}
	q.tally(func(s *StageStats) { s.Orders++ })
	ok := q.call(o)
	switch {
	case !ok && o.what == orderPrepare:
		q.failed(o, "the device failed at it")
	case ok && q.isVoid(o): // the hush came in between
		q.tally(func(s *StageStats) { s.Void++ })
		q.call(order{what: "Abandon", place: o.place, companion: o.companion,
			call: func(s Stage) { s.Abandon(o.place, o.companion, "a newer press") }})
	}
}

// hushing is a goroutine of Room.Run: Hush, past everything that waits.
func (q *outputs) hushing(done <-chan struct{}) {
	for {
		select {
		case <-q.hushes:
		case <-done:
			return
		}
		q.silence()
	}
}

// silence carries out a waiting hush, and waits for one that is being carried out.
func (q *outputs) silence() {
	q.silent <- struct{}{}
	defer func() { <-q.silent }()
	q.mu.Lock()
	why := q.hush
	q.hush = nil
	q.mu.Unlock()
	if why != nil {
		q.tally(func(s *StageStats) { s.Hushes++ })
		q.call(order{what: orderHush, call: func(s Stage) { s.Hush(*why) }})
	}
}

// call makes one call; a panic of the device is its own.
func (q *outputs) call(o order) (ok bool) {
	began := q.now()
	defer func() {
		if p := recover(); p != nil {
			q.tally(func(s *StageStats) { s.Panics++ })
			q.log.Error(logRoomStage, "order", o.what, "place", placeText(o.place), "err", fmt.Sprint("panic: ", p))
			ok = false
		}
		if took := q.now() - began; took > stageSlow {
			q.tally(func(s *StageStats) { s.Slow++ })
			q.log.Warn(logRoomStage, "order", o.what, "place", placeText(o.place), "took_ms", took.Milliseconds())
		}
	}()
	o.call(q.stage)
	return true
}

func (q *outputs) tally(f func(*StageStats)) {
	q.mu.Lock()
	defer q.mu.Unlock()
	f(&q.counts)
}

func (q *outputs) stats() StageStats {
	q.mu.Lock()
	defer q.mu.Unlock()
	s := q.counts
	s.Waiting = len(q.queue)
	return s
}

// emptyStage is a device without a voice: what it is to say has failed.
type emptyStage struct{ r *Room }

func (s emptyStage) Prepare(p round.Prepare) {
	s.r.SpeechEnded(round.SpeechEnded{Place: p.Place, Companion: p.Companion, Why: "this device has no voice"})
}
func (emptyStage) Hush(string)                                    {}
func (emptyStage) Speak(round.Place, round.CompanionID)           {}
func (emptyStage) Abandon(round.Place, round.CompanionID, string) {}
func (emptyStage) Lost(string, string)                            {}
func (emptyStage) Remember(round.Message, []round.CompanionID)    {}
func (emptyStage) Correct(round.MessageID, string)                {}
func (emptyStage) Renamed(round.Rename)                           {}
