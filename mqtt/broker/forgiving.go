package broker

import (
	"errors"
	"net"
	"os"
	"sync"
	"time"

	"conch/mqtt"
)

// mercy is how often in a row a deadline is forgiven: on a machine that is always late somebody may be gone all the same.
const mercy = 3

// forgiving is a connection whose deadlines (but for those of SetReadDeadline and SetWriteDeadline) do not count the time in which this process stood
// still, as it does under SIGSTOP or on a machine that is busy with something else: what the other side sent meanwhile waits to be read,
// and it would be put out for a silence that was ours. Who is really silent goes a little later.
type forgiving struct {
	net.Conn

	mu          sync.Mutex
	read, write limit
}

// limit is a deadline of one direction.
type limit struct {
	due      time.Time     // zero: nothing is forgiven
	patience time.Duration // from when due was set
	forgiven int           // how often
}

func (l *limit) set(t time.Time) { *l = limit{due: t, patience: time.Until(t)} }

func (f *forgiving) SetDeadline(t time.Time) error { return errors.Join(f.readBy(t), f.writeBy(t)) }

// readBy sets a deadline for reading.
func (f *forgiving) readBy(t time.Time) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.read.set(t)
	return f.Conn.SetReadDeadline(t)
}

// writeBy sets one for writing.
func (f *forgiving) writeBy(t time.Time) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.write.set(t)
	return f.Conn.SetWriteDeadline(t)
}

func (f *forgiving) SetReadDeadline(t time.Time) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.read = limit{}
	return f.Conn.SetReadDeadline(t)
}

func (f *forgiving) SetWriteDeadline(t time.Time) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.write = limit{}
	return f.Conn.SetWriteDeadline(t)
}

func (f *forgiving) Read(b []byte) (int, error) {
	for {
		n, err := f.Conn.Read(b)
		if n > 0 || !errors.Is(err, os.ErrDeadlineExceeded) || !f.again(&f.read, f.Conn.SetReadDeadline) {
			return n, err
		}
	}
}

func (f *forgiving) Write(b []byte) (int, error) {
	sent := 0
	for {
		n, err := f.Conn.Write(b[sent:])
		sent += n
		if err == nil || !errors.Is(err, os.ErrDeadlineExceeded) || !f.again(&f.write, f.Conn.SetWriteDeadline) {
			return sent, err
		}
	}
}

// again says whether what has met its deadline may be tried again.
func (f *forgiving) again(l *limit, set func(time.Time) error) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	now := time.Now()
	switch {
	case l.due.IsZero():
		return false
	case now.Before(l.due): // there is a new one
		return true
	case l.forgiven == mercy || now.Sub(l.due) < mqtt.Lateness:
		return false
	}
	l.forgiven++
	l.due = now.Add(l.patience)
	return set(l.due) == nil
}
