package terminal

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"conch/gpio"
)

// escapeWait is how long an escape may be the beginning of a sequence; the bytes of one come together.
const escapeWait = 50 * time.Millisecond

// Keyboard is a terminal as a button and a line to type on.
//
//	space         talk, and space again: enough. Held, it talks while it is held. In a line that has been begun it is a space.
//	text, Enter   a question; "q" alone ends conch, "?" and "help" are answered here
//	arrows, Home, End, Ctrl-A, -E, -B, -F, -K, -U, -W, Alt-B, -F   edit it; up and down: questions asked before
//	Ctrl-C        ends conch; so does Ctrl-D on an empty line
//	Ctrl-Z        stops it, as any program; fg brings it back
//
// A plain terminal reports no key release, so a held space is known by its repeats; where the terminal speaks the kitty
// keyboard protocol, a release is a release. The terminal is given back as it was found when Run returns, on the signals that
// end a program, and by Restore.
type Keyboard struct {
	// fixed after NewKeyboard
	in      *os.File
	options Options
	stop    func() // stopJob

	// atomic
	ended atomic.Uint64 // the press whose recording has

	// owned by mu
	mu    sync.Mutex
	away  bool      // somebody else has the terminal, from before we stop until we go on
	saved *settings // nil: the terminal is as it was found
	kitty bool      // the protocol is on
	asked bool      // for pastes in brackets

	// owned by Run
	keys keyDecoder
	line *editor
	talk talkKey
}

// NewKeyboard takes a terminal. It is not touched until Run.
func NewKeyboard(in *os.File, o Options) *Keyboard {
	o.fill()
	return &Keyboard{in: in, options: o, stop: stopJob, line: newEditor()}
}

func (k *Keyboard) String() string {
	return "keyboard (space talks and stops, a typed line is a question, Ctrl-C ends)"
}

// CaptureEnded implements gpio.Events.
func (k *Keyboard) CaptureEnded(press uint64) { k.ended.Store(press) }

// Touchable implements gpio.Events: the space bar is the button of a laptop.
func (*Keyboard) Touchable() bool { return true }

// Call calls f: whoever waits for a person does not hang.
func (k *Keyboard) Call(f func()) bool { f(); return true }

// Run implements gpio.Events. It returns nil after Quit or EOF, or when ctx ends.
func (k *Keyboard) Run(ctx context.Context, on func(gpio.Event)) error {
	k.mu.Lock()
	err := k.take()
	k.mu.Unlock()
	if err != nil {
		return err
	}
	defer k.Restore()
	stopped, stop := context.WithCancelCause(ctx)
	defer k.watch(stopped, stop)()
	r, err := newReader(stopped, k.in)
	if err != nil {
		return err
	}
	defer r.close()
	return k.loop(stopped, r, on)
}

var errSignal = errors.New("signal")

// watch takes signals until what it returns is called. The program's own handlers see those that end it too; here they only make sure of
// the terminal. Others say that it has become larger, or that whoever had it meanwhile gave it back.
func (k *Keyboard) watch(ctx context.Context, stop context.CancelCauseFunc) (done func()) {
	signals := make(chan os.Signal, 4)
	signal.Notify(signals, signalled()...)
	watched := make(chan struct{})
	go func() { // ends with Run: ctx is cancelled there
		defer close(watched)
		for {
			select {
			case <-ctx.Done():
				return
			case s := <-signals:
				switch resized, back := signalMeans(s); {
				case resized:
					k.options.Screen.Redraw(false)
					continue
				case back: // after a SIGSTOP; Ctrl-Z sees to itself
					k.again()
					continue
				}
				k.Restore()
				quitAgain(s)
				stop(errSignal)
				return
			}
		}
	}()
	return func() {
		signal.Stop(signals)
		stop(nil)
		<-watched
	}
}

// pause is Ctrl-Z: the terminal is given back, and the whole job stops, as the shell expects. Until it goes on nobody takes the terminal again, or
// the shell would have one that echoes nothing and knows no end of a line.
func (k *Keyboard) pause() {
	k.mu.Lock()
	k.away = true
	k.options.Screen.Leave()
	k.restore()
	k.mu.Unlock()
	k.stop()
	k.mu.Lock()
	k.away = false
	k.mu.Unlock()
	k.again()
}

// again takes the terminal after somebody else had it, unless somebody else is to have it.
func (k *Keyboard) again() {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.away || k.take() != nil { // it is gone: reading it will tell
		return
	}
	k.options.Screen.Redraw(true)
}

