// Package gpio is the button and the light of one device.
package gpio

import "time"

// Edge is one change of the button's contact, raw, bounces included. At is time since the device's clock started; Seq
// counts edges of this button; Down is the level after the edge: true is pressed, whatever the polarity of the wire.
type Edge struct {
	At   time.Duration
	Seq  uint64
	Down bool
}
