package pairing

import "time"

// Bounds of pairing (PAIRING.md). What happens at each is said at the machines.
const (
	CodeLength   = 6 // digits
	WindowLength = 120 * time.Second
	MaxTries     = 3 // wrong codes that close a window; failed confirmations after which a joiner gives up
	MaxRuns      = 4 // at a time, in one window
	RunLength    = 15 * time.Second
	MaxName      = 64       // bytes of a device's or a room's name
	MaxFrame     = 4 << 10  // bytes of any frame but the welcome
	MaxWelcome   = 20 << 10 // bytes of what Admit returns
	maxSealed    = 32 << 10 // bytes of the frame that carries it

	// stepLength is how long a side may take for one frame: each has all that it needs, and computes for a millisecond.
	stepLength = 5 * time.Second
	// admitLength is the part of a run by whose end Admit must have returned; the rest is for the welcome.
	admitLength = 11 * time.Second
	// yieldAfter is the silence after which a run gives its place to a newcomer when all are taken.
	yieldAfter = time.Second
)
