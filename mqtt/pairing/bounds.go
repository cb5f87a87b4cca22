package pairing

import "time"

// Bounds of pairing.
const (
	CodeLength   = 6
	WindowLength = 120 * time.Second
	MaxTries     = 3 // wrong codes that close a window; failed confirmations after which a joiner gives up
	MaxRuns      = 4 // at a time, in one window
	RunLength    = 15 * time.Second
	MaxName      = 64       // bytes of a device's or a room's name
	MaxFrame     = 4 << 10  // bytes of any frame but the welcome
	MaxWelcome   = 20 << 10 // bytes of what Admit returns
	maxSealed    = 32 << 10 // bytes of the frame that carries it
)
