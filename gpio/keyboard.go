package gpio

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

	"golang.org/x/sys/unix"
)

// escapeWait is how long an escape may be the beginning of a sequence; the bytes of one come together.
const escapeWait = 50 * time.Millisecond

// Keyboard is a terminal as a button and a line to type on.
//
//	space         talk, and space again: enough. Held, it talks while it is held.
//	text, Enter   a question; "q" alone ends conch
//	Ctrl-C        ends conch; so does Ctrl-D on an empty line
//
// A plain terminal reports no key release, so a held space is known by its repeats; where the terminal speaks the kitty
// keyboard protocol, a release is a release. The terminal is given back as it was found when Run returns, on the signals that
// end a program, and by Restore.
type Keyboard struct {
	// fixed after NewKeyboard
	in      *os.File
	options ConsoleOptions

	// atomic
	ended atomic.Uint64 // the press whose recording has

	// owned by mu
	mu    sync.Mutex
	saved *unix.Termios // nil: the terminal is as it was found
	kitty bool

	// owned by Run
	keys keyDecoder
	line typed
	talk talkKey
}

// NewKeyboard takes a terminal. It is not touched until Run.
func NewKeyboard(in *os.File, o ConsoleOptions) *Keyboard {
	o.fill()
	return &Keyboard{in: in, options: o}
}

func (k *Keyboard) String() string {
	return "keyboard (space talks and stops, a typed line is a question, Ctrl-C ends)"
}

// CaptureEnded implements Source.
func (k *Keyboard) CaptureEnded(press uint64) { k.ended.Store(press) }

// Run implements Source. It returns nil after Quit or EOF, or when ctx ends.
func (k *Keyboard) Run(ctx context.Context, on func(Event)) error {
	if err := k.take(); err != nil {
		return err
	}
	defer k.Restore()
	// The program's own handlers see these signals too; here they only make sure of the terminal.
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, unix.SIGTERM, unix.SIGHUP, unix.SIGINT, unix.SIGQUIT)
	stopped, stop := context.WithCancelCause(ctx)
	watched := make(chan struct{})
	go func() { // ends with Run: stopped is cancelled there
		defer close(watched)
		select {
		case <-stopped.Done():
		case s := <-signals:
			k.Restore()
			if s == unix.SIGQUIT { // now as if nobody had caught it: Go prints all stacks
				signal.Reset(unix.SIGQUIT)
				_ = unix.Kill(unix.Getpid(), unix.SIGQUIT)
			}
			stop(errSignal)
		}
	}()
	defer func() {
		signal.Stop(signals)
		stop(nil)
		<-watched
	}()
	r, err := newReader(stopped, k.in)
	if err != nil {
		return err
	}
	defer r.close()
	return k.loop(stopped, r, on)
}

var errSignal = errors.New("signal")

func (k *Keyboard) loop(ctx context.Context, r *reader, on func(Event)) error {
	buf := make([]byte, 256)
	var out []Event
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
				on(Event{Kind: Quit, At: at})
			}
			return nil
		case errors.Is(err, errTimeout):
			k.keys.flush(key)
		case errors.Is(err, io.EOF):
			out, last = append(out, Event{Kind: EOF, At: at}), true
		case err != nil:
			return fmt.Errorf("gpio: read the terminal: %w", err)
		default:
			k.keys.feed(buf[:n], key)
		}
		if !last {
			k.talk, out = k.talk.tick(at, out)
		}
		for _, ev := range out {
			if ev = pressed(ev); ev.Kind == Pressed {
				latest = ev.Press
			}
			on(ev)
			if p, ok := k.options.Screen.(Prompter); ok && ev.Kind == Asked {
				p.Taken()
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
func (k *Keyboard) key(pressed key, at time.Duration, out []Event) ([]Event, bool) {
	if pressed.code == keyReport {
		k.speakKitty()
		return out, false
	}
	if pressed.code == keyChar && pressed.char == ' ' && (k.talk.busy() || len(k.line.text) == 0) {
		k.talk, out = k.talk.strike(at, pressed.state, out)
		return out, false
	}
	if pressed.state == keyUp {
		return out, false
	}
	switch pressed.code {
	case keyStop:
		return append(out, Event{Kind: Quit, At: at}), true
	case keyEnd:
		if len(k.line.text) == 0 {
			return append(out, Event{Kind: Quit, At: at}), true
		}
	case keyEnter:
		text := plain(string(k.line.text))
		k.line.text = k.line.text[:0]
		switch p, ok := k.options.Screen.(Prompter); {
		case !ok:
			k.show("\r\n")
		case text == "q":
			p.Entered("") // no question
		default:
			p.Entered(text)
		}
		switch text {
		case "":
		case "q":
			return append(out, Event{Kind: Quit, At: at}), true
		default:
			out = append(out, Event{Kind: Asked, At: at, Text: text})
		}
	default:
		if !k.line.edit(pressed) {
			break
		}
		if p, ok := k.options.Screen.(Prompter); ok {
			p.Typing(string(k.line.text))
		} else {
			k.show("\r\x1b[K")
			if len(k.line.text) > 0 {
				k.show("> " + string(k.line.text))
			}
		}
	}
	return out, false
}

func (k *Keyboard) show(s string) { _, _ = io.WriteString(k.options.Screen, s) }

// take gives us single keys, unechoed, Ctrl-C among them, and leaves output as it is: others write to this terminal too.
func (k *Keyboard) take() error {
	k.mu.Lock()
	defer k.mu.Unlock()
	fd := int(k.in.Fd())
	found, err := unix.IoctlGetTermios(fd, unix.TCGETS)
	if err != nil {
		return fmt.Errorf("gpio: read the settings of the terminal: %w", err)
	}
	ours := *found
	ours.Iflag &^= unix.ICRNL | unix.INLCR | unix.IXON
	ours.Lflag &^= unix.ICANON | unix.ECHO | unix.ISIG | unix.IEXTEN
	ours.Cc[unix.VMIN], ours.Cc[unix.VTIME] = 1, 0
	if err := unix.IoctlSetTermios(fd, unix.TCSETS, &ours); err != nil {
		return fmt.Errorf("gpio: set the terminal: %w", err)
	}
	k.saved = found
	if !slices.Contains([]string{"", "dumb", "linux"}, os.Getenv("TERM")) {
		k.show(kittyAsk)
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
	if k.saved == nil {
		return
	}
	if k.kitty {
		k.show(kittyPop)
		k.kitty = false
	}
	_ = unix.IoctlSetTermios(int(k.in.Fd()), unix.TCSETS, k.saved)
	k.saved = nil
}
