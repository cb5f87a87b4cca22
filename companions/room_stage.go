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

// hands carries orders to the Stage, so that no slow device holds up the room. Two goroutines of Room.Run do it: hushing
// calls Hush, past everything that waits; ordering calls everything else, one at a time, in order, and nothing while a hush
// waits. So Hush may come while another call is still on its way, and no other two calls overlap. An order to speak that is
// older than the last hush is not carried out; if the hush came while it was, Abandon follows.
type hands struct {
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

func newHands(stage Stage, log *slog.Logger, now func() time.Duration, failed func(order, string)) *hands {
	return &hands{
		stage: stage, log: log, now: now, failed: failed,
		orders: make(chan struct{}, 1), hushes: make(chan struct{}, 1), silent: make(chan struct{}, 1),
	}
}

// post queues an order; it never waits.
func (h *hands) post(o order) {
	h.mu.Lock()
	limit := stageOrders
	if o.what == "Remember" || o.what == "Correct" {
		limit = stageRemarks
	}
	full := len(h.queue) >= limit
	if full {
		h.counts.Refused++
	} else {
		h.queue = append(h.queue, o)
	}
	h.mu.Unlock()
	if full {
		if o.what == orderPrepare {
			h.failed(o, "the device is stuck: too many orders wait")
		}
		return
	}
	poke(h.orders)
}

// hushNow silences the device and makes orders of older epochs void.
func (h *hands) hushNow(e round.Epoch, why string) {
	h.mu.Lock()
	h.hush = &why
	h.mu.Unlock()
	h.voidBefore(e)
	poke(h.hushes)
}

// voidBefore makes orders of epochs older than e void: somebody pressed.
func (h *hands) voidBefore(e round.Epoch) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.void.Before(e) {
		h.void = e
	}
}

func (h *hands) isVoid(o order) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return (o.what == orderPrepare || o.what == orderSpeak) && o.place.Epoch.Before(h.void)
}

// ordering is a goroutine of Room.Run: every call but Hush.
func (h *hands) ordering(done <-chan struct{}) {
	for {
		h.mu.Lock()
		queue := h.queue
		h.queue = nil
		h.mu.Unlock()
		for _, o := range queue {
			h.carryOut(o)
		}
		select {
		case <-h.orders:
		case <-done:
			return
		}
	}
}

func (h *hands) carryOut(o order) {
	h.silence() // what follows a hush must not be silenced by it
	if h.isVoid(o) {
		h.count(func(s *StageStats) { s.Void++ })
		if o.what == orderPrepare {
			h.failed(o, "a newer press")
		}
		return
	}
	h.count(func(s *StageStats) { s.Orders++ })
	ok := h.call(o)
	switch {
	case !ok && o.what == orderPrepare:
		h.failed(o, "the device failed at it")
	case ok && h.isVoid(o): // the hush came in between
		h.count(func(s *StageStats) { s.Void++ })
		h.call(order{what: "Abandon", place: o.place, companion: o.companion,
			call: func(s Stage) { s.Abandon(o.place, o.companion, "a newer press") }})
	}
}

// hushing is a goroutine of Room.Run: Hush, past everything that waits.
func (h *hands) hushing(done <-chan struct{}) {
	for {
		select {
		case <-h.hushes:
		case <-done:
			return
		}
		h.silence()
	}
}

// silence carries out a waiting hush, and waits for one that is being carried out.
func (h *hands) silence() {
	h.silent <- struct{}{}
	defer func() { <-h.silent }()
	h.mu.Lock()
	why := h.hush
	h.hush = nil
	h.mu.Unlock()
	if why != nil {
		h.count(func(s *StageStats) { s.Hushes++ })
		h.call(order{what: orderHush, call: func(s Stage) { s.Hush(*why) }})
	}
}

// call makes one call; a panic of the device is its own.
func (h *hands) call(o order) (ok bool) {
	began := h.now()
	defer func() {
		if p := recover(); p != nil {
			h.count(func(s *StageStats) { s.Panics++ })
			h.log.Error(logRoomStage, "order", o.what, "place", placeText(o.place), "err", fmt.Sprint("panic: ", p))
			ok = false
		}
		if took := h.now() - began; took > stageSlow {
			h.count(func(s *StageStats) { s.Slow++ })
			h.log.Warn(logRoomStage, "order", o.what, "place", placeText(o.place), "took_ms", took.Milliseconds())
		}
	}()
	o.call(h.stage)
	return true
}

func (h *hands) count(f func(*StageStats)) {
	h.mu.Lock()
	defer h.mu.Unlock()
	f(&h.counts)
}

func (h *hands) stats() StageStats {
	h.mu.Lock()
	defer h.mu.Unlock()
	s := h.counts
	s.Waiting = len(h.queue)
	return s
}

// poke leaves a token; one is enough.
func poke(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
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
