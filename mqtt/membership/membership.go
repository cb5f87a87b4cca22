package membership

import (
	"crypto/ecdsa"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"conch/companions/round"
	"conch/mqtt"
)

// Membership is this device's place in a room. Its methods may be called from anywhere; those that take a context wait for the
// host if this device is not it. What the room says is handled by Run's goroutine, which also writes the files then.
type Membership struct {
	id       mqtt.Identity // fixed after Open, like store and loopback
	store    store
	loopback string

	room  atomic.Pointer[Room] // snapshot; nil: not paired
	inbox chan func()          // for Run; what does not fit is dropped: all of it is asked for again
	dates                      // each with locks of its own
	hooks
	requests

	mu       sync.Mutex // the rest
	rec      *record    // what room.json says: never changed, but replaced
	unsaved  bool       // room.json does not say it yet
	outFor   error      // this device is out, and room.json is still there: why
	caKey    *ecdsa.PrivateKey
	founding *founding
	gone     chan struct{} // closed when the host has let this device go; nil: nobody waits for that

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
	m := &Membership{
		id: id, loopback: newRequest(), inbox: make(chan func(), maxInbox), dates: dates{clock: clock},
		hooks: hooks{send: func(mqtt.Note) {}, onChange: func(Change) {}, reach: func() []string { return nil }, log: slog.New(slog.DiscardHandler)},
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

// Room is a snapshot; nil: this device is in no room.
func (m *Membership) Room() *Room { return m.room.Load() }

// IsHost says whether this device keeps the room.
func (m *Membership) IsHost() bool {
	r := m.Room()
	return r != nil && r.Host == m.id.ID()
}

// Member says whether a device belongs to the room (mqtt.Config.Member).
func (m *Membership) Member(id round.DeviceID) bool {
	r := m.Room()
	if r == nil {
		return false
	}
	_, ok := r.Member(id)
	return ok
}

// adopt makes a record the present one. The lock is held, or nobody else is there yet.
func (m *Membership) adopt(r *record) error {
	var c *credentials
	room := r.snapshot(nil)
	if !r.Foreign {
		var err error
		if c, err = r.credentials(m.id); err != nil {
			return fmt.Errorf("membership: %w", err)
		}
		room = r.snapshot(c.leaf)
	}
	m.rec = r
	m.learned.Store(max(m.learned.Load(), r.At))
	m.creds.Store(c)
	m.room.Store(room)
	return nil
}

// keep writes a record and then makes it the present one. The lock is held.
func (m *Membership) keep(r *record) error {
	if err := m.store.writeRecord(r); err != nil {
		return err
	}
	m.unsaved, m.outFor = false, nil
	return m.adopt(r)
}

// keepOut is keep for a list that somebody was taken off: that counts at once, whatever the disk says. What could not be written is
// written when it can be (look).
func (m *Membership) keepOut(r *record) error {
	err := m.store.writeRecord(r)
	m.unsaved = err != nil
	return errors.Join(err, m.adopt(r))
}

// edit has f make another record of this one, and keep it, under the lock. Without a room it does nothing.
func (m *Membership) edit(f func(r *record) error) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.rec == nil {
		return nil
	}
	return f(m.rec.clone())
}

// save tries again.
func (m *Membership) save() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.unsaved || m.rec == nil {
		return nil
	}
	err := m.store.writeRecord(m.rec)
	m.unsaved = err != nil
	return err
}

// end leaves the room on disk and in memory. The lock is held.
func (m *Membership) end() error {
	err := m.store.clear()
	m.rec, m.caKey, m.unsaved, m.outFor = nil, nil, false, nil
	m.room.Store(nil)
	m.creds.Store(nil)
	return err
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
