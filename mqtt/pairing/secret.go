package pairing

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/ed25519"
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha512"
	"encoding/binary"
	"fmt"
	"math/big"

	"conch/companions/round"
	"conch/mqtt"
	"conch/mqtt/cpace"
)

// Labels keep what is hashed here from meaning anything elsewhere.
const (
	labelSession = "conch/v1 pairing session"
	labelRoles   = "conch/v1 pairing roles"
	labelWelcome = "conch/v1 pairing welcome"
)

// sealOverhead is what sealing adds: AES-GCM's nonce and tag.
const sealOverhead = 12 + 16

// newCode draws six digits, each code as likely as the other.
func newCode() (string, error) {
	n, err := rand.Int(rand.Reader, big.NewInt(1_000_000))
	if err != nil {
		return "", fmt.Errorf("pairing: draw a code: %w", err)
	}
	return fmt.Sprintf("%0*d", CodeLength, n), nil
}

// ValidCode says whether s is six digits.
func ValidCode(s string) bool {
	if len(s) != CodeLength {
		return false
	}
	for _, c := range []byte(s) {
		if c < '0' || c > '9' {
			return false
		}
	}
	return true
}

// secrets are one side's half of a run: what CPace is bound to, and what comes out of it. It serves one run.
type secrets struct {
	role    cpace.Role
	binding []byte
	self    []byte // the hellos, as sent
	peer    []byte
	mine    hello
	theirs  hello

	sid       []byte
	state     *cpace.State
	share     []byte
	isk       []byte
	joinerTag []byte
	windowTag []byte
}

// newSecrets makes this side's hello.
func newSecrets(role cpace.Role, id mqtt.Identity, name, roomID, roomName string, binding []byte) (*secrets, error) {
	pub := id.PublicKey()
	s := &secrets{role: role, binding: binding, mine: hello{
		Type: FrameHello, Version: version, Nonce: make([]byte, nonceSize), Device: id.ID(), Key: pub,
		Name: mqtt.FitName(name, MaxName, string(id.ID())), RoomID: roomID, RoomName: roomName,
	}}
	if _, err := rand.Read(s.mine.Nonce); err != nil {
		return nil, fmt.Errorf("pairing: draw a nonce: %w", err)
	}
	s.self = encode(&s.mine)
	return s, nil
}

// begin takes the other's hello and computes this side's share. The code goes nowhere else.
func (s *secrets) begin(code string, raw []byte, h hello) (err error) {
	s.peer, s.theirs = raw, h
	joiner, window := s.mine, s.theirs
	if s.role == cpace.Responder {
		joiner, window = s.theirs, s.mine
	}
	sum := sha512.Sum512(join([]byte(labelSession), s.binding, joiner.Nonce, window.Nonce))
	s.sid = sum[:]
	s.state, s.share, err = cpace.Start(s.role, []byte(code), roles(joiner.Device, window.Device), s.sid)
	return err
}

// finish takes the other's share: both tags are known then.
func (s *secrets) finish(share []byte) error {
	ada, adb := s.self, s.peer
	ya, yb := s.share, share
	if s.role == cpace.Responder {
		ada, adb, ya, yb = adb, ada, yb, ya
	}
	isk, err := s.state.Finish(share, ada, adb)
	if err != nil {
		return err
	}
	s.isk = isk
	s.joinerTag, s.windowTag = cpace.ConfirmationTags(isk, s.sid, ya, ada, yb, adb)
	return nil
}

func (s *secrets) joinerIsRight(tag []byte) bool { return hmac.Equal(tag, s.joinerTag) }
func (s *secrets) windowIsRight(tag []byte) bool { return hmac.Equal(tag, s.windowTag) }

// seal encrypts what only the joiner may read; open is its other end. Both tags are bound in, and so everything that was said.
func (s *secrets) seal(plain []byte) ([]byte, error) {
	aead, err := s.aead()
	if err != nil {
		return nil, err
	}
	return aead.Seal(nil, nil, plain, join(s.joinerTag, s.windowTag)), nil
}

func (s *secrets) open(sealed []byte) ([]byte, error) {
	aead, err := s.aead()
	if err != nil {
		return nil, err
	}
	return aead.Open(nil, nil, sealed, join(s.joinerTag, s.windowTag))
}

// aead is AES-256-GCM under a key of this run alone (the draft wants ISK to go through a KDF before it is used: 6, RFC 5869).
func (s *secrets) aead() (cipher.AEAD, error) {
	key, err := hkdf.Key(sha512.New, s.isk, s.sid, labelWelcome, 32)
	if err != nil {
		return nil, fmt.Errorf("pairing: derive the welcome's key: %w", err)
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, fmt.Errorf("pairing: the welcome's cipher: %w", err)
	}
	return cipher.NewGCMWithRandomNonce(block)
}

// roles is CPace's channel identifier: the draft wants both parties with their roles, the initiator first (9.1.1).
func roles(joiner, window round.DeviceID) []byte {
	return join([]byte(labelRoles), []byte("joiner"), []byte(joiner), []byte("window"), []byte(window))
}

// join puts each part's length before it, so that no two lists give the same bytes.
func join(parts ...[]byte) []byte {
	var b []byte
	for _, p := range parts {
		b = binary.BigEndian.AppendUint32(b, uint32(len(p)))
		b = append(b, p...)
	}
	return b
}

// provenBy says whether a channel's other end is who a hello names. A channel that proves nothing (nil) is believed: CPace binds
// the hello all the same.
func provenBy(peer ed25519.PublicKey, key []byte) bool {
	return peer == nil || peer.Equal(ed25519.PublicKey(key))
}
