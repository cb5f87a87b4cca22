package membership

import (
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"slices"
	"time"

	"conch/companions/round"
	"conch/mqtt"
)

const (
	pendingFor = day           // an expected member that does not come within it is forgotten
	askEvery   = 6 * time.Hour // a member asks for the list even if nothing seems to have changed
	listDelay  = 100 * time.Millisecond
	blindLooks = 10 // looks from one request to the next where the host may have no clock yet
)

// maxLead is how far a backup may be behind: more than a room changes in all its years.
const maxLead = 1 << 20

var errOldList = errors.New("the list is older than the one that is known")

// Run handles notes, renews certificates and forgets who never came, until ctx ends. It returns nil.
func (m *Membership) Run(ctx context.Context) error {
	tick := time.NewTicker(m.clock.Every)
	defer tick.Stop()
	var list <-chan time.Time // nil: nobody waits for the list. Several that ask at once, after a restart, get one answer
	for {
		select {
		case <-ctx.Done():
			return nil
		case f := <-m.inbox:
			f()
			if m.listDue && list == nil { // later asks do not put it off: there may be no end of them
				list = time.After(listDelay)
			}
		case <-list:
			list, m.listDue = nil, false
			m.sendList(false)
		case <-tick.C:
			m.look()
		}
	}
}

// LinkUp says that the room can be reached (mqtt.Config.OnLink): what was missed is asked for.
func (m *Membership) LinkUp() {
	m.post(func() {
		if m.IsHost() {
			m.sendList(false)
			return
		}
		m.askList()
		m.askRenewal()
	})
}

func (m *Membership) askList() {
	if room := m.Room(); room != nil {
		m.say(note(noteAsk, askBody{Have: room.Version}))
	}
}

// look sees to what has become due. The clock may have jumped since the last time, so nothing is planned ahead.
func (m *Membership) look() {
	m.looks++
	if err := errors.Join(m.save(), m.outAtLast()); err != nil {
		m.trouble("save", err)
	}
	switch {
	case m.Room() == nil:
	case m.IsHost():
		if err := m.renewOwn(); err != nil {
			m.trouble("renew", err)
		}
		if err := m.expire(); err != nil {
			m.trouble("expire", err)
		}
		if room := m.Room(); room != nil && room.Version != m.repeated {
			m.repeated = room.Version
			m.sendList(false)
		}
	default:
		if m.heard.IsZero() || time.Since(m.heard) > askEvery {
			m.askList()
		}
		m.askRenewal()
	}
}

// askRenewal asks for a certificate if that is due.
func (m *Membership) askRenewal() {
	c := m.creds.Load()
	if c == nil || !due(c.leaf, m.notBefore()) {
		return
	}
	if c.leaf.NotAfter.Sub(c.leaf.NotBefore) > blindFrom && m.looks%blindLooks > 1 {
		return
	}
	m.say(note(noteRenew, renewBody{Key: m.id.PublicKey()}))
}

// renew gives a member a certificate. Without a clock there is nothing better than what it has.
func (m *Membership) renew(to round.DeviceID, key ed25519.PublicKey) error {
	if len(key) != ed25519.PublicKeySize || mqtt.Fingerprint(key) != to {
		return fmt.Errorf("membership: renew: %w", ErrNotItsName)
	}
	c := m.creds.Load()
	if c == nil || m.now().IsZero() {
		return nil
	}
	m.mu.Lock()
	cert, err := m.issue(c.ca, m.caKey, Party{Device: to, Key: key})
	m.mu.Unlock()
	if err != nil {
		return fmt.Errorf("membership: %w", err)
	}
	m.say(note(noteRenewed, renewedBody{To: to, Cert: cert}))
	return nil
}

// renewOwn is the host's own certificate.
func (m *Membership) renewOwn() error {
	c := m.creds.Load()
	if c == nil || m.now().IsZero() || !due(c.leaf, m.now()) {
		return nil
	}
	m.mu.Lock()
	cert, err := m.issue(c.ca, m.caKey, Party{Device: m.id.ID(), Key: m.id.PublicKey()})
	m.mu.Unlock()
	if err != nil {
		return fmt.Errorf("membership: %w", err)
	}
	return m.renewedBy(cert)
}

// renewedBy takes a certificate over, if it is later than the one that is there.
func (m *Membership) renewedBy(cert []byte) error {
	var changes []Change
	err := m.edit(func(r *record) error {
		old := m.creds.Load()
		if old == nil {
			return nil
		}
		r.Cert = cert
		c, err := r.credentials(m.id)
		if err != nil || !c.leaf.NotBefore.After(old.leaf.NotBefore) && (!due(old.leaf, m.notBefore()) || due(c.leaf, m.notBefore())) {
			return err // none: the one that is there is as good, and this is the answer to an earlier question
		}
		changes = []Change{{What: Renewed, Device: m.id.ID(), Name: m.Room().Called}}
		return m.keep(r)
	})
	if err != nil {
		return fmt.Errorf("membership: renew: %w", err)
	}
	m.tell(changes)
	return nil
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
	return m.remove(late...)
}

// asked is a member that wants the list. It may have a later one than this device, which was restored from a backup: then this one's
// must count again. One that nobody can have is a lie: a list without versions left could never say again that somebody is out.
func (m *Membership) asked(have uint64) error {
	m.listDue = true
	return m.edit(func(r *record) error {
		if have <= r.Version || have-r.Version > maxLead {
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
