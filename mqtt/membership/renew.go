package membership

import (
	"crypto/ed25519"
	"fmt"

	"conch/companions/round"
	"conch/mqtt"
)

// Certificates are renewed: the host its own, and a member by asking.

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
