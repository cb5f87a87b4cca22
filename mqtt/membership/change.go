package membership

import (
	"context"
	"crypto/ecdsa"
	"errors"
	"fmt"
	"slices"
	"time"

	"conch/companions/round"
	"conch/mqtt"
)

var (
	errNoIdentity = errors.New("a device without an identity can be in no room")
	errNotHost    = errors.New("this device does not keep the room")
)

// How long a device waits for the host, and between two times that it asks.
const (
	hostPatience  = 10 * time.Second
	leavePatience = 1500 * time.Millisecond
	askAgain      = 2 * time.Second
)

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

// Admit lets a device in: on disk and in everybody's list before it returns the welcome, so that the newcomer may connect whenever it has
// that. A device that does not keep the room asks the one that does.
func (m *Membership) Admit(ctx context.Context, p Party) (welcome []byte, err error) {
	if mqtt.Fingerprint(p.Key) != p.Device {
		return nil, fmt.Errorf("membership: admit %s: its key is another device's", p.Device)
	}
	m.mu.Lock()
	host := m.founding != nil || m.rec != nil && m.rec.isHost()
	paired := m.rec != nil
	m.mu.Unlock()
	switch {
	case host:
		return m.admit(p)
	case !paired:
		return nil, ErrNotPaired
	}
	a, err := m.request(ctx, func(request string) mqtt.Note {
		return note(noteAdmit, admitBody{request, p.Device, p.Key, tidyName(p.Name)})
	})
	return a.welcome, err
}

// admit is the host's part.
func (m *Membership) admit(p Party) ([]byte, error) {
	m.mu.Lock()
	welcome, changes, err := m.admitLocked(p)
	m.mu.Unlock()
	if err != nil {
		return nil, err
	}
	m.tell(changes)
	m.sendList(false)
	return welcome, nil
}

func (m *Membership) admitLocked(p Party) ([]byte, []Change, error) {
	r, key := m.rec, m.caKey
	first := r == nil
	if first {
		if m.founding == nil {
			return nil, nil, ErrNotPaired
		}
		r, key = m.founding.rec, m.founding.caKey
	}
	r = r.clone()
	if p.Device == r.Device {
		return nil, nil, fmt.Errorf("membership: admit %s: that is this device", p.Device)
	}
	name := r.freeName(p.Name, p.Device)
	if i := r.find(p.Device); i >= 0 { // it lost its room, or the answer got lost
		name = r.Members[i].Name
	} else {
		if len(r.Members) >= maxMembers {
			return nil, nil, fmt.Errorf("%w: %d devices", ErrFull, maxMembers)
		}
		r.Members = append(r.Members, listed{ID: p.Device, Name: name, Since: m.raw(), Pending: true})
		r.Version++
		r.At = m.stamp()
	}
	w := r.clone()
	w.Device = p.Device
	if own := m.reachable(); len(own) > 0 {
		w.Addresses = nil
		for _, a := range own {
			if goodAddress(a) && len(w.Addresses) < maxAddresses {
				w.Addresses = append(w.Addresses, a)
			}
		}
	}
	if !r.Foreign {
		ca, err := parseCert(r.CA)
		if err != nil {
			return nil, nil, fmt.Errorf("membership: %w", err)
		}
		if w.Cert, err = m.issue(ca, key, p); err != nil {
			return nil, nil, fmt.Errorf("membership: %w", err)
		}
	}
	welcome, err := mqtt.JSON(w)
	if err != nil {
		return nil, nil, fmt.Errorf("membership: %w", err)
	}
	if len(welcome) > maxRecord {
		return nil, nil, fmt.Errorf("membership: admit %s: %w", p.Device, ErrFull)
	}
	if first {
		if key != nil {
			if err := m.store.writeKey(key); err != nil {
				return nil, nil, errors.Join(err, m.store.clear())
			}
		}
		if err := m.keep(r); err != nil {
			return nil, nil, errors.Join(err, m.store.clear())
		}
		m.caKey, m.founding = key, nil
	} else if err := m.keep(r); err != nil {
		return nil, nil, err
	}
	return welcome, []Change{{What: Admitted, Device: p.Device, Name: name}}, nil
}

// Confirm says that a member is there, or has what it needs to come. Only the host's word counts; elsewhere it is nothing.
func (m *Membership) Confirm(id round.DeviceID) {
	var changes []Change
	err := m.edit(func(r *record) error {
		i := r.find(id)
		if i < 0 || !r.isHost() {
			return nil
		}
		l := &r.Members[i]
		l.Seen = max(l.Seen, m.stamp())
		if !l.Pending {
			return m.adopt(r) // not worth a write: it goes with the next one
		}
		l.Pending, l.Since = false, m.stamp()
		r.Version++
		r.At = m.stamp()
		changes = []Change{{What: Confirmed, Device: id, Name: l.Name}}
		return m.keep(r)
	})
	switch {
	case err != nil:
		m.trouble("confirm", err)
	case changes != nil:
		m.tell(changes)
		m.sendList(false)
	}
}

