// Package twin is a button without a wire, and the finger on it: for rehearsals, benchmarks and tests, and for presses that come over
// the control socket.
//
// It differs from a real one below gpio.Line only: debouncing, modes and the loop are those that run on a Pi. Inside a synctest bubble
// its time is virtual.
package twin

import (
	"sync/atomic"
	"time"

	"conch/gpio"
)

// Button is a real gpio.Button on a virtual line, and the finger on it.
type Button struct {
	*gpio.Button
	line *Line
}

// NewButton makes one whose contact is up. Run it as any button.
func NewButton(o gpio.ButtonOptions) *Button {
	line := NewLine("twin")
	return &Button{gpio.NewButton(line, o), line}
}

// Press closes the contact.
func (b *Button) Press() { b.line.Set(true) }

// Watched reports whether Run has read the contact: one that is closed before that is down at the start, which is no press.
func (b *Button) Watched() bool { return b.line.waited.Load() }

// Seen reports whether Run has handled each move of the contact. Run takes a press and a release that it reads at one instant for a
// glitch: it cannot know how long the contact was closed.
func (b *Button) Seen() bool { return b.line.dealt.Load() == b.line.moved.Load() }

// Release opens it.
func (b *Button) Release() { b.line.Set(false) }

// Line is a line without a wire: rehearsals, benchmarks and tests move its contact. Like the kernel's it queues 16
// edges and forgets what comes on top; the level is always true.
type Line struct {
	name   string
	down   atomic.Bool
	waited atomic.Bool
	edges  chan struct{}
	moved  atomic.Int64  // edges that were queued
	dealt  atomic.Int64  // edges that were read before the reader waited again
	read   int64         // edges that were read; the reader's
	woken  chan struct{} // of one
}

// NewLine makes one whose contact is up.
func NewLine(name string) *Line {
	return &Line{name: name, edges: make(chan struct{}, 16), woken: make(chan struct{}, 1)} // 16: GPIO_V2_LINE_EVENT_BUFFER default of one line
}

// Set moves the contact. From any goroutine.
func (l *Line) Set(down bool) {
	if l.down.Swap(down) == down {
		return
	}
	select {
	case l.edges <- struct{}{}:
		l.moved.Add(1)
	default:
	}
}

// Wait implements gpio.Line.
func (l *Line) Wait(timeout time.Duration) bool {
	l.waited.Store(true)
	l.dealt.Store(l.read)
	t := time.NewTimer(timeout)
	defer t.Stop()
	select {
	case <-l.edges:
		l.read++
		return true
	case <-l.woken:
		return false
	case <-t.C:
		return false
	}
}

// Wake implements gpio.Line: of edges that are not queued, those before them tell, for the level is read after each.
func (l *Line) Wake() {
	select {
	case l.woken <- struct{}{}:
	default:
	}
}

// Err implements gpio.Line: it never ends.
func (l *Line) Err() error { return nil }

// Close implements gpio.Line.
func (l *Line) Close() error { return nil }

// Down implements gpio.Line.
func (l *Line) Down() bool { return l.down.Load() }

func (l *Line) String() string { return l.name }
