package membership

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"time"

	"conch/companions/round"
	"conch/mqtt"
)

// Errors of keeping a room.
var (
	ErrKeeps  = errors.New("this device keeps the room already")
	ErrHeard  = errors.New("the device that keeps the room was heard a short time ago")
	ErrBroker = errors.New("this room is at a broker of its own, which none of the devices keeps")
)

// bidEvery is the least time between two of a keeper's higher numbers: each is written down.
const bidEvery = 10 * time.Second

var errTooSoon = errors.New("membership: too soon after the last time")

// Keep makes this device the keeper of its room, in place of one that is gone: a new authority, and the list under a new number. When it
// returns nil that is on disk. The others come over one by one (Meet).
func (k *keeping) Keep() error {
	_, wait := k.Missing()
	k.mu.Lock()
	defer k.mu.Unlock()
	switch {
	case k.rec == nil:
		return ErrNotPaired
	case k.rec.isHost():
		return ErrKeeps
	case k.rec.Foreign:
		return ErrBroker
	case k.contact.linked, wait > 0:
		return fmt.Errorf("%w: it must have been out of reach for %s (%s more)", ErrHeard, k.clock.Missing, wait.Round(time.Second))
	}
	old, r := k.rec, k.rec.clone()
	from := k.now()
	if from.IsZero() {
		from = k.clock.Floor
	}
	key, ca, err := newCA(r.ID, from)
	if err != nil {
		return fmt.Errorf("membership: %w", err)
	}
	r.Host, r.CA, r.Addresses, r.Acks = k.id.ID(), ca.Raw, nil, nil
	r.Term, r.Version, r.At = r.Term+1, r.Version+1, k.stamp()
	if r.Cert, err = k.issue(ca, key, Party{Device: k.id.ID(), Key: k.id.PublicKey()}); err != nil {
		return fmt.Errorf("membership: %w", err)
	}
	r.Claim = newClaim(k.id, r)
	r.Claim.Succeeds = old.Host
	r.Claim.sign(k.id, r.ID)
	if err := k.store.writeKey(key); err != nil {
		return err
	}
	if err := k.keep(r); err != nil {
		return errors.Join(err, k.store.dropKey())
	}
	k.caKey = key
	return nil
}

// standing is this device as of now; for whom counts what another one says.
func (k *keeping) standing(r *record) standing {
	s := standing{self: r.Device, host: r.Host, term: r.Term, others: len(r.Members) - 1, patience: k.clock.Missing,
		served: k.contact.served, up: time.Since(k.contact.began), released: k.contact.released}
	if !k.contact.linked {
		s.missing = time.Since(k.contact.heard)
	}
	if r.Claim != nil && r.isHost() {
		s.acks = len(r.Claim.taken(r.ID, r.Acks, r.counts()))
	}
	return s
}

// welcome is the room for a member that comes over to this device, and what has changed with that. A member that knows a later list has
// seen removals that this device has not: they count. (Whom it has seen admitted comes by pairing: no member lets anybody in alone.)
func (k *keeping) welcomeOver(p Party, h *meetHello) ([]byte, []Change, error) {
	r := k.rec.clone()
	if !r.isHost() || k.caKey == nil {
		return nil, nil, errNotHost
	}
	var changes []Change
	if h.Version >= r.Version && h.Host != r.Host {
		r.Members = slices.DeleteFunc(r.Members, func(l listed) bool {
			gone := l.ID != r.Host && l.ID != p.Device && !slices.Contains(h.Devices, l.ID)
			if gone {
				changes = append(changes, Change{What: Removed, Device: l.ID, Name: l.Name})
			}
			return gone
		})
		r.Version = h.Version + 1
		r.At = k.stamp()
		if err := k.keep(r); err != nil {
			return nil, nil, err
		}
	}
	w := r.clone()
	w.Device, w.Acks, w.Addresses = p.Device, nil, nil
	for _, a := range k.reachable() {
		if goodAddress(a) && len(w.Addresses) < maxAddresses {
			w.Addresses = append(w.Addresses, a)
		}
	}
	ca, err := parseCert(r.CA)
	if err != nil {
		return nil, changes, fmt.Errorf("membership: %w", err)
	}
	if w.Cert, err = k.issue(ca, k.caKey, p); err != nil {
		return nil, changes, fmt.Errorf("membership: %w", err)
	}
	data, err := encodeRecord(w)
	return data, changes, err
}

