package pairing

import (
	"bytes"
	"crypto/ed25519"
	"crypto/sha512"
	"encoding/json"
	"fmt"

	"conch/companions/round"
	"conch/device/printable"
	"conch/mqtt"
	"conch/mqtt/cpace"
)

// version is this protocol's. Another one is refused before anything else is read.
const version = 1

// nonceSize is the bytes that either side contributes to a run's session id.
const nonceSize = 32

// tagSize is the bytes of a confirmation.
const tagSize = sha512.Size

// FrameKind is what a frame says.
type FrameKind string

// The frames of a run. Each is one JSON object, written as encoding/json writes it: any other spelling is refused, so that
// nothing can be said twice, be added, or be read in two ways.
const (
	FrameHello   FrameKind = "hello"   // both: who I am, and 32 random bytes
	FrameShare   FrameKind = "share"   // both: CPace
	FrameConfirm FrameKind = "confirm" // joiner: I know the code
	FrameWelcome FrameKind = "welcome" // window: so do I; and, sealed, what a member must know
	FrameStored  FrameKind = "stored"  // joiner: it is on my disk
	FrameRefused FrameKind = "refused" // both: why this run ends. Nobody has signed it: a hint
)

type hello struct {
	Type     FrameKind      `json:"type"`
	Version  int            `json:"v"`
	Nonce    []byte         `json:"nonce"`
	Device   round.DeviceID `json:"device"`
	Key      []byte         `json:"key"`
	Name     string         `json:"name"`
	RoomID   string         `json:"roomId,omitempty"`   // a window's only
	RoomName string         `json:"roomName,omitempty"` // a window's only
}

type share struct {
	Type  FrameKind `json:"type"`
	Share []byte    `json:"share"`
}

type confirm struct {
	Type FrameKind `json:"type"`
	Tag  []byte    `json:"tag"`
}

type welcome struct {
	Type   FrameKind `json:"type"`
	Tag    []byte    `json:"tag"`
	Sealed []byte    `json:"sealed"`
}

type stored struct {
	Type FrameKind `json:"type"`
}

type refused struct {
	Type FrameKind `json:"type"`
	Why  Reason    `json:"why"`
}

// Reason is why a run ends other than well.
type Reason string

// Reasons, as they are written.
const (
	WhyWrong     Reason = "wrong"     // the code
	WhyClosed    Reason = "closed"    // the window, by its person, by three wrong codes, or because another device was first
	WhyExpired   Reason = "expired"   // the window
	WhyBusy      Reason = "busy"      // too many runs at once
	WhyRefused   Reason = "refused"   // the room does not admit this device
	WhyVersion   Reason = "version"   // of the protocol
	WhyProtocol  Reason = "protocol"  // a frame that is none, or not now
	WhySlow      Reason = "slow"      // too long without a frame, or the run took too long
	WhyNotStored Reason = "notStored" // the joiner could not keep it
	WhyLost      Reason = "lost"      // the connection; never written
)

var reasons = map[Reason]error{
	WhyWrong: ErrWrongCode, WhyClosed: ErrClosed, WhyExpired: ErrExpired, WhyBusy: ErrBusy, WhyRefused: ErrRefused,
	WhyVersion: ErrVersion, WhyProtocol: ErrProtocol, WhySlow: ErrSlow, WhyNotStored: ErrNotStored, WhyLost: ErrLost,
}

// err is the reason as an error.
func (r Reason) err() error { return reasons[r] }

// encode writes a frame. None of them can fail.
func encode(frame any) []byte {
	b, err := json.Marshal(frame)
	if err != nil {
		panic("pairing: a frame that cannot be written: " + err.Error()) //nolint:forbidigo // structs of strings, bytes and numbers
	}
	return b
}

// decode reads a frame of any kind and checks all that can be known from the frame itself: size, spelling, lengths, that the
// device's id is its key's. The errors quote nothing of it.
func decode(b []byte) (FrameKind, any, error) {
	if len(b) > maxSealed {
		return "", nil, fmt.Errorf("%w: a frame of %d bytes; at most %d", ErrProtocol, len(b), maxSealed)
	}
	var head struct {
		Type    FrameKind `json:"type"`
		Version int       `json:"v"`
	}
	if json.Unmarshal(b, &head) != nil {
		return "", nil, fmt.Errorf("%w: a frame that is no JSON object", ErrProtocol)
	}
	if head.Type != FrameWelcome && len(b) > MaxFrame {
		return "", nil, fmt.Errorf("%w: a frame of %d bytes; at most %d", ErrProtocol, len(b), MaxFrame)
	}
	switch head.Type {
	case FrameHello:
		if head.Version != version { // its other fields may be unknown here
			return "", nil, fmt.Errorf("%w: %d; this device speaks %d", ErrVersion, head.Version, version)
		}
		return read(b, head.Type, (*hello).check)
	case FrameShare:
		return read(b, head.Type, func(f *share) bool { return len(f.Share) == cpace.ShareSize })
	case FrameConfirm:
		return read(b, head.Type, func(f *confirm) bool { return len(f.Tag) == tagSize })
	case FrameWelcome:
		return read(b, head.Type, func(f *welcome) bool { return len(f.Tag) == tagSize && len(f.Sealed) >= sealOverhead })
	case FrameStored:
		return read(b, head.Type, func(*stored) bool { return true })
	case FrameRefused:
		return read(b, head.Type, func(f *refused) bool { return f.Why != WhyLost && f.Why.err() != nil })
	}
	return "", nil, fmt.Errorf("%w: a frame of a kind that is unknown", ErrProtocol)
}

func read[F any](b []byte, kind FrameKind, good func(*F) bool) (FrameKind, any, error) {
	var f F
	if json.Unmarshal(b, &f) != nil || !good(&f) {
		return "", nil, fmt.Errorf("%w: a %s with a field that cannot be", ErrProtocol, kind)
	}
	if !bytes.Equal(encode(&f), b) {
		return "", nil, fmt.Errorf("%w: a %s that is not spelled as it must be", ErrProtocol, kind)
	}
	return kind, &f, nil
}

func (h *hello) check() bool {
	return len(h.Nonce) == nonceSize && len(h.Key) == ed25519.PublicKeySize && h.Device == mqtt.Fingerprint(h.Key) &&
		validName(h.Name) && (h.RoomID == "" || mqtt.CheckRoom(h.RoomID) == nil) && (h.RoomName == "" || validName(h.RoomName))
}

func (h *hello) party() Party {
	return Party{Device: h.Device, Key: ed25519.PublicKey(h.Key), Name: h.Name}
}

// validName says whether a name can be shown and said.
func validName(s string) bool {
	return len(s) <= MaxName && printable.IsName(s)
}
