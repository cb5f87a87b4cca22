package pairing

import (
	"context"
	"crypto/ed25519"

	"conch/companions/round"
)

// Channel carries the frames of one run between two devices, in order, each whole. It is confidential to nobody: what
// protects the pairing is the code.
type Channel interface {
	// Send puts one frame on its way, and waits a bounded time at most.
	Send(frame []byte) error
	// Receive waits for the next frame.
	Receive(ctx context.Context) ([]byte, error)
	// Binding is the same bytes at both ends of this channel and of no other (the TLS exporter).
	Binding() []byte
	// Peer is the key that the other end has shown to own.
	Peer() ed25519.PublicKey
	// Close ends it; what was sent before still arrives if it can.
	Close() error
}

// Party is a device as the other one knows it: the id is the key's fingerprint, the name is for people and not unique.
type Party struct {
	Device round.DeviceID
	Key    ed25519.PublicKey
	Name   string
}
