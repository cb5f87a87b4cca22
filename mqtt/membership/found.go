package membership

import (
	"crypto/ecdsa"
	"errors"
	"fmt"

	"conch/mqtt"
)

// A room begins, for its host in memory and for a newcomer with a welcome.

// founding is a room in memory, until somebody is in it besides this device.
type founding struct {
	rec   *record
	caKey *ecdsa.PrivateKey
}

// Found makes a room of which this device is the host, in memory: the first Admit writes it down. A room found before that and never
// written is forgotten. With somebody else's broker there are no certificates, and the room's name is that of the configuration.
func (m *Membership) Found(name, called string, foreign bool) error {
	if err := mqtt.CheckRoom(name); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.rec != nil {
		return ErrPaired
	}
	self := m.id.ID()
	r := &record{V: 1, Device: self, ID: newRoomID(), Name: name, Host: self, Foreign: foreign, Version: 1, At: m.stamp()}
	r.Members = []listed{{ID: self, Name: tidyName(called), Since: m.stamp(), Seen: m.stamp()}}
	f := &founding{rec: r}
	if !foreign {
		from := m.now()
		if from.IsZero() {
			from = m.clock.Floor
		}
		key, ca, err := newCA(r.ID, from)
		if err != nil {
			return fmt.Errorf("membership: %w", err)
		}
		f.caKey, r.CA = key, ca.Raw
		if r.Cert, err = m.issue(ca, key, Party{Device: self, Key: m.id.PublicKey()}); err != nil {
			return fmt.Errorf("membership: %w", err)
		}
	}
	m.founding = f
	return nil
}

// Founding is the room that Found made and nobody has entered yet; nil: there is none.
func (m *Membership) Founding() *Room {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.founding == nil {
		return nil
	}
	return m.founding.rec.snapshot(nil)
}

// Accept enters the room that the welcome describes; one in which nobody else is any more is given up for it. host is who gave it: a member
// that has proved to know the code. When it returns nil the room is on disk, and this device is in.
func (m *Membership) Accept(host Party, welcome []byte) error {
	r, err := decode(welcome, m.id)
	if err != nil {
		return fmt.Errorf("membership: %w: %w", ErrWelcome, err)
	}
	if r.isHost() || r.find(host.Device) < 0 {
		return fmt.Errorf("membership: %w: %s is not in the room it gives", ErrWelcome, host.Device)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	old := m.rec
	if old != nil && !old.alone() {
		return ErrPaired
	}
	if err := m.keep(r); err != nil {
		if old == nil {
			err = errors.Join(err, m.store.clear())
		}
		return err
	}
	m.founding, m.caKey = nil, nil
	if old != nil {
		if err := m.store.dropKey(); err != nil { // it goes at the next start
			m.trouble("drop the old room's key", err)
		}
	}
	return nil
}
