//go:build unix

package terminal

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"conch/device/system"
)

// hasKeys says that a terminal gives single keys.
const hasKeys = true

// reader reads a file without ever being stuck in it: a read of standard input cannot be interrupted, waiting for it can.
type reader struct {
	in       *os.File
	woken, w *os.File      // a pipe, readable when ctx has ended
	stop     func() bool   // of the AfterFunc that writes to w
	done     chan struct{} // closed when it has
}

func newReader(ctx context.Context, in *os.File) (*reader, error) {
	woken, w, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("gpio: watch %s: %w", in.Name(), err)
	}
	r := &reader{in: in, woken: woken, w: w, done: make(chan struct{})}
	r.stop = context.AfterFunc(ctx, func() {
		defer close(r.done)
		_, _ = w.Write([]byte{1})
	})
	return r, nil
}

// close waits for the AfterFunc if it has begun: it might write to a descriptor that is somebody else's by then.
func (r *reader) close() {
	if !r.stop() {
		<-r.done
	}
	_ = r.woken.Close()
	_ = r.w.Close()
}

// read waits for bytes, for at most timeout (negative: for ever). It returns errTimeout, ctx's error, io.EOF or the file's.
func (r *reader) read(ctx context.Context, buf []byte, timeout time.Duration) (int, error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	switch first, err := system.Wait(timeout, r.woken, r.in); {
	case err != nil:
		return 0, err
	case first < 0:
		return 0, errTimeout
	case first == 0:
		return 0, context.Cause(ctx)
	}
	return r.readNow(buf)
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