func (k *Keyboard) loop(ctx context.Context, r *reader, on func(gpio.Event)) error {
	buf := make([]byte, 256)
	var out []gpio.Event
	var latest uint64 // press
	for {
		n, err := r.read(ctx, buf, k.timeout())
		at := k.options.Clock()
		if n := k.ended.Swap(0); n != 0 && n == latest {
			k.talk = k.talk.captureEnded()
		}
		out = out[:0]
		last := false
		key := func(key key) {
			if !last {
				out, last = k.key(key, at, out)
			}
		}
		switch {
		case ctx.Err() != nil:
			if errors.Is(context.Cause(ctx), errSignal) {
				on(gpio.Event{Kind: gpio.Quit, At: at})
			}
			return nil
		case errors.Is(err, errTimeout):
			k.keys.flush(key)
		case errors.Is(err, io.EOF):
			out, last = append(out, gpio.Event{Kind: gpio.EOF, At: at}), true
		case err != nil:
			return fmt.Errorf("gpio: read the terminal: %w", err)
		default:
			k.keys.feed(buf[:n], key)
		}
		if !last {
			k.talk, out = k.talk.tick(at, out)
		}
		for _, ev := range out {
			if ev = gpio.Numbered(ev); ev.Kind == gpio.Pressed {
				latest = ev.Press
			}
			on(ev)
			if ev.Kind == gpio.Asked {
				k.options.Screen.Taken()
			}
		}
		if last {
			return nil
		}
	}
}

func (k *Keyboard) timeout() time.Duration {
	timeout := time.Duration(-1)
	if wake, ok := k.talk.wake(); ok {
		timeout = max(wake-k.options.Clock(), 0)
	}
	if k.keys.pending() && (timeout < 0 || timeout > escapeWait) {
		timeout = escapeWait
	}
	return timeout
}

// key carries out one key and says whether it was the last.
func (k *Keyboard) key(pressed key, at time.Duration, out []gpio.Event) ([]gpio.Event, bool) {
	if pressed.code == keyReport {
		k.speakKitty()
		return out, false
	}
	if pressed.code == keyChar && pressed.char == ' ' && (k.talk.busy() || k.line.text == "") {
		k.talk, out = k.talk.strike(at, pressed.state, out)
		return out, false
	}
	if pressed.state == keyUp {
		return out, false
	}
	switch pressed.code {
	case keyStop:
		return append(out, gpio.Event{Kind: gpio.Quit, At: at}), true
	case keyPause:
		k.pause()
	case keyRedraw:
		k.options.Screen.Clear()
	case keyEnter:
		return k.enter(at, out)
	default:
		if pressed.code == keyEnd && k.line.text == "" {
			return append(out, gpio.Event{Kind: gpio.Quit, At: at}), true
		}
		if k.line.edit(pressed) {
			k.options.Screen.Typing(k.line.text, k.line.at)
		}
	}
	return out, false
}

// enter takes the line that was typed.
func (k *Keyboard) enter(at time.Duration, out []gpio.Event) ([]gpio.Event, bool) {
	text := plain(k.line.enter())
	screen := k.options.Screen
	switch text {
	case "q":
		screen.Entered("")
		return append(out, gpio.Event{Kind: gpio.Quit, At: at}), true
	case "?", "help":
		screen.Entered("")
		screen.Say(k.options.help())
		return out, false
	}
	screen.Entered(text)
	if text != "" {
		out = append(out, gpio.Event{Kind: gpio.Asked, At: at, Text: text})
	}
	return out, false
}

func (k *Keyboard) show(s string) { k.options.Screen.steer(s) }

// take gives us single keys, unechoed, Ctrl-C among them, and leaves output as it is: others write to this terminal too. Needs mu.
func (k *Keyboard) take() error {
	found, err := singleKeys(int(k.in.Fd()))
	if err != nil {
		return err
	}
	if k.saved == nil {
		k.saved = found
	}
	if !slices.Contains([]string{"", "dumb", "linux"}, os.Getenv("TERM")) {
		k.show(pasteAsk + kittyAsk)
		k.asked = true
	}
	return nil
}

// speakKitty switches the protocol on when the terminal has said that it knows it.
func (k *Keyboard) speakKitty() {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.saved == nil || k.kitty {
		return
	}
	k.kitty, k.talk.real = true, true
	k.show(kittyPush)
}

// Restore gives the terminal back as it was found. From any goroutine, any number of times: call it where a panic is caught.
func (k *Keyboard) Restore() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.restore()
}

// restore needs mu.
func (k *Keyboard) restore() {
	if k.saved == nil {
		return
	}
	if k.asked {
		k.show(pasteLeave)
	}
	if k.kitty {
		k.show(kittyPop)
	}
	k.kitty, k.asked = false, false
	k.saved.restore(int(k.in.Fd()))
	k.saved = nil
}
