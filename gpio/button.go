package gpio

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"time"
)

// A Line is a wire with a button on it.
type Line interface {
	// Wait waits for an edge, for at most timeout, which is positive, and says whether there was one. Edges that happened
	// before the call count. It may say that there was none too early, but not without waiting at all: a line that cannot be roused,
	// or may lose an edge, does so after LookEvery.
	Wait(timeout time.Duration) bool
	// Down reads the level: true is pressed.
	Down() bool
	// Err says why nothing more will come (a chip that was unbound, a device that was unplugged); nil while all is well. Asked by the
	// goroutine that waits.
	Err() error
	// Wake ends a Wait that is on, or else the next one, if it can. From any goroutine.
	Wake()
	// Close gives the wire back. Nobody waits any more.
	Close() error
	// String names it for messages, as in "GPIO17 on pinctrl-rp1".
	String() string
}

// ButtonOptions are what Open and NewButton want to know. The zero value is a button between the pin and ground, held to talk.
type ButtonOptions struct {
	Chip       string // label; empty: the chip with the header
	ActiveHigh bool   // pressed is high
	Bias       Bias
	Mode       Mode
	Press      time.Duration        // contact that is a press; zero: PressAfter; AtOnce: its edge is
	Stuck      time.Duration        // zero: StuckAfter
	Clock      func() time.Duration // shared by all facts; nil: a clock of its own
}

// Bias is the resistor inside the chip.
type Bias uint8

// Biases.
const (
	BiasAuto Bias = iota // against the active level
	BiasUp
	BiasDown
	BiasOff // the board has its own resistor
)

var biases = []string{"auto", "up", "down", "off"}

// String is a bias as the configuration spells it.
func (b Bias) String() string { return biases[b] }

// ParseBias reads a bias as the configuration spells it.
func ParseBias(s string) (Bias, error) {
	if b := slices.Index(biases, s); b >= 0 {
		return Bias(b), nil
	}
	if s == "" {
		return BiasAuto, nil
	}
	return BiasAuto, fmt.Errorf("gpio: bias %q: must be auto, up, down or off", s)
}

// LookEvery is how long one waits for an edge: then one sees that a context has ended, and heals an edge that was lost.
const LookEvery = 250 * time.Millisecond

const (
	lookMost = time.Hour // of a line that is roused, and loses nothing
	// a wait is never zero or less: that means "for ever" or "not at all" (host/v3/gpioioctl: for ever on 0; on -1 a deadline that has passed)
	lookLeast = 50 * time.Microsecond
	burst     = 200 // edges in stormSpan that a contact may make; a bad switch makes 50
	stormSpan = 100 * time.Millisecond
	atOnce    = 64 // waits in a row that did not wait: the line is broken
)

// Button is a line with the two machines behind it.
type Button struct {
	// fixed after NewButton
	line    Line
	options ButtonOptions

	// atomic
	ended atomic.Uint64 // the press whose recording ended by itself; Run has not seen it yet
	call  atomic.Pointer[func()]
}

// NewButton puts the machines behind a line. It does nothing until Run.
func NewButton(line Line, o ButtonOptions) *Button {
	if o.Clock == nil {
		start := time.Now()
		o.Clock = func() time.Duration { return time.Since(start) }
	}
	return &Button{line: line, options: o}
}

func (b *Button) String() string { return b.line.String() }

// CaptureEnded tells the button that the recording of a press is over though nobody ended it, so that in the tap modes the next tap
// begins one; but if another press of it has come since, that one's recording is not. From any goroutine.
func (b *Button) CaptureEnded(press uint64) { b.ended.Store(press) }

// Touchable implements Events: a wire or a key of the kernel is at a hand.
func (*Button) Touchable() bool { return true }

// Call has f called by Run, after at most a quarter of a second, as a sign that it still watches the line. It never waits;
// false: one waits already.
func (b *Button) Call(f func()) bool {
	if !b.call.CompareAndSwap(nil, &f) {
		return false
	}
	b.line.Wake()
	return true
}

// Run watches the line until ctx ends, and then returns nil within a quarter of a second. on is called on this goroutine, in
// order, and never after Run has returned; an edge is read no sooner than on has returned, so it must not wait.
func (b *Button) Run(ctx context.Context, on func(Event)) error {
	var (
		now     = b.options.Clock
		contact = StartDebounce(now(), b.options.Press, b.options.Stuck)
		meant   = Gesture{Mode: b.options.Mode}
		raw     = make([]Event, 0, 8)
		out     = make([]Event, 0, 8)
		broken  int           // waits in a row that did not wait
		window  time.Duration // edges are counted from here
		seen    int
		latest  uint64 // press
	)
	defer context.AfterFunc(ctx, b.line.Wake)()
	contact, _ = contact.Level(now(), b.line.Down(), raw)
	for ctx.Err() == nil {
		if f := b.call.Swap(nil); f != nil {
			(*f)()
			broken = 0 // the call has roused the line
		}
		timeout := lookMost
		asked := now()
		if wake, ok := contact.Wake(); ok {
			timeout = min(max(wake-asked, lookLeast), lookMost)
		}
		edge := b.line.Wait(timeout)
		at := now()
		if ctx.Err() != nil {
			break
		}
		isDown := b.line.Down()
		if err := b.line.Err(); err != nil { // what was read last means nothing
			if ev, open := meant.Lost(contact.Lost(at)); open {
				on(ev)
			}
			return fmt.Errorf("gpio: %s: %w", b.line, err)
		}
		if edge {
			broken = 0
			contact, raw = contact.Edge(Edge{At: at, Down: isDown}, raw[:0])
		} else {
			if at-asked >= min(timeout, LookEvery)/2 {
				broken = 0
			} else if broken++; broken >= atOnce {
				return fmt.Errorf("gpio: %s: waiting for an edge returns at once; is the chip still there (gpiodetect)?", b.line)
			}
			contact, raw = contact.Level(at, isDown, raw[:0])
		}
		if n := b.ended.Swap(0); n != 0 && n == latest {
			meant = meant.CaptureEnded()
		}
		out = out[:0]
		for _, ev := range raw {
			meant, out = meant.Step(ev, out)
		}
		for _, ev := range out {
			if ev = Numbered(ev); ev.Kind == Pressed {
				latest = ev.Press
			}
			on(ev)
		}
		if at-window > stormSpan {
			window, seen = at, 0
		}
		if edge {
			seen++
		}
		if edge && seen > burst {
			select { // a wire that hums at 100 kHz must not take a core
			case <-ctx.Done():
			case <-time.After(time.Millisecond):
			}
		}
	}
	return nil // the end of ctx is how one ends it
}

// Close gives the line back, after Run has returned.
func (b *Button) Close() error { return b.line.Close() }

// real is what the lines of this machine have in common: they end, and are looked at instead of being roused.
type real struct{ failed error } // why there will be no more; owned by Run

// Err implements Line.
func (r *real) Err() error { return r.failed }

// Wake implements Line.
func (*real) Wake() {}

// within bounds the wait of a line that cannot be roused.
func within(timeout time.Duration) time.Duration { return min(max(timeout, lookLeast), LookEvery) }

// Unanswered is a call that came after Run had returned, or that it did not get to; nil: none.
func (b *Button) Unanswered() func() {
	if f := b.call.Swap(nil); f != nil {
		return *f
	}
	return nil
}
