package membership

import (
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"time"

	"conch/mqtt"
)

var (
	errNoIdentity = errors.New("a device without an identity can be in no room")
	errNotHost    = errors.New("this device does not keep the room")
)

// Membership is this device's place in a room. Its methods may be called from anywhere; those that take a context wait for the
// host if this device is not it. What the room says is handled by Run's goroutine, which also writes the files then.
type Membership struct {
	*book                // the room, in memory and on disk
	*windows             // what was announced
	*keeping             // who keeps the room
	*door                // who comes in
	requests *requests   // of the host
	bounds   *bounds     // what members ask
	inbox    chan func() // for Run; what does not fit is dropped: all of it is asked for again

	// Owned by Run.
	listDue  bool      // somebody wants the list
	repeated uint64    // the version that a look has said once more: what was said at the change may have been lost
	heard    time.Time // when the list was last heard; zero: not since the start
	looks    int
}

// maxInbox is how many notes may wait for Run.
const maxInbox = 64

// Open reads the room from the state directory; without one (dir is empty) nothing is kept. A room whose files are damaged, or
// which others can read, is an error that says what to do, and is left as it is.
func Open(dir string, id mqtt.Identity, clock Clock) (*Membership, error) {
	if id.ID() == "" {
		return nil, fmt.Errorf("membership: %w", errNoIdentity)
	}
	if clock.Now == nil {
		clock.Now = time.Now
	}
	if clock.Floor.IsZero() {
		clock.Floor = floor
	}
	if clock.Every <= 0 {
		clock.Every = time.Minute
	}
	if clock.Missing <= 0 {
		clock.Missing = keeperPatience
	}
	b := &book{
		id: id, dates: dates{clock: clock},
		hooks: hooks{send: func(mqtt.Note) {}, onChange: func(Change) {}, reach: func() []string { return nil }, log: slog.New(slog.DiscardHandler)},
	}
	asks, limits := &requests{book: b}, &bounds{book: b}
	k := &keeping{book: b, bounds: limits, contact: contact{heard: time.Now(), began: time.Now()}}
	m := &Membership{
		book: b, keeping: k, windows: &windows{book: b, requests: asks, bounds: limits, poke: make(chan struct{}, 1)},
		door: &door{book: b, loopback: newRequest()}, requests: asks, bounds: limits, inbox: make(chan func(), maxInbox),
	}
	if dir != "" {
		m.store.dir = filepath.Join(dir, roomDir)
	}
	rec, key, err := m.store.read(id)
	if err != nil {
		return nil, err
	}
	if rec != nil {
		m.caKey = key
		if err := m.adopt(rec); err != nil {
			return nil, err
		}
	}
	return m, nil
}

// post gives Run something to do; false: too much waits.
func (m *Membership) post(f func()) bool {
	select {
	case m.inbox <- f:
		return true
	default:
		return false
	}
}
