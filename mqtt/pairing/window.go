package pairing

import (
	"context"
	"errors"
	"time"

	"conch/mqtt"
)

// WindowConfig is what a window needs. Identity, RoomID, Admit must be there.
type WindowConfig struct {
	Identity mqtt.Identity
	Name     string // of this device, for people
	RoomID   string
	RoomName string
	Code     string               // six digits; empty: random. Never logged
	Now      func() time.Duration // monotonic; nil: since NewWindow

	// Admit records the party as pending, durably, and returns what it is to be told (at most MaxWelcome bytes). It is called
	// at most once at a time, after the party has shown that it knows the code; ctx ends with the run.
	Admit func(ctx context.Context, p Party) (welcome []byte, err error)
	// Stored says that the party has kept it: it is in. It may be called or not: its first connection says the same.
	Stored func(p Party)
	// On hears what happens, one at a time, in order. It must not wait.
	On func(WindowEvent)
}

// WindowEventKind is what happened in a window.
type WindowEventKind uint8

// Kinds of events. The last four (Last) end the window; exactly one of them comes, and nothing after it.
const (
	EventWrong     WindowEventKind = iota + 1 // a wrong code; Left tries are left. Party is who says so, unproven
	EventAdmitting                            // the right code: Party is being admitted
	EventFailed                               // Admit failed (Err): nothing was told to Party, and the window stays open
	EventPaired                               // Party is in
	EventUnsure                               // Party was sent the welcome and has not said that it kept it: pending
	EventTooMany                              // three wrong codes
	EventExpired
	EventClosed // by Close, or ctx
)

// Last says whether the window is closed with this event.
func (k WindowEventKind) Last() bool { return k >= EventPaired }

// WindowEvent is told to WindowConfig.On.
type WindowEvent struct {
	Kind  WindowEventKind
	Party Party
	Left  int   // tries, of EventWrong
	Err   error // of EventFailed and EventUnsure
}

// Window is open from NewWindow on, for WindowLength.
type Window struct {
	code string
}

// NewWindow checks the settings, draws the code and opens.
func NewWindow(cfg WindowConfig) (*Window, error) {
	return nil, errors.New("pairing: not yet")
}

// Code is the six digits.
func (w *Window) Code() string { return w.code }

// Left is the time until the window expires; 0 when it is closed.
func (w *Window) Left() time.Duration { return 0 }

// Done is closed when the window is.
func (w *Window) Done() <-chan struct{} { return nil }

// Serve is one run with one joiner; it returns when the run is over and has closed ch. Any number may be under way; those above
// MaxRuns hear that the window is busy.
func (w *Window) Serve(ctx context.Context, ch Channel) error { return errors.New("pairing: not yet") }

// Run keeps the window's time, and returns when it is closed and its runs are over: nil after a success, else ErrExpired, ErrTooMany,
// ErrClosed, or ErrLost for a party that was admitted and did not confirm.
func (w *Window) Run(ctx context.Context) error { return errors.New("pairing: not yet") }

// Close closes the window, and may be called at any time.
func (w *Window) Close() {}
