package terminal

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
	"golang.org/x/term"

	"conch/device/printable"
	"conch/gpio"
)

// Options are what standard input needs beside itself.
type Options struct {
	Screen *Screen              // nil: nobody sees anything
	Clock  func() time.Duration // shared by all facts; nil: a clock of its own
	Plain  bool                 // of Lines: every line is a question, whatever its first word
	Help   func() string        // what "?" and "help" say besides the keys; nil: nothing
}

// help is what "?" says. The keys are the same wherever somebody types.
func (o *Options) help() string {
	l := o.Screen.look.Language
	keys := HelpRow("?, help", l.Phrase("terminal.help_this")) + HelpRow(l.Phrase("terminal.key_arrows"), l.Phrase("terminal.help_before")) +
		HelpRow("Ctrl-Z", l.Phrase("terminal.help_pause")) + HelpRow("q, Ctrl-C", l.Phrase("terminal.help_end"))
	if o.Help == nil {
		return keys
	}
	return o.Help() + keys
}

// HelpRow is a line of what "?" says: what is typed, and what comes of it.
func HelpRow(key, what string) string { return fmt.Sprintf("  %s %s\n", printable.Pad(key, 17), what) }

func (o *Options) fill() {
	if o.Screen == nil {
		o.Screen = New(io.Discard)
	}
	if o.Clock == nil {
		start := time.Now()
		o.Clock = func() time.Duration { return time.Since(start) }
	}
}

// Open takes standard input as it is: a Keyboard when a person sits at a terminal, Lines otherwise.
func Open(in *os.File, o Options) gpio.Events {
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

// Nobody says that a file is /dev/null, as standard input is under a service manager or when it was closed: no button at
// all, and its end says nothing. A pipe that ends is different: somebody had something to say and has said it.
func Nobody(in *os.File) bool {
	st, err := in.Stat()
	if err != nil {
		return true
	}
	sys, ok := st.Sys().(*syscall.Stat_t)
	return ok && st.Mode()&os.ModeCharDevice != 0 && sys.Rdev == unix.Mkdev(1, 3) // null(4)
}
