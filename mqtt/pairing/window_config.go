package pairing

import (
	"context"
	"time"

	"conch/mqtt"
)

// WindowConfig is what a window needs. Identity, RoomID and Admit must be there.
type WindowConfig struct {
	Identity mqtt.Identity
	Name     string // of this device, for people
	RoomID   string
	RoomName string
	Code     string               `json:"-"` // six digits; empty: random. Never logged
	Now      func() time.Duration // monotonic; nil: since NewWindow

	// Admit records the party as pending, durably, and returns what it is to be told (at most MaxWelcome bytes). It is called
	// at most once at a time, after the party has shown that it knows the code. It must return when ctx ends, well before
	// the run does: an admission that came too late is as one that failed.
	Admit func(ctx context.Context, p Party) (welcome []byte, err error)
	// Stored says that the party has kept it: it is in. It may be called or not: its first connection says the same.
	Stored func(p Party)
	// On hears what happens, one at a time, in order, from whatever goroutine it happens in. It must not wait.
	On func(WindowEvent)
}

// String and GoString keep the code out of what is printed.
func (c WindowConfig) String() string { return "pairing window of " + string(c.Identity.ID()) }

// GoString is String.
func (c WindowConfig) GoString() string { return c.String() }

// WindowEventKind is what happened in a window.
type WindowEventKind uint8

// Kinds of events. Of the last five exactly one comes, and nothing after it: the window is closed.
const (
	EventWrong     WindowEventKind = iota + 1 // a wrong code; Left tries are left. Party is who says so, unproven
	EventAdmitting                            // the right code: Party is being admitted
	EventFailed                               // Admit failed (Err): Party was told nothing but that, and the window is open again
	EventPaired                               // Party is in
	EventUnsure                               // Party was sent the welcome and has not said that it kept it (Err): pending
	EventTooMany                              // three wrong codes
	EventExpired
	EventClosed // by Close, or by the end of Run's context
)

var windowEventNames = map[WindowEventKind]string{
	EventWrong: "wrong", EventAdmitting: "admitting", EventFailed: "failed", EventPaired: "paired", EventUnsure: "unsure",
	EventTooMany: "too many", EventExpired: "expired", EventClosed: "closed",
}

// String is the kind in a word.
func (k WindowEventKind) String() string { return windowEventNames[k] }

// Last says whether the window is closed with this event.
func (k WindowEventKind) Last() bool { return k >= EventPaired }

// WindowEvent is told to WindowConfig.On.
type WindowEvent struct {
	Kind  WindowEventKind
	Party Party
	Left  int   // tries, of EventWrong
	Err   error // of EventFailed and EventUnsure
}
