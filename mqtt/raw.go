package mqtt

import (
	"crypto/ed25519"

	"conch/companions/round"
)

// Fingerprint is the id of the device that has this key.
func Fingerprint(pub ed25519.PublicKey) round.DeviceID { return fingerprint(pub) }
