package membership

import (
	"bytes"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"time"

	"conch/companions/round"
	"conch/mqtt"
)

// Who keeps a room whose keeper is gone (PAIRING.md 6, "Gone for good"). A person says so at one member: that makes a claim, which the
// others take or refuse, each by itself. Nothing here knows of a network or a clock.
//
//	claim   term, whom it succeeds, the authority; signed by the new keeper
//	ack     another member's signature under the claim: it has not reached the old keeper either, and takes the new one

// keeperPatience is how long a keeper must have been out of reach until another device may take its place: longer than a restart after an
// upgrade, or a power cut of the whole house, takes. Our choice.
const keeperPatience = 3 * time.Minute

// maxTermLead is how far a claim may be ahead: a device sleeps through so many keepers at most, and no liar brings a term to its end.
const maxTermLead = 1 << 10

// Domains of signatures.
const (
	claimDomain = "conch room keeper v1"
	ackDomain   = "conch room keeper ack v1"
)

// claim says that a device keeps the room from now on.
type claim struct {
	Term      uint64         `json:"term"`      // counts the keepers; the first has 0, and none of this
	Keeper    round.DeviceID `json:"keeper"`    //
	Succeeds  round.DeviceID `json:"succeeds"`  // who kept the room before
	Version   uint64         `json:"version"`   // of the list that was signed anew
	Authority []byte         `json:"authority"` // SHA-256 of its certificate
	At        int64          `json:"at,omitempty"`
	Key       []byte         `json:"key"`
	Sig       []byte         `json:"sig"`
}

// ack is a member's word that it takes a claim.
type ack struct {
	Key []byte `json:"key"`
	Sig []byte `json:"sig"`
}

// signed are the bytes under a signature about the claim.
func (c *claim) signed(domain, room string) []byte {
	var b []byte
	for _, part := range []string{domain, room, string(c.Keeper), string(c.Succeeds), string(c.Authority)} {
		b = binary.BigEndian.AppendUint32(b, uint32(len(part)))
		b = append(b, part...)
	}
	for _, n := range []uint64{c.Term, c.Version, uint64(c.At)} {
		b = binary.BigEndian.AppendUint64(b, n)
	}
	return b
}

func newClaim(id mqtt.Identity, r *record) *claim {
	sum := sha256.Sum256(r.CA)
	c := &claim{Term: r.Term, Keeper: id.ID(), Version: r.Version, Authority: sum[:], At: r.At, Key: id.PublicKey()}
	return c
}

func (c *claim) sign(id mqtt.Identity, room string) {
	c.Sig = ed25519.Sign(id.PrivateKey(), c.signed(claimDomain, room))
}

func (c *claim) ack(id mqtt.Identity, room string) ack {
	return ack{Key: id.PublicKey(), Sig: ed25519.Sign(id.PrivateKey(), c.signed(ackDomain, room))}
}

// check says whether the claim is what its keeper has signed, about this room.
func (c *claim) check(room string) error {
	switch {
	case c.Term == 0, c.Term > maxVersion, c.Version == 0, c.Version > maxVersion, !plausible(c.At):
		return errors.New("membership: a claim with a number that cannot be")
	case mqtt.CheckDevice(c.Keeper) != nil, mqtt.CheckDevice(c.Succeeds) != nil, c.Keeper == c.Succeeds, len(c.Authority) != sha256.Size:
		return errors.New("membership: a claim of nobody")
	case len(c.Key) != ed25519.PublicKeySize, mqtt.Fingerprint(c.Key) != c.Keeper, !ed25519.Verify(c.Key, c.signed(claimDomain, room), c.Sig):
		return errors.New("membership: a claim that its keeper has not signed")
	}
	return nil
}

// taken are the devices that have signed the claim, besides its keeper and not: each once, and only those that count.
func (c *claim) taken(room string, acks []ack, counts func(round.DeviceID) bool) (by []round.DeviceID) {
	for _, a := range acks[:min(len(acks), maxMembers)] {
		if len(a.Key) != ed25519.PublicKeySize {
			continue
		}
		id := mqtt.Fingerprint(a.Key)
		if id == c.Keeper || slices.Contains(by, id) || !counts(id) || !ed25519.Verify(a.Key, c.signed(ackDomain, room), a.Sig) {
			continue
		}
		by = append(by, id)
	}
	return by
}

