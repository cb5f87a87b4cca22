// Package gpio is the button of one device; package light is its light.
//
//	wire ──────────────> Line ─> Debounce ─> Gesture ─> on(Event)     Button.Run, one goroutine
//	 pin.go, chip.go      │      pure        pure       the caller's
//	key of a device ──────┘
//	 evdev.go
//	keyboard, lines on standard input ─────────────────> on(Event)     device/terminal
//
// Which wire it is: boards.go is the table of what people own, detect.go what the machine shows of it, learn.go the press that
// tells. A Line may end (a chip that is unbound, a device that is pulled out); whoever owns the button opens another.
//
// A press acts on its first edge: Touched comes with no delay at all, and is what silences the loudspeaker. What follows
// settles it, always: Pressed (it was one), Glitched (it was noise, nothing happened) or Released (in the tap modes: it was
// the tap that ends a recording).
//
//	contact   ____|‾|_|‾‾‾‾‾‾‾‾‾‾‾‾‾‾‾‾‾|_|‾|______________
//	events        Touched        Pressed          Released
//	              |<25 ms closed>|       |<25 ms quiet>|
//	At            ^              ^ same  ^ the first edge up
//
// Times are since the device's clock started. A level is true when the button is pressed, whatever the polarity of the wire.
package gpio

import (
	"context"
	"sync/atomic"
	"time"
)

// Edge is one change of the button's contact, raw, bounces included. At is time since the device's clock started; Down is the level
// after the edge: true is pressed, whatever the polarity of the wire.
type Edge struct {
	At   time.Duration
	Down bool
}

// Kind is what an Event says.
type Kind uint8

// Kinds of events. Contact: the first eight; the rest come from a terminal.
const (
	// Touched: the first edge. Silence now; Pressed, Glitched or Released follows within the press's length and Noisy.
	Touched Kind = iota + 1
	// Pressed: the touch was a press. At is its first edge.
	Pressed
	// Glitched: the touch was none. Nothing happened; give the sound back.
	Glitched
	// Released: the press is over. At is the first edge up (in the tap modes the first edge of the ending tap). It settles a
	// touch too: if one is open, give the sound back.
	Released
	// Vanished: the button is gone while it was pressed, or while a tap's recording was on. Nobody let go of it.
	Vanished
	// Stuck: the button is held for so long that nobody can mean it. Released came before; nothing comes until Freed.
	Stuck
	// Freed: the stuck button is up again.
	Freed
	// DoublePressed, after the second of two short presses, LongPressed (5 s) and VeryLongPressed (10 s) are gestures. They come
	// after the Released of the press they speak of, and delay nothing. A long press is also how one talks for five seconds:
	// only the one who knows whether something was said can tell them apart.
	DoublePressed
	LongPressed
	VeryLongPressed
	// Asked: a question was typed.
	Asked
	// Quit: a person wants conch to end.
	Quit
	// EOF: standard input has ended; there will be no more events from it.
	EOF
)

func (k Kind) String() string {
	names := [...]string{"none", "touched", "pressed", "glitched", "released", "vanished", "stuck", "freed", "double-pressed",
		"long-pressed", "very-long-pressed", "asked", "quit", "eof"}
	if int(k) < len(names) {
		return names[k]
	}
	return "kind?"
}

// Event is a fact about a button or a terminal.
type Event struct {
	Kind  Kind
	At    time.Duration
	Text  string // of Asked
	Press uint64 // of Pressed: which, of all presses of this process; CaptureEnded speaks of it
}

// Events is where events come from: a Button, the keyboard of a terminal, or lines on standard input.
type Events interface {
	// Run calls on, on this goroutine and in order, until ctx ends or the source does; never after it has returned.
	Run(ctx context.Context, on func(Event)) error
	// CaptureEnded says that the recording that a press began (Event.Press) has ended by itself. Of a press that is not its latest
	// a source takes no notice. From any goroutine.
	CaptureEnded(press uint64)
	// Touchable says that a hand is at the contact. Presses that come over a network or from a program make no gesture.
	Touchable() bool
	// Call has f called as a sign that Run goes round: by Run, or at once where a read that waits for a person is all it does. It
	// never waits; false: one waits already.
	Call(f func()) bool
	String() string
}

var pressCount atomic.Uint64

// Numbered gives a press its number.
func Numbered(ev Event) Event {
	if ev.Kind == Pressed {
		ev.Press = pressCount.Add(1)
	}
	return ev
}

// SoundPin says whether a sound board on a Pi's header occupies the pin, and as what (gpio/FACTS.md, rules).
func SoundPin(number int) (use string, taken bool) {
	use, taken = map[int]string{2: "I2C data line", 3: "I2C clock", 18: "I2S bit clock", 19: "I2S word clock",
		20: "I2S input", 21: "I2S output"}[number]
	return use, taken
}
