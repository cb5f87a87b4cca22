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

// Clock is the time as this device knows it; the zero value is the system's.
type Clock struct {
	Now   func() time.Time // may be at 1970, and may jump
	Floor time.Time        // whoever runs this lives after it: an earlier Now is no clock
	Every time.Duration    // how often Run looks whether something is due; a minute
}

// floor is a day on which this program did not exist yet.
var floor = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// Membership is this device's place in a room. Its methods may be called from anywhere; those that take a context wait for the
// host if this device is not it. What the room says is handled by Run's goroutine, which also writes the files then.
type Membership struct {
	id       mqtt.Identity // fixed after Open, like clock, store and loopback
	clock    Clock
	store    store
	loopback string

	room    atomic.Pointer[Room]        // snapshot; nil: not paired
	creds   atomic.Pointer[credentials] // what this device shows and believes; nil: nothing
	learned atomic.Int64                // the latest date that the host has said, in seconds
	inbox   chan func()                 // for Run; what does not fit is dropped: all of it is asked for again

	mu       sync.Mutex // the rest
	rec      *record    // what room.json says: never changed, but replaced
	unsaved  bool       // room.json does not say it yet
	outFor   error      // this device is out, and room.json is still there: why
	caKey    *ecdsa.PrivateKey
	founding *founding
	send     func(mqtt.Note)
	onChange func(Change)
	reach    func() []string
	log      *slog.Logger
	waiting  map[string]chan answer // what was asked of the host, by request
	gone     chan struct{}          // closed when the host has let this device go; nil: nobody waits for that

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
		id: id, clock: clock, loopback: newRequest(), inbox: make(chan func(), maxInbox), waiting: map[string]chan answer{},
		send: func(mqtt.Note) {}, onChange: func(Change) {}, reach: func() []string { return nil }, log: slog.New(slog.DiscardHandler),
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

// SendWith sets how notes are sent (mqtt.Client.SendNote).
func (m *Membership) SendWith(f func(mqtt.Note)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.send = f
}

// OnChange sets who is told. It is called from whichever goroutine made the change, after it is on disk, and must not wait.
func (m *Membership) OnChange(f func(Change)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.onChange = f
}

// ReachableAt sets where others reach this device, host:port, should it keep the room: newcomers are told.
func (m *Membership) ReachableAt(f func() []string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.reach = f
}

// LogWith sets the log.
func (m *Membership) LogWith(l *slog.Logger) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.log = l
}

// now is the own time; zero where it can be none: before this program, or after the room's authority.
func (m *Membership) now() time.Time {
	t := m.clock.Now()
	if c := m.creds.Load(); t.Before(m.clock.Floor) || c != nil && !t.Before(c.ca.NotAfter) {
		return time.Time{}
	}
	return t
}

// verifyAt is the time as of which certificates are looked at. A clock that can be right is believed, and nothing besides: what a host said
// while its own was ahead for a moment would lock everybody out whose certificate is over by then.
func (m *Membership) verifyAt() time.Time {
	if t := m.now(); !t.IsZero() {
		return t
	}
	return m.notBefore()
}

// notBefore is a time that should have come, for what is due.
func (m *Membership) notBefore() time.Time {
	t := m.now()
	if l := time.Unix(m.learned.Load(), 0); l.After(t) {
		t = l
	}
	if c := m.creds.Load(); c != nil && c.leaf.NotBefore.After(t) {
		t = c.leaf.NotBefore
	}
	return t
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

// tell reports changes and sends notes, without the lock.
func (m *Membership) tell(changes []Change, notes ...mqtt.Note) {
	m.mu.Lock()
	send, on, log := m.send, m.onChange, m.log
	m.mu.Unlock()
	for _, n := range notes {
		send(n)
	}
	for _, c := range changes {
		log.Info(eventChange, "what", c.What, "device", string(c.Device), "name", c.Name)
		on(c)
	}
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
