package membership

import (
	"context"
	"errors"
	"time"
)

const (
	pendingFor = day           // an expected member that does not come within it is forgotten
	askEvery   = 6 * time.Hour // a member asks for the list even if nothing seems to have changed
	listDelay  = 100 * time.Millisecond
	blindLooks = 10 // looks from one request to the next where the host may have no clock yet
)

// Run handles notes, renews certificates and forgets who never came, until ctx ends. It returns nil.
func (m *Membership) Run(ctx context.Context) error {
	tick := time.NewTicker(m.clock.Every)
	defer tick.Stop()
	var list <-chan time.Time // nil: nobody waits for the list. Several that ask at once, after a restart, get one answer
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-m.poke:
			m.afterPress()
		case f := <-m.inbox:
			m.afterPress() // before whatever was asked since
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

// look sees to what has become due. The clock may have jumped since the last time, so nothing is planned ahead.
func (m *Membership) look() {
	m.looks++
	for _, id := range m.bounds.limits.calm(m.Member, time.Now()) {
		m.tell([]Change{{What: Calm, Device: id}})
	}
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
