package membership

import (
	"crypto/ecdsa"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"conch/companions/round"
	"conch/mqtt"
)

// book is the room as this device has it, in memory and on disk, and who hears of what changes in it. All parts of a Membership stand on it.
type book struct {
	id    mqtt.Identity // fixed after Open, like store
	store store

	room  atomic.Pointer[Room] // snapshot; nil: not paired
	dates                      // each with locks of its own
	hooks

	mu       sync.Mutex // the rest
	rec      *record    // what room.json says: never changed, but replaced
	unsaved  bool       // room.json does not say it yet
	outFor   error      // this device is out, and room.json is still there: why
	caKey    *ecdsa.PrivateKey
	founding *founding
	gone     chan struct{} // closed when the host has let this device go; nil: nobody waits for that
}

// Room is a snapshot; nil: this device is in no room.
func (b *book) Room() *Room { return b.room.Load() }

// IsHost says whether this device keeps the room.
func (b *book) IsHost() bool {
	r := b.Room()
	return r != nil && r.Host == b.id.ID()
}

// Member says whether a device belongs to the room (mqtt.Config.Member).
func (b *book) Member(id round.DeviceID) bool {
	r := b.Room()
	if r == nil {
		return false
	}
	_, ok := r.Member(id)
	return ok
}

// adopt makes a record the present one. The lock is held, or nobody else is there yet.
func (b *book) adopt(r *record) error {
	var c *credentials
	room := r.snapshot(nil)
	if !r.Foreign {
		var err error
		if c, err = r.credentials(b.id); err != nil {
			return fmt.Errorf("membership: %w", err)
		}
		room = r.snapshot(c.leaf)
	}
	b.rec = r
	b.learned.Store(max(b.learned.Load(), r.At))
	b.creds.Store(c)
	b.room.Store(room)
	return nil
}

// keep writes a record and then makes it the present one. The lock is held.
func (b *book) keep(r *record) error {
	if err := b.store.writeRecord(r); err != nil {
		return err
	}
	b.unsaved, b.outFor = false, nil
	return b.adopt(r)
}

// keepOut is keep for a list that somebody was taken off: that counts at once, whatever the disk says. What could not be written is
// written when it can be (look).
func (b *book) keepOut(r *record) error {
	err := b.store.writeRecord(r)
	b.unsaved = err != nil
	return errors.Join(err, b.adopt(r))
}

// edit has f make another record of this one, and keep it, under the lock. Without a room it does nothing.
func (b *book) edit(f func(r *record) error) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.rec == nil {
		return nil
	}
	return f(b.rec.clone())
}

// save tries again.
func (b *book) save() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.unsaved || b.rec == nil {
		return nil
	}
	err := b.store.writeRecord(b.rec)
	b.unsaved = err != nil
	return err
}

// end leaves the room on disk and in memory. The lock is held.
func (b *book) end() error {
	err := b.store.clear()
	b.rec, b.caKey, b.unsaved, b.outFor = nil, nil, false, nil
	b.room.Store(nil)
	b.creds.Store(nil)
	return err
}
