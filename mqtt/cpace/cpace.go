// Package cpace is CPace-Ristretto255-SHA512 of draft-irtf-cfrg-cpace: two parties who share a password of little entropy
// (the six digits of a pairing) get a strong key from it. Who listens learns nothing; who takes part has one guess.
//
//	A (Initiator)                                   B (Responder)
//	g = map(H(DSI, PRS, CI, sid))                   the same g, if PRS, CI and sid are the same
//	ya random; Ya = ya·g        ── Ya, ADa ──>      yb random; Yb = yb·g
//	                            <── Yb, ADb ──
//	K = ya·Yb                                       K = yb·Ya            abort when K is the neutral element
//	ISK = H(DSI_ISK, sid, K, Ya, ADa, Yb, ADb)      the same ISK
//
// The group is a kept library's (gtank/ristretto255), the hash the standard library's; here is only what the draft puts
// together (its sections are named at each step), and every one of its vectors for this group is a test. Nobody has confirmed
// anything when Finish returns: ConfirmationTags is the draft's way to do so.
package cpace

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha512"
	"crypto/subtle"
	"errors"
	"fmt"

	"github.com/gtank/ristretto255"
)

// Sizes in bytes.
const (
	ShareSize = 32 // an encoded element (G.field_size_bytes)
	KeySize   = sha512.Size
)

// dsi and the labels are the draft's (7.3; 6.2, "CPace"; 9.4): they keep its hashes from meaning anything elsewhere.
const (
	dsi      = "CPaceRistretto255"
	labelISK = dsi + "_ISK"
	labelMAC = "CPaceMac"
)

// ErrShare says that the other side's share is no element of the group, or the neutral one: the draft demands that the run
// ends (6.2). Nobody honest sends one.
var ErrShare = errors.New("cpace: the other side's share is not a valid element")

// Role is which of the two a party is. The order of the transcript follows from it (4.3.1: transcript_ir).
type Role uint8

// The roles: who sends the first share, and who answers.
const (
	Initiator Role = iota + 1
	Responder
)

// State is one party's half of an exchange: its secret scalar. It serves once.
type State struct {
	role   Role
	sid    []byte
	scalar *ristretto255.Scalar // nil once it has served
	share  []byte
}

// Start draws a scalar and returns the share to send. prs is the password, ci names the parties and their roles (the draft's
// channel identifier), sid is unique to this run.
func Start(role Role, prs, ci, sid []byte) (*State, []byte, error) {
	if role != Initiator && role != Responder {
		return nil, nil, fmt.Errorf("cpace: role %d is neither initiator nor responder", role)
	}
	// Sixty-four bytes reduced by the group's order are uniform but for 2^-260 (7.3 lets sample_scalar be that).
	var seed [64]byte
	if _, err := rand.Read(seed[:]); err != nil {
		return nil, nil, fmt.Errorf("cpace: draw a scalar: %w", err)
	}
	y := ristretto255.NewScalar().FromUniformBytes(seed[:])
	s, share := start(role, prs, ci, sid, y)
	return s, share, nil
}

func start(role Role, prs, ci, sid []byte, y *ristretto255.Scalar) (*State, []byte) {
	share := ristretto255.NewElement().ScalarMult(y, generator(prs, ci, sid)).Encode(nil)
	return &State{role: role, sid: append([]byte(nil), sid...), scalar: y, share: share}, append([]byte(nil), share...)
}

// Finish takes the other side's share and what both have said besides: ada is the initiator's associated data, adb the
// responder's, on either side. The key is the same on both only if everything was. The secret scalar is forgotten.
func (s *State) Finish(peerShare, ada, adb []byte) ([]byte, error) {
	y := s.scalar
	if y == nil {
		return nil, errors.New("cpace: this exchange has already been finished; start another")
	}
	s.scalar = nil
	k, ok := multiply(y, peerShare)
	if !ok {
		return nil, ErrShare
	}
	ya, yb := s.share, peerShare
	if s.role == Responder {
		ya, yb = peerShare, s.share
	}
	return key(s.sid, k, transcript(ya, ada, yb, adb)), nil
}

// ConfirmationTags are what either side sends to show that it has the key (the draft's explicit key confirmation, 9.4): a MAC over
// its own share and data. They differ, so that neither can be sent back to its sender.
func ConfirmationTags(isk, sid, ya, ada, yb, adb []byte) (initiator, responder []byte) {
	h := sha512.New()
	h.Write([]byte(labelMAC))
	h.Write(sid)
	h.Write(isk)
	macKey := h.Sum(nil)
	tag := func(share, ad []byte) []byte {
		m := hmac.New(sha512.New, macKey)
		m.Write(lvCat(share, ad))
		return m.Sum(nil)
	}
	return tag(ya, ada), tag(yb, adb)
}

// generator is calculate_generator (7.3).
func generator(prs, ci, sid []byte) *ristretto255.Element {
	h := sha512.Sum512(generatorString(prs, ci, sid))
	return ristretto255.NewElement().FromUniformBytes(h[:])
}

// generatorString pads the password to the hash's first block (7.1), so that the password's length hardly shows in the time.
func generatorString(prs, ci, sid []byte) []byte {
	pad := max(0, sha512.BlockSize-1-len(lvCat(prs))-len(lvCat([]byte(dsi))))
	return lvCat([]byte(dsi), prs, make([]byte, pad), ci, sid)
}

// multiply is scalar_mult_vfy (7.3); false is its answer G.I, after which a run must end.
func multiply(y *ristretto255.Scalar, share []byte) ([]byte, bool) {
	x := ristretto255.NewElement()
	if len(share) != ShareSize || x.Decode(share) != nil {
		return nil, false
	}
	k := ristretto255.NewElement().ScalarMult(y, x).Encode(nil)
	neutral := make([]byte, ShareSize) // what the neutral element is encoded as (RFC 9496, 4.3.2)
	return k, subtle.ConstantTimeCompare(k, neutral) == 0
}

// key is the intermediate session key, ISK (6.2).
func key(sid, k, transcript []byte) []byte {
	sum := sha512.Sum512(append(lvCat([]byte(labelISK), sid, k), transcript...))
	return sum[:]
}

// transcript is transcript_ir: what was said, in the order of the roles.
func transcript(ya, ada, yb, adb []byte) []byte {
	return append(lvCat(ya, ada), lvCat(yb, adb)...)
}

// lvCat puts each part's length before it, as LEB128 (the draft's prepend_len and lv_cat), so that no two lists give the same bytes.
func lvCat(parts ...[]byte) []byte {
	var b []byte
	for _, p := range parts {
		n := len(p)
		for ; n >= 0x80; n >>= 7 {
			b = append(b, byte(n)|0x80)
		}
		b = append(append(b, byte(n)), p...)
	}
	return b
}
