package membership

import (
	"slices"
	"sync"
	"time"

	"conch/companions/round"
)

// Who keeps the room: where it was reached, when it was there last, and whether it has been gone for long.

// contact is when the keeper was there last; of a keeper, whether somebody came.
type contact struct {
	linked   bool
	heard    time.Time // the last time that it was, or this device's start
	began    time.Time
	served   bool           // a member has come
	released round.DeviceID // where the keeper has sent its members
	bid      time.Time      // when this keeper gave itself a higher number
}

// LinkUp says that the room can be reached (mqtt.Config.OnLink): what was missed is asked for.
func (m *Membership) LinkUp() {
	m.linked(true)
	m.post(func() {
		if m.IsHost() {
			m.sendList(false)
			return
		}
		m.sayAck()
		m.askList()
		m.askRenewal()
	})
}

// LinkDown says that the room can no longer be reached (mqtt.Config.OnLink).
func (k *keeping) LinkDown() { k.linked(false) }

func (k *keeping) linked(up bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.contact.linked || up {
		k.contact.heard = time.Now()
	}
	k.contact.linked = up
	if up {
		k.contact.released = ""
	}
}

// came: another member is at this device's broker.
func (k *keeping) came() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.contact.served = true
}

// Missing is how long the device that keeps the room has been out of reach, and how much longer it must be until this one may take its
// place (Keep); 0, 0: it is there, or is this device, or there is no room.
func (k *keeping) Missing() (gone, wait time.Duration) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.rec == nil || k.rec.isHost() || k.contact.linked {
		return 0, 0
	}
	gone = time.Since(k.contact.heard)
	return gone, max(0, k.clock.Missing-gone)
}

// Patience is how long a keeper must be out of reach until another device may take its place.
func (k *keeping) Patience() time.Duration { return k.clock.Missing }

// Seeking says whether another keeper should be looked for: this one's is away, or has sent it elsewhere, or this device keeps the room itself
// and there may be another one.
func (k *keeping) Seeking() (now, keeper bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.rec == nil || k.rec.Foreign {
		return false, false
	}
	return k.rec.isHost() || !k.contact.linked || k.contact.released != "", k.rec.isHost()
}

// release is the keeper's word that it no longer keeps the room, and who does.
func (k *keeping) release(to round.DeviceID) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.rec != nil && k.rec.find(to) >= 0 && to != k.rec.Device {
		k.contact.released = to
	}
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

// keeping is who keeps the room: this device's contact with the keeper, or as one, and what it settles with others.
type keeping struct {
	*book
	bounds  *bounds
	contact contact    // guarded by mu of the book
	meeting sync.Mutex // held while this device settles with another one who keeps the room (Meet)
}
