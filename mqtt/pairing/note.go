package pairing

import (
	"bytes"
	"crypto/ed25519"
	"encoding/binary"
	"encoding/json"

	"conch/companions/round"
	"conch/mqtt"
)

// runSize is the bytes of a number that names a run, or answers one.
const runSize = 16

// maxNote bounds a note in bytes: a frame in base64, and what is around it.
const maxNote = maxSealed/3*4 + 2<<10

// noteType is what a note at a meeting says.
type noteType string

const (
	noteLook   noteType = "look"   // to all: who has a window open? Run is drawn for this look
	noteOpen   noteType = "open"   // to who looks: I have; Run is the look's
	noteKnock  noteType = "knock"  // joiner to window: Run is drawn for this run
	noteAnswer noteType = "answer" // window to joiner: Answer is drawn for this run
	noteFrame  noteType = "frame"  // both: one of pairing's, numbered from 1
	noteBye    noteType = "bye"    // both: the end, numbered likewise
)

// note is a message at a meeting. Like a frame, it can be spelled in one way only.
type note struct {
	Type     noteType          `json:"type"`
	Key      ed25519.PublicKey `json:"key"`
	To       round.DeviceID    `json:"to,omitempty"`
	Run      []byte            `json:"run"`
	Answer   []byte            `json:"answer,omitempty"`
	Seq      uint64            `json:"seq,omitempty"`
	Frame    []byte            `json:"frame,omitempty"`
	RoomID   string            `json:"roomId,omitempty"`
	RoomName string            `json:"roomName,omitempty"`
	Sig      []byte            `json:"sig"`
}

// signed is what the signature is made of. The key is not in it: it is what verifies.
func (n *note) signed(room string) []byte {
	return join([]byte("conch/v1 pairing note"), []byte(room), []byte(n.Type), []byte(n.To), n.Run, n.Answer,
		binary.BigEndian.AppendUint64(nil, n.Seq), n.Frame, []byte(n.RoomID), []byte(n.RoomName))
}

// readNote takes a payload only if it is well formed and its signature good.
func readNote(room string, b []byte) (*note, round.DeviceID, bool) {
	var n note
	if len(b) > maxNote || json.Unmarshal(b, &n) != nil || !n.check() || !bytes.Equal(encode(&n), b) {
		return nil, "", false
	}
	if !ed25519.Verify(n.Key, n.signed(room), n.Sig) {
		return nil, "", false
	}
	return &n, mqtt.Fingerprint(n.Key), true
}

func (n *note) check() bool {
	if len(n.Key) != ed25519.PublicKeySize || len(n.Sig) != ed25519.SignatureSize || len(n.Run) != runSize {
		return false
	}
	has := func(to, answer, seq, room bool) bool {
		return (n.To != "") == to && len(n.Answer) == map[bool]int{true: runSize}[answer] && (n.Seq > 0) == seq &&
			(n.RoomID != "") == room && (room || n.RoomName == "") && (n.Type == noteFrame) == (len(n.Frame) > 0)
	}
	switch n.Type {
	case noteLook:
		return has(false, false, false, false)
	case noteOpen:
		return has(true, false, false, true) && mqtt.CheckRoom(n.RoomID) == nil && (n.RoomName == "" || validName(n.RoomName))
	case noteKnock:
		return has(true, false, false, false)
	case noteAnswer:
		return has(true, true, false, false)
	case noteFrame:
		return has(true, true, true, false) && len(n.Frame) <= maxSealed
	case noteBye:
		return has(true, true, true, false)
	}
	return false
}
