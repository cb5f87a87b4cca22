package membership

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"conch/companions/round"
	"conch/mqtt"
)

// A device is let in by the host, and comes.

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
	if !host && !paired {
		return nil, ErrNotPaired
	}
	window, err := m.announced(ctx)
	if err != nil {
		return nil, err
	}
	if host {
		return m.admit(p, m.id.ID(), window)
	}
	a, err := m.requests.ask(ctx, func(request string) mqtt.Note {
		return note(noteAdmit, admitBody{request, p.Device, p.Key, tidyName(p.Name), window})
	})
	return a.welcome, err
}

// admit is the host's part: by whose window, and which.
func (m *Membership) admit(p Party, by round.DeviceID, id string) ([]byte, error) {
	now := time.Now()
	m.mu.Lock()
	w, err := m.mayAdmit(p, by, id, now)
	var welcome []byte
	var changes []Change
	if err == nil {
		welcome, changes, err = m.admitLocked(p, by)
	}
	if err == nil && w != nil {
		w.guest = p.Device
	}
	m.mu.Unlock()
	if err != nil {
		return nil, err
	}
	m.tell(changes)
	m.sendList(false)
	m.shutWindow(by, id, "")
	return welcome, nil
}

// mayAdmit says whether that device's window lets a party in. This device's own need not be announced where there is nobody to hear it.
func (ws *windows) mayAdmit(p Party, by round.DeviceID, id string, now time.Time) (*window, error) {
	i := slices.IndexFunc(ws.all, func(w *window) bool { return w.device == by })
	own := by == ws.id.ID()
	if own && id == "" {
		return nil, nil //nolint:nilnil // no window, and no objection
	}
	var w *window
	if i >= 0 {
		w = ws.all[i]
	}
	err := w.admits(id, p.Device, now)
	switch {
	case errors.Is(err, ErrEarly) && own && len(ws.rec.Members) < 2:
	case err != nil:
		return nil, err
	case ws.pressed.Load() != nil && w.guest != p.Device: // and Run has yet to say so
		return nil, ErrWindow
	}
	if !own && ws.rec.keepsOut(p.Device, ws.clock.Now()) {
		return nil, ErrKeptOut
	}
	return w, nil
}

func (m *Membership) admitLocked(p Party, by round.DeviceID) ([]byte, []Change, error) {
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
		r.letIn(p.Device, by)
		r.Version++
		r.At = m.stamp()
	}
	w := r.clone()
	w.Device, w.Acks, w.Origins, w.Removed = p.Device, nil, nil, nil // which an older newcomer would not read
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
	return welcome, []Change{{What: Admitted, Device: p.Device, Name: name, By: by}}, nil
}

// letIn writes down who let a device in.
func (r *record) letIn(id, by round.DeviceID) {
	if r.Origins == nil {
		r.Origins = map[round.DeviceID]round.DeviceID{}
	}
	maps.DeleteFunc(r.Origins, func(guest, _ round.DeviceID) bool { return r.find(guest) < 0 })
	r.Origins[id] = by
	r.Removed = slices.DeleteFunc(r.Removed, func(g removal) bool { return g.ID == id })
}

// keptOutFor is how long a device that was removed is let in by the host alone.
const keptOutFor = 30 * day

// keepsOut says whether a device was removed not long ago. A clock that has jumped says nothing.
func (r *record) keepsOut(id round.DeviceID, now time.Time) bool {
	return slices.ContainsFunc(r.Removed, func(g removal) bool {
		return g.ID == id && now.Sub(time.Unix(g.At, 0)) < keptOutFor
	})
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