// Accept enters the room that the welcome describes. host is who gave it: a member that has proved to know the code. When it
// returns nil the room is on disk, and this device is in.
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
	if m.rec != nil {
		return ErrPaired
	}
	if err := m.keep(r); err != nil {
		return errors.Join(err, m.store.clear())
	}
	m.founding = nil
	return nil
}

// Remove ends a device's membership. When it returns nil the device is off the list; OnChange (Removed) has been told where the
// host is this device, and it must drop the connection. Elsewhere the host is asked.
func (m *Membership) Remove(ctx context.Context, id round.DeviceID) error {
	room := m.Room()
	switch {
	case room == nil:
		return ErrNotPaired
	case !m.Member(id):
		return fmt.Errorf("%w: %s", ErrNoMember, id)
	case id == room.Host:
		return ErrHost
	case m.IsHost():
		return m.remove(id)
	}
	_, err := m.request(ctx, func(request string) mqtt.Note { return note(noteRemove, removeBody{request, id}) })
	return err
}

// remove is the host's part.
func (m *Membership) remove(ids ...round.DeviceID) error {
	if !m.IsHost() {
		return errNotHost
	}
	var changes []Change
	err := m.edit(func(r *record) error {
		for _, id := range ids {
			if i := r.find(id); i >= 0 && id != r.Host {
				changes = append(changes, Change{What: Removed, Device: id, Name: r.Members[i].Name})
				r.Members = slices.Delete(r.Members, i, i+1)
			}
		}
		if len(changes) == 0 {
			return nil
		}
		r.Version++
		r.At = m.stamp()
		return m.keepOut(r)
	})
	if len(changes) > 0 {
		m.tell(changes)
		m.sendList(false)
	}
	if err != nil {
		return fmt.Errorf("the device is out, but that could not be written down yet, and a restart before it can be would undo it: %w", err)
	}
	return nil
}

// Leave ends this device's membership: on disk first, and if that fails it is still in. Then the host is told, if it is there; when the
// host itself leaves, the room ends.
func (m *Membership) Leave(ctx context.Context) error {
	room := m.Room()
	if room == nil {
		return ErrNotPaired
	}
	gone := make(chan struct{})
	m.mu.Lock()
	err := m.store.clear()
	if errors.Is(err, errStillIn) {
		m.mu.Unlock()
		return err
	}
	m.gone = gone // whatever ends the membership from here on, it was left
	m.mu.Unlock()
	if room.Host == m.id.ID() {
		m.sendList(true)
	} else {
		m.askLeave(ctx, gone)
	}
	return m.out(ErrLeft)
}

// out is the end, for whichever reason.
func (m *Membership) out(why error) error {
	m.mu.Lock()
	if m.rec == nil {
		m.mu.Unlock()
		return nil
	}
	err := m.end()
	if m.gone != nil {
		close(m.gone)
		m.gone, why = nil, ErrLeft
	}
	if errors.Is(err, errStillIn) {
		m.outFor = why
		m.mu.Unlock()
		m.tell([]Change{{What: Stuck, Device: m.id.ID(), Why: err}})
		return err
	}
	m.mu.Unlock()
	m.tell([]Change{{What: Out, Device: m.id.ID(), Why: why}})
	return err
}

// outAtLast ends on disk what has ended otherwise.
func (m *Membership) outAtLast() error {
	m.mu.Lock()
	why := m.outFor
	if why == nil {
		m.mu.Unlock()
		return nil
	}
	err := m.store.clear()
	if errors.Is(err, errStillIn) {
		m.mu.Unlock()
		return nil // it was told
	}
	m.outFor = nil
	m.mu.Unlock()
	m.tell([]Change{{What: Out, Device: m.id.ID(), Why: why}})
	return err
}

// Refused tells what the client heard from the broker (mqtt.Config.OnTrouble): the room's host, which has proved to be it, says that this
// device is no member.
func (m *Membership) Refused(err error) {
	room := m.Room()
	if room == nil || room.Foreign || room.Host == m.id.ID() || !errors.Is(err, mqtt.ErrNotMember) {
		return
	}
	m.post(func() {
		if err := m.out(ErrRemoved); err != nil {
			m.trouble("leave", err)
		}
	})
}

// Reached says where the host was found (mqtt.Config.OnReached).
func (m *Membership) Reached(addr string) {
	if goodAddress(addr) {
		m.post(func() { m.reached(addr) })
	}
}

func (m *Membership) reached(addr string) {
	if err := m.edit(func(r *record) error {
		if r.isHost() || len(r.Addresses) > 0 && r.Addresses[0] == addr {
			return nil
		}
		r.Addresses = slices.DeleteFunc(r.Addresses, func(a string) bool { return a == addr })
		r.Addresses = slices.Insert(r.Addresses, 0, addr)
		r.Addresses = r.Addresses[:min(len(r.Addresses), maxAddresses)]
		return m.keep(r)
	}); err != nil {
		m.trouble("address", err)
	}
}
