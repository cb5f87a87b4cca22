package control

import (
	"context"
	"encoding/json"
	"slices"
	"sync"
	"time"
)

// What happens on a device, as it happens, for whoever looks on: a page, Home Assistant, a program at the socket.
//
//	GET /events   -> one Event a line, the first a Picture, until the client goes away

// Event is something that has happened, or is different now.
type Event struct {
	Seq    uint64          `json:"seq"` // of this feed, rising by one
	Kind   EventKind       `json:"kind"`
	At     time.Time       `json:"at"`
	Device string          `json:"device"` // by its name
	Data   json.RawMessage `json:"data"`
}

// EventKind says what the data of an event are.
type EventKind string

// Kinds of events.
const (
	EventPicture EventKind = "picture" // Picture: all there is to know now; the first event, and again for who fell behind
	EventStatus  EventKind = "status"  // Status, when it is another one; four times a second at most
	EventRoom    EventKind = "room"    // RoomStatus, likewise
	EventDoing   EventKind = "doing"   // Doing, likewise; ten times a second at most
	EventPress   EventKind = "press"   // null: a button was pressed here
	EventRelease EventKind = "release" // null: it was let go
	EventEntry   EventKind = "entry"   // round.Entry of the ledger, as conch room watch --json prints it
	EventTurn    EventKind = "turn"    // Turn that has ended
)

// Doing is what a device does just now.
type Doing struct {
	State string `json:"state"`           // of the turn machine
	Level int    `json:"level"`           // of what sounds here, 0 to 100
	Floor string `json:"floor,omitempty"` // id of the companion that speaks, anywhere in the room
	Turn  string `json:"turn,omitempty"`
	Who   string `json:"who,omitempty"`   // name of the companion whose answer sounds here
	Asked string `json:"asked,omitempty"` // what it answers
	Heard string `json:"heard,omitempty"` // of the answer
	Rest  string `json:"rest,omitempty"`  // of the answer, that was not heard yet
}

// Picture is all there is to know of a device by looking at it.
type Picture struct {
	Alive  bool        `json:"alive"` // of a rehearsal's device: it is plugged in
	Status Status      `json:"status"`
	Room   *RoomStatus `json:"room,omitempty"` // nil: one companion, alone
	Doing  Doing       `json:"doing"`
	Recent []Event     `json:"recent"` // the last entries and turns, oldest first
}

// Bounds of a feed. Our choices: a screen shows some dozens, and who is slower than this has nobody reading.
const (
	feedRecent   = 60
	feedWaiting  = 256
	feedWatchers = 64
)

// Feed hands events to those who watch. It never waits for one: who falls behind is told so, and begins anew. Its methods may be called on
// any goroutine.
type Feed struct {
	name string // fixed

	mu       sync.Mutex
	seq      uint64
	recent   []Event
	watchers map[chan Event]time.Duration // how often each needs a look
	first    chan struct{}                // closed, and nil, when somebody watches
	nudged   chan struct{}                // 1: a look is due now, or somebody came or went
}

// NewFeed is that of a device.
func NewFeed(device string) *Feed {
	return &Feed{name: device, watchers: map[chan Event]time.Duration{}, first: make(chan struct{}), nudged: make(chan struct{}, 1)}
}

// Post tells of something. A nil feed tells nobody.
func (f *Feed) Post(kind EventKind, data any) {
	if f == nil {
		return
	}
	kept := kind == EventEntry || kind == EventTurn
	f.mu.Lock()
	defer f.mu.Unlock()
	if !kept && len(f.watchers) == 0 {
		return
	}
	text, err := json.Marshal(data)
	if err != nil { // of our own types
		return
	}
	f.seq++
	e := Event{Seq: f.seq, Kind: kind, At: time.Now(), Device: f.name, Data: text}
	if kept {
		if f.recent = append(f.recent, e); len(f.recent) > feedRecent {
			f.recent = slices.Delete(f.recent, 0, len(f.recent)-feedRecent)
		}
	}
	for c := range f.watchers {
		select {
		case c <- e:
		default: // behind
			f.leave(c)
		}
	}
}

// leave needs mu.
func (f *Feed) leave(c chan Event) {
	if _, ok := f.watchers[c]; !ok {
		return
	}
	delete(f.watchers, c)
	close(c)
	f.Nudge()
	if len(f.watchers) == 0 {
		f.first = make(chan struct{})
	}
}

// Watch gives what happens from now on, and what has been kept of before. The channel is closed when ctx ends, and also for whoever falls
// behind or is one too many.
func (f *Feed) Watch(ctx context.Context) (recent []Event, events <-chan Event) {
	return f.WatchEvery(ctx, 0)
}

// WatchEvery is Watch for whoever needs a look only so often, besides those that Nudge asks for. It hears of more where others look on.
func (f *Feed) WatchEvery(ctx context.Context, every time.Duration) (recent []Event, events <-chan Event) {
	c := make(chan Event, feedWaiting)
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.watchers) >= feedWatchers {
		close(c)
		return nil, c
	}
	if len(f.watchers) == 0 {
		close(f.first)
	}
	f.watchers[c] = every
	f.Nudge()
	context.AfterFunc(ctx, func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.leave(c)
	})
	return slices.Clone(f.recent), c
}

// Watching is how many do.
func (f *Feed) Watching() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.watchers)
}

// Picture is one as an event, for somebody who has just begun to watch.
func (f *Feed) Picture(p Picture) Event {
	text, _ := json.Marshal(p) // of our own types
	f.mu.Lock()
	defer f.mu.Unlock()
	return Event{Seq: f.seq, Kind: EventPicture, At: time.Now(), Device: f.name, Data: text}
}

// Watched waits until somebody watches, and says whether that is so before ctx ends.
func (f *Feed) Watched(ctx context.Context) bool {
	f.mu.Lock()
	first := f.first
	f.mu.Unlock()
	select {
	case <-first:
		return true
	case <-ctx.Done():
		return false
	}
}

// Nudge says that a look would see something else: the device has another state. It does not block. A nil feed has nobody who looks.
func (f *Feed) Nudge() {
	if f == nil {
		return
	}
	select {
	case f.nudged <- struct{}{}:
	default:
	}
}

// Due waits until somebody who watches needs another look, for the one who looks: least after the last one, and later where everybody needs
// fewer and nothing nudges. False: nobody watches, or ctx has ended.
func (f *Feed) Due(ctx context.Context, least time.Duration) bool {
	t := time.NewTimer(least)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
		return false
	}
	every, some := f.every()
	if some && every > least {
		t.Reset(every - least)
		select {
		case <-t.C:
		case <-f.nudged:
		case <-ctx.Done():
			return false
		}
		_, some = f.every()
	}
	return some
}

// every is how often those who watch need a look; not some: nobody does.
func (f *Feed) every() (every time.Duration, some bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, e := range f.watchers {
		if !some || e < every {
			every, some = e, true
		}
	}
	return every, some
}
