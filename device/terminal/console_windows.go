package terminal

import (
	"context"
	"errors"
	"os"
	"time"

	"golang.org/x/term"
)

// hasKeys: a console gives whole lines, and whoever sits at it types them as a pipe would. The button is the page's.
const hasKeys = false

// reader reads a file on a goroutine of its own: nothing here waits for a console and for ctx. A read that nobody waits for any more ends
// with the program, or takes the next line with it.
type reader struct {
	asked chan []byte
	got   chan gotten
}

type gotten struct {
	n   int
	err error
}

func newReader(_ context.Context, in *os.File) (*reader, error) {
	r := &reader{asked: make(chan []byte), got: make(chan gotten, 1)}
	go func() {
		for buf := range r.asked {
			n, err := in.Read(buf)
			r.got <- gotten{n, err}
		}
	}()
	return r, nil
}

func (r *reader) close() { close(r.asked) }

// read waits for bytes, whatever the timeout: only keys have one.
func (r *reader) read(ctx context.Context, buf []byte, _ time.Duration) (int, error) {
	r.asked <- buf
	select {
	case <-ctx.Done():
		return 0, context.Cause(ctx)
	case g := <-r.got:
		return g.n, g.err
	}
}

// isNull says that a device is NUL: it is one that is no console.
func isNull(in *os.File, _ os.FileInfo) bool { return !term.IsTerminal(int(in.Fd())) }

// settings are those of a terminal that gives single keys; here none does.
type settings struct{}

var errNoKeys = errors.New("gpio: a console of Windows gives no single keys: set button.source to lines, or to auto")

func singleKeys(int) (*settings, error) { return nil, errNoKeys }

func (*settings) restore(int) {}

func stopJob() {}

// Signals there are none of.
func signalled() []os.Signal                     { return []os.Signal{os.Interrupt} }
func signalMeans(os.Signal) (resized, back bool) { return false, false }
func quitAgain(os.Signal)                        {}
