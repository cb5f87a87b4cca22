package gpio

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"golang.org/x/sys/unix"
	"golang.org/x/term"
)

// Source is where events come from: a Button, a Keyboard or Lines.
type Source interface {
	// Run calls on, on this goroutine and in order, until ctx ends or the source does; never after it has returned.
	Run(ctx context.Context, on func(Event)) error
	// CaptureEnded says that the recording that a press began (Event.Press) has ended by itself. Of a press that is not its latest
	// a source takes no notice. From any goroutine.
	CaptureEnded(press uint64)
	String() string
}

// Prompter is a Screen that draws the typed line itself, because others write to the same terminal.
type Prompter interface {
	Typing(line string)  // after each change
	Entered(line string) // Enter was struck; empty: on an empty line
	Taken()              // the question has been handed on
}

// ConsoleOptions are what standard input needs beside itself.
type ConsoleOptions struct {
	Screen io.Writer            // what a person sees: prompt, typed line, complaints; nil: nothing
	Clock  func() time.Duration // shared by all facts; nil: a clock of its own
	Plain  bool                 // of Lines: every line is a question, whatever its first word
}

func (o *ConsoleOptions) fill() {
	if o.Screen == nil {
		o.Screen = io.Discard
	}
	if o.Clock == nil {
		start := time.Now()
		o.Clock = func() time.Duration { return time.Since(start) }
	}
}

// OpenConsole takes standard input as it is: a Keyboard when a person sits at a terminal, Lines otherwise.
func OpenConsole(in *os.File, o ConsoleOptions) Source {
	if term.IsTerminal(int(in.Fd())) {
		return NewKeyboard(in, o)
	}
	return NewLines(in, o)
}

// reader reads a file without ever being stuck in it: a read of standard input cannot be interrupted, waiting for it can.
type reader struct {
	in   *os.File
	wake int           // eventfd; readable when ctx has ended
	stop func() bool   // of the AfterFunc that writes to wake
	done chan struct{} // closed when it has
}

func newReader(ctx context.Context, in *os.File) (*reader, error) {
	wake, err := unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK)
	if err != nil {
		return nil, fmt.Errorf("gpio: watch %s: %w", in.Name(), err)
	}
	r := &reader{in: in, wake: wake, done: make(chan struct{})}
	r.stop = context.AfterFunc(ctx, func() {
		defer close(r.done)
		_, _ = unix.Write(wake, []byte{1, 0, 0, 0, 0, 0, 0, 0}) // eventfd(2): eight bytes are added to the counter
	})
	return r, nil
}

// close waits for the AfterFunc if it has begun: it might write to a descriptor that is somebody else's by then.
func (r *reader) close() {
	if !r.stop() {
		<-r.done
	}
	_ = unix.Close(r.wake)
}

var errTimeout = errors.New("timeout")

// read waits for bytes, for at most timeout (negative: for ever). It returns errTimeout, ctx's error, io.EOF or the file's.
func (r *reader) read(ctx context.Context, buf []byte, timeout time.Duration) (int, error) {
	millis := -1
	if timeout >= 0 {
		millis = int((timeout + time.Millisecond - 1) / time.Millisecond)
	}
	for {
		if err := ctx.Err(); err != nil {
			return 0, err
		}
		fds := []unix.PollFd{{Fd: int32(r.in.Fd()), Events: unix.POLLIN}, {Fd: int32(r.wake), Events: unix.POLLIN}}
		n, err := unix.Poll(fds, millis)
		switch {
		case errors.Is(err, unix.EINTR):
			continue // the runtime's own signals; the wait may become longer by this, never endless
		case err != nil:
			return 0, err
		case n == 0:
			return 0, errTimeout
		case fds[1].Revents != 0:
			return 0, context.Cause(ctx)
		}
		return r.readNow(buf)
	}
}

func (r *reader) readNow(buf []byte) (int, error) {
	n, err := r.in.Read(buf)
	if n > 0 {
		return n, nil
	}
	if errors.Is(err, unix.EIO) {
		return 0, io.EOF // a terminal whose other side is gone
	}
	if err == nil {
		err = io.EOF
	}
	return 0, err
}