// comeOver takes the room as its new keeper gives it. When it returns nil it is on disk.
func (k *keeping) comeOver(keeper round.DeviceID, term uint64, welcome []byte) error {
	w, err := decode(welcome, k.id)
	if err != nil {
		return fmt.Errorf("membership: %w: %w", ErrWelcome, err)
	}
	k.mu.Lock()
	old := k.rec
	switch {
	case old == nil:
		err = ErrNotPaired
	case w.ID != old.ID, w.Host != keeper, w.isHost(), w.Foreign, w.Term < term, w.Term <= old.Term, w.Term > term+maxTermLead:
		err = fmt.Errorf("%w: it is not the room that was spoken of", ErrWelcome)
	case w.Version <= old.Version && w.Host != old.Host:
		err = fmt.Errorf("%w: version %d", errOldList, w.Version)
	}
	if err == nil {
		w.Name = old.Name
		err = k.keep(w)
	}
	if err != nil {
		k.mu.Unlock()
		return err
	}
	kept := k.caKey != nil
	k.caKey = nil
	k.contact = contact{heard: time.Now(), began: k.contact.began}
	k.mu.Unlock()
	var notes []mqtt.Note
	if kept {
		if err := k.store.dropKey(); err != nil {
			k.trouble("drop the old authority's key", err)
		}
		notes = old.farewell(w)
	}
	l := w.Members[w.find(keeper)]
	k.tell(append(differences(old.Members, w.Members), Change{What: Moved, Device: keeper, Name: l.Name, Anew: kept}), notes...)
	return nil
}

// farewell is what a keeper says to those that came to it, before it goes over to another one: who is not on that one's list is out, and the
// others are sent there.
func (r *record) farewell(w *record) []mqtt.Note {
	last := r.clone()
	last.Version++
	last.Members = slices.DeleteFunc(last.Members, func(l listed) bool { return l.ID != r.Host && w.find(l.ID) < 0 })
	return []mqtt.Note{last.list(), note(noteMoved, movedBody{To: w.Host})}
}

// accepted is another member's word for this device's claim.
func (k *keeping) accepted(a ack) error {
	return k.edit(func(r *record) error {
		if r.Claim == nil || !r.isHost() || len(r.Claim.taken(r.ID, []ack{a}, r.counts())) == 0 {
			return nil
		}
		if slices.ContainsFunc(r.Acks, func(b ack) bool { return bytes.Equal(a.Key, b.Key) }) {
			return nil
		}
		r.Acks = append(r.Acks[:min(len(r.Acks), maxMembers-1):min(len(r.Acks), maxMembers-1)], a)
		return k.keep(r)
	})
}

// outbids gives this keeper a number above one that comes back to it: what the others have signed for that one is void.
func (k *keeping) outbids(term uint64, other round.DeviceID) error {
	return k.edit(func(r *record) error {
		if !r.isHost() || r.Term > term {
			return nil
		}
		now := time.Now()
		if now.Sub(k.contact.bid) < bidEvery {
			return errTooSoon
		}
		k.contact.bid = now
		r.Term, r.Version, r.At, r.Acks = term+1, r.Version+1, k.stamp(), nil
		r.Claim = newClaim(k.id, r)
		r.Claim.Succeeds = other
		r.Claim.sign(k.id, r.ID)
		return k.keep(r)
	})
}

// sayAck says that this device takes the keeper's claim, at each link: the last time may have been lost.
func (k *keeping) sayAck() {
	k.mu.Lock()
	r := k.rec
	k.mu.Unlock()
	if r == nil || r.Claim == nil || r.isHost() {
		return
	}
	k.say(note(noteAck, r.Claim.ack(k.id, r.ID)))
}
