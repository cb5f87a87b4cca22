package membership

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"conch/companions/round"
	"conch/mqtt"
)

// The list, from the host that keeps it to those that take it over.

// sendList tells everybody, if this device keeps the room, who belongs to it, or that there is no room any more.
func (b *book) sendList(ended bool) {
	b.mu.Lock()
	r := b.rec
	b.mu.Unlock()
	if r == nil || !r.isHost() {
		return
	}
	if r = r.clone(); ended {
		r.Version, r.Members = r.Version+1, []listed{}
	} else {
		r.At = b.stamp()
	}
	notes := []mqtt.Note{r.list()}
	if !ended {
		notes = append(notes, note(noteOrigins, originsBody{r.ID, r.Version, r.Origins, r.Removed}))
	}
	b.say(notes...)
}

func (b *book) askList() {
	if room := b.Room(); room != nil {
		b.say(note(noteAsk, askBody{Have: room.Version}))
	}
}

// maxLead is how far a backup may be behind: more than a room changes in all its years.
const maxLead = 1 << 20

var errOldList = errors.New("the list is older than the one that is known")

// asked is a member that wants the list. It may have a later one than this device, which was restored from a backup: then this one's
// must count again. One that nobody can have is a lie: a list without versions left could never say again that somebody is out.
func (m *Membership) asked(have uint64) error {
	m.listDue = true
	return m.edit(func(r *record) error {
		if have <= r.Version || have-r.Version > maxLead || !m.bounds.limits.jump(time.Now()) {
			return nil
		}
		r.Version = have + 1
		return m.keep(r)
	})
}

// listed takes the host's list over.
func (m *Membership) listed(b *listBody) error {
	m.mu.Lock()
	if m.rec == nil || b.Room != m.rec.ID {
		m.mu.Unlock()
		return nil
	}
	if b.Version < m.rec.Version {
		m.mu.Unlock()
		m.askList() // with the version that is known here, so that the host knows
		return fmt.Errorf("membership: %w: version %d", errOldList, b.Version)
	}
	if err := checkList(b.Version, b.Members); err != nil {
		m.mu.Unlock()
		return fmt.Errorf("membership: the host's list: %w", err)
	}
	m.heard = time.Now()
	if plausible(b.At) && m.possible(b.At) {
		m.learned.Store(max(m.learned.Load(), b.At))
	}
	if b.Version == m.rec.Version {
		m.mu.Unlock()
		return nil
	}
	old, r := m.rec, m.rec.clone()
	r.Version, r.At, r.Members = b.Version, max(0, b.At), b.Members
	if b.Claim != nil && b.Claim.Term > r.Term { // it has outbid another keeper
		r.Term, r.Claim = b.Claim.Term, b.Claim
		if err := r.checkClaim(); err != nil {
			m.mu.Unlock()
			return err
		}
	}
	if r.find(r.Device) < 0 {
		m.mu.Unlock()
		if len(b.Members) == 0 {
			return m.out(ErrEnded)
		}
		return m.out(ErrRemoved)
	}
	if r.find(r.Host) < 0 {
		m.mu.Unlock()
		return errors.New("membership: the host is not in its own list")
	}
	err := m.keepOut(r)
	m.mu.Unlock()
	m.tell(differences(old.Members, r.Members))
	return err
}

// origins takes over who let whom in, and who was removed. It comes behind its list.
func (m *Membership) origins(b *originsBody) error {
	if err := checkOrigins(b.Origins, b.Removed); err != nil {
		return fmt.Errorf("membership: the host's list: %w", err)
	}
	return m.edit(func(r *record) error {
		if b.Room != r.ID || b.Version != r.Version || maps.Equal(b.Origins, r.Origins) && slices.Equal(b.Removed, r.Removed) {
			return nil
		}
		r.Origins, r.Removed = b.Origins, b.Removed
		return m.keep(r)
	})
}

func differences(old, members []listed) (out []Change) {
	at := func(list []listed, id round.DeviceID) int {
		return slices.IndexFunc(list, func(l listed) bool { return l.ID == id })
	}
	for _, l := range old {
		if at(members, l.ID) < 0 {
			out = append(out, Change{What: Removed, Device: l.ID, Name: l.Name})
		}
	}
	for _, l := range members {
		i := at(old, l.ID)
		switch {
		case i < 0:
			out = append(out, Change{What: Admitted, Device: l.ID, Name: l.Name})
			continue
		case old[i].Name != l.Name:
			out = append(out, Change{What: Renamed, Device: l.ID, Name: l.Name})
		}
		if old[i].Pending && !l.Pending {
			out = append(out, Change{What: Confirmed, Device: l.ID, Name: l.Name})
		}
	}
	return out
}
