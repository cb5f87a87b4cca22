// Package pairing lets a new device into a room by six digits that were heard or typed (pairing.md): the window of the device
// that is in, the joiner, and the channels that they talk over.
package pairing