// standing is this device, when another one says that it keeps the room.
type standing struct {
	self    round.DeviceID
	host    round.DeviceID // who keeps the room, as this device knows
	term    uint64
	acks    int // keeper: others that have signed its own claim
	others  int // devices on its list, besides itself
	missing time.Duration
	// keeper
	served bool          // another device has come to it since it started
	up     time.Duration // since then
	// member
	released round.DeviceID // where its own keeper has sent it

	patience time.Duration
}

// rival is the device that says so. What counts of it is proven: its id by the channel, its acks by signatures.
type rival struct {
	id      round.DeviceID
	listed  bool // a member, and has come
	term    uint64
	acks    int  // by others on this device's list
	before  bool // it is the one that this device has succeeded
	refuses bool // it keeps the room and stays, though its number is lower
	served  bool // by its own word
}

// Why a device does not follow another one.
var (
	errRivalStranger = errors.New("it is not on the list")
	errRivalOlder    = errors.New("its number is not higher")
	errRivalFar      = errors.New("its number is higher than it can be")
	errKeeperLives   = errors.New("the device that keeps the room was heard a moment ago")
	errFewAcks       = errors.New("too few of the others have taken it")
)

// follows says whether this device takes the rival for the room's keeper; else why not.
func (s standing) follows(r rival) error {
	switch {
	case !r.listed:
		return errRivalStranger
	case r.term > s.term+maxTermLead:
		return errRivalFar
	case s.self != s.host:
		return s.memberFollows(r)
	}
	return s.keeperFollows(r)
}

func (s standing) memberFollows(r rival) error {
	switch {
	case r.term <= s.term:
		return errRivalOlder
	case r.id == s.host, s.released == r.id: // its own keeper's word: a new authority, or where to go
		return nil
	case s.missing < s.patience:
		return fmt.Errorf("%w: %s; %s are needed", errKeeperLives, s.missing.Round(time.Second), s.patience)
	}
	return nil
}

// keeperFollows: a keeper that lives is not talked out of it by one member. It yields to most of the others; or where it was away: nobody has
// come to it for as long as a keeper is waited for.
func (s standing) keeperFollows(r rival) error {
	most := r.acks > 0 && 2*(1+r.acks) > s.others
	switch {
	case r.term > s.term && (most || !s.served && s.up >= s.patience):
		return nil
	case r.term > s.term:
		return errFewAcks
	case r.term == s.term: // the network was in two, and a person on either side
		if s.term > 0 && (r.acks > s.acks || r.acks == s.acks && r.id < s.self) {
			return nil
		}
		return errRivalOlder
	case r.refuses && r.before && r.served && !(s.acks > 0 && 2*(1+s.acks) > s.others): // the one before was never away
		return nil
	}
	return errRivalOlder
}

// counts are the devices whose word counts: those on the list that have come.
func (r *record) counts() func(round.DeviceID) bool {
	return func(id round.DeviceID) bool {
		i := r.find(id)
		return i >= 0 && !r.Members[i].Pending
	}
}

// checkClaim holds a record's claim against the rest of it.
func (r *record) checkClaim() error {
	if r.Claim == nil {
		if r.Term != 0 {
			return errors.New("a keeper without a claim")
		}
		return nil
	}
	sum := sha256.Sum256(r.CA)
	switch err := r.Claim.check(r.ID); {
	case err != nil:
		return err
	case r.Foreign, r.Claim.Keeper != r.Host, r.Claim.Term != r.Term, !bytes.Equal(r.Claim.Authority, sum[:]):
		return errors.New("a claim that is not of the room's keeper")
	case len(r.Acks) > maxMembers:
		return errors.New("too many have signed the keeper's claim")
	}
	return nil
}
