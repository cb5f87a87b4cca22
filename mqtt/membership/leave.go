package membership

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"conch/companions/round"
	"conch/mqtt"
)

// A device goes, or is removed, or never came.

// leavePatience is how long a device that goes waits for the host.
const leavePatience = 1500 * time.Millisecond

// Remove ends a device's membership. When it returns nil the device is off the list; OnChange (Removed) has been told where the
// host is this device, and it must drop the connection. Elsewhere the host is asked.
func (m *Membership) Remove(ctx context.Context, id round.DeviceID) error {
	return m.Expel(ctx, id, false)
}

// Expel is Remove, and guests: with those that the device has let in (Room.Guests).
func (m *Membership) Expel(ctx context.Context, id round.DeviceID, guests bool) error {
	room := m.Room()
	switch {
	case room == nil:
		return ErrNotPaired
	case !m.Member(id):
		return fmt.Errorf("%w: %s", ErrNoMember, id)
	case id == room.Host:
		return ErrHost
	case m.IsHost():
		return m.removeFor(m.id.ID(), id, guests)
	}
	_, err := m.requests.ask(ctx, func(request string) mqtt.Note { return note(noteRemove, removeBody{request, id, guests}) })
	return err
}

// removeFor is the host's part of what a member has asked for.
func (m *Membership) removeFor(by, id round.DeviceID, guests bool) error {
	room := m.Room()
	switch {
	case room == nil || !m.IsHost():
		return errNotHost
	case id == room.Host:
		return ErrHost
	}
	if _, ok := room.Member(id); !ok {
		return fmt.Errorf("%w: %s", ErrNoMember, id)
	}
	ids := []round.DeviceID{id}
	if guests {
		for _, g := range room.Guests(id) {
			if g.ID != by { // who asks does not mean itself
				ids = append(ids, g.ID)
			}
		}
	}
	return m.remove(by, ids...)
}

// remove takes devices off the list. by is who removes them; empty: they went, or never came, and may come back by anybody's window.
func (m *Membership) remove(by round.DeviceID, ids ...round.DeviceID) error {
	if !m.IsHost() {
		return errNotHost
	}
	var changes []Change
	err := m.edit(func(r *record) error {
		for _, id := range ids {
			if i := r.find(id); i >= 0 && id != r.Host {
				name := r.Members[i].Name
				changes = append(changes, Change{What: Removed, Device: id, Name: name, By: by})
				r.Members = slices.Delete(r.Members, i, i+1)
				delete(r.Origins, id)
				if by != "" {
					r.Removed = slices.DeleteFunc(r.Removed, func(g removal) bool { return g.ID == id })
					r.Removed = append(r.Removed, removal{id, name, by, m.raw()})
					r.Removed = r.Removed[max(0, len(r.Removed)-maxRemoved):]
				}
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

// askLeave tells the host, and waits a moment for its list without this device, or for the end of the connection.
func (m *Membership) askLeave(ctx context.Context, gone <-chan struct{}) {
	ctx, cancel := context.WithTimeout(ctx, leavePatience)
	defer cancel()
	m.say(note(noteLeft, leftBody{}))
	select {
	case <-gone:
	case <-ctx.Done():
	}
}

// expire forgets members that never came. A member that was expected when the clock was wrong is expected anew once it is right.
func (m *Membership) expire() error {
	now := m.clock.Now()
	var late []round.DeviceID
	err := m.edit(func(r *record) error {
		again := false
		for i, l := range r.Members {
			since := time.Unix(l.Since, 0)
			switch {
			case !l.Pending:
			case since.After(now), since.Before(m.clock.Floor) != now.Before(m.clock.Floor):
				r.Members[i].Since, again = m.raw(), true
			case now.Sub(since) > pendingFor:
				late = append(late, l.ID)
			}
		}
		if !again {
			return nil
		}
		return m.keep(r)
	})
	if err != nil || len(late) == 0 {
		return err
	}
	return m.remove("", late...)
}
