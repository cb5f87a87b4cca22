package membership

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base32"
	"strings"
	"sync"
	"time"

	"conch/companions/round"
)

// Whoever reaches the listener is shown a certificate before it has shown one itself (RFC 8446, 4.4.2), and the room's names device and room.
// So a member knocks: the server name of its first message (RFC 6066, 3) is drawn anew each time and proves that it knows the room's
// authority. Who does not knock is shown a certificate that says nothing and is another one each hour; it is refused then like any stranger.
//
// A member whose conch is older does not knock, and cannot be told from a stranger: until each member on the list has knocked since this
// device began, who does not knock is shown the room's certificate as well.
type knocks struct {
	mu    sync.Mutex // guards all
	by    map[round.DeviceID]bool
	used  map[string]time.Time // knocks, and when they came first
	blank *tls.Certificate     // what strangers are shown
	until time.Time
}

const (
	knockSuffix = ".conch"
	knockLife   = 30 * time.Second // a member tries its addresses with one knock; who has listened in comes too late with it
	maxKnocks   = 1024             // that are remembered
	blankLife   = time.Hour
)

// knockWith is the server name of one attempt, made of a nonce.
func knockWith(c *credentials, nonce string) string { return knockOf(c.ca.Raw, nonce) }

// Two members that settle who keeps the room may know different authorities: they prove that they know the room's id.
func keeperKey(room string) []byte { return []byte("conch keeper\x00" + room) }

// KeeperKnock is the server name of one attempt to settle with a device that keeps the room (Meet).
func (d *door) KeeperKnock() string {
	room := d.Room()
	if room == nil {
		return ""
	}
	return knockOf(keeperKey(room.ID), strings.ToLower(rand.Text()))
}

// KeeperKnocked says whether somebody has knocked like that; a stranger is shown nothing.
func (d *door) KeeperKnocked(name string) bool {
	room := d.Room()
	return room != nil && d.knocks.fresh(keeperKey(room.ID), name, time.Now())
}

func knockOf(key []byte, nonce string) string {
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte("conch knock\x00" + nonce))
	return nonce + "." + lower(mac.Sum(nil)[:16]) + knockSuffix
}

func newKnock(c *credentials) string { return knockWith(c, strings.ToLower(rand.Text())) }

func lower(b []byte) string {
	return strings.ToLower(base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString(b))
}

// good says whether name is a knock at this room that nobody has heard before, but for a moment.
func (k *knocks) good(c *credentials, name string, now time.Time) bool {
	return k.fresh(c.ca.Raw, name, now)
}

func (k *knocks) fresh(key []byte, name string, now time.Time) bool {
	nonce, _, _ := strings.Cut(name, ".")
	if len(nonce) != 26 || !hmac.Equal([]byte(name), []byte(knockOf(key, nonce))) {
		return false
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	first, again := k.used[nonce]
	if again {
		return now.Sub(first) < knockLife
	}
	if k.used == nil || len(k.used) >= maxKnocks { // only members fill it
		k.used = map[string]time.Time{}
	}
	k.used[nonce] = now
	return true
}

// came notes that a member has knocked.
func (k *knocks) came(id round.DeviceID) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.by == nil {
		k.by = map[round.DeviceID]bool{}
	}
	k.by[id] = true
}

// all says whether every member but this device has knocked.
func (k *knocks) all(room *Room, self round.DeviceID) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, m := range room.Members {
		if m.ID != self && !k.by[m.ID] {
			return false
		}
	}
	return true
}

// nameless is what a stranger is shown.
func (k *knocks) nameless(now time.Time) (*tls.Certificate, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.blank != nil && now.Before(k.until) && now.After(k.until.Add(-2*blankLife)) {
		return k.blank, nil
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	t := &x509.Certificate{
		SerialNumber: serial(), Subject: pkix.Name{CommonName: strings.ToLower(rand.Text())},
		NotBefore: time.Date(1970, 1, 1, 0, 0, 0, 0, time.UTC), NotAfter: time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC),
	}
	der, err := x509.CreateCertificate(rand.Reader, t, t, key.Public(), key)
	if err != nil {
		return nil, err
	}
	k.blank, k.until = &tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, now.Add(blankLife)
	return k.blank, nil
}
