package discovery

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base32"
	"strings"

	"conch/companions/round"
)

// What a device says of itself while nobody pairs is veiled: in the place of its id and the room's stand their keyed hashes, under a salt that the
// record says as well. Whoever knows an id recognises it; for everybody else each salt makes another device and another room.

// saltLen is that of a salt, in letters: 80 bits.
const saltLen = 16

// NewSalt draws a salt.
func NewSalt() string { return strings.ToLower(rand.Text())[:saltLen] }

// Veiled is s as strangers may hear it under a salt. Its name is of the same kind, for a device's own would be as good as its id.
func (s Service) Veiled(salt string) Service {
	v := s
	v.Salt, v.Device = salt, round.DeviceID(veil(salt, string(s.Device), deviceLen))
	if s.RoomID != "" {
		v.RoomID = "r" + veil(salt, s.RoomID, roomIDLen-1)
	}
	v.Name = "conch " + string(v.Device[:4])
	return v
}

// IsDevice says whether a service is a device's that is known.
func (s Service) IsDevice(id round.DeviceID) bool {
	return s.Device == id || s.Salt != "" && s.Device == round.DeviceID(veil(s.Salt, string(id), deviceLen))
}

// IsRoom says whether a service is of a room that is known.
func (s Service) IsRoom(id string) bool {
	return s.RoomID == id || s.Salt != "" && s.RoomID == "r"+veil(s.Salt, id, roomIDLen-1)
}

func veil(salt, id string, letters int) string {
	mac := hmac.New(sha256.New, []byte(id))
	mac.Write([]byte("conch dns-sd\x00" + salt))
	return strings.ToLower(base32.StdEncoding.EncodeToString(mac.Sum(nil)))[:letters]
}

func validSalt(s string) bool { return len(s) == saltLen && strings.Trim(s, lower32) == "" }
