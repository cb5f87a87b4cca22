package membership

import (
	"crypto/ecdsa"
	"crypto/x509"
	"sync/atomic"
	"time"
)

// Clock is the time as this device knows it; the zero value is the system's.
type Clock struct {
	Now   func() time.Time // may be at 1970, and may jump
	Floor time.Time        // whoever runs this lives after it: an earlier Now is no clock
	Every time.Duration    // how often Run looks whether something is due; a minute

	Missing time.Duration // how long a keeper must be out of reach until another device may take its place; keeperPatience
}

// floor is a day on which this program did not exist yet.
var floor = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// dates is what day it is: by this device's clock, by the host's word, and by the certificates.
type dates struct {
	clock   Clock                       // fixed
	creds   atomic.Pointer[credentials] // what this device shows and believes; nil: nothing
	learned atomic.Int64                // the latest date that the host has said, in seconds
}

// now is the own time; zero where it can be none: before this program, or after the room's authority.
func (d *dates) now() time.Time {
	t := d.clock.Now()
	if c := d.creds.Load(); t.Before(d.clock.Floor) || c != nil && !t.Before(c.ca.NotAfter) {
		return time.Time{}
	}
	return t
}

// verifyAt is the time as of which certificates are looked at. A clock that can be right is believed, and nothing besides: what a host said
// while its own was ahead for a moment would lock everybody out whose certificate is over by then.
func (d *dates) verifyAt() time.Time {
	if t := d.now(); !t.IsZero() {
		return t
	}
	return d.notBefore()
}

// notBefore is a time that should have come, for what is due.
func (d *dates) notBefore() time.Time {
	t := d.now()
	if l := time.Unix(d.learned.Load(), 0); l.After(t) {
		t = l
	}
	if c := d.creds.Load(); c != nil && c.leaf.NotBefore.After(t) {
		t = c.leaf.NotBefore
	}
	return t
}

// stamp is the time for what is written down; 0: no clock.
func (d *dates) stamp() int64 {
	if t := d.now(); !t.IsZero() {
		return t.Unix()
	}
	return 0
}

// raw is the clock as it is, for a member that is expected: whether a day has passed can be told even by a clock that is wrong, as long
// as it stays so (expire).
func (d *dates) raw() int64 { return max(1, d.clock.Now().Unix()) }

// possible says whether that can be the time in this room: a host may have said it whose clock was wrong.
func (d *dates) possible(seconds int64) bool {
	c := d.creds.Load()
	return c == nil || time.Unix(seconds, 0).Before(c.ca.NotAfter)
}

// issue makes a certificate for a device. A host without a clock makes one that lasts.
func (d *dates) issue(ca *x509.Certificate, key *ecdsa.PrivateKey, p Party) ([]byte, error) {
	from, life := d.now(), leafLife
	if from.IsZero() {
		from, life = d.clock.Floor, blindLife
	}
	if from.Before(ca.NotBefore) { // the clock was wrong then, or is now: the authority's word stands
		from = ca.NotBefore
	}
	return newLeaf(ca, key, p.Key, from, from.Add(life))
}
