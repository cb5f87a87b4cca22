package gpio

import (
	"sync/atomic"
	"time"
)

// VirtualLine is a line without a wire: rehearsals, benchmarks and tests move its contact. Like the kernel's it queues 16
// edges and forgets what comes on top; the level is always true.
type VirtualLine struct {
	name  string
	down  atomic.Bool
	edges chan struct{}
}

// NewVirtualLine makes one whose contact is up.
func NewVirtualLine(name string) *VirtualLine {
	return &VirtualLine{name: name, edges: make(chan struct{}, 16)} // 16: GPIO_V2_LINE_EVENT_BUFFER default of one line
}

// Set moves the contact. From any goroutine.
func (l *VirtualLine) Set(down bool) {
	if l.down.Swap(down) == down {
		return
	}
	select {
	case l.edges <- struct{}{}:
	default:
	}
}

// Wait implements Line.
func (l *VirtualLine) Wait(timeout time.Duration) bool {
	t := time.NewTimer(timeout)
	defer t.Stop()
	select {
	case <-l.edges:
		return true
	case <-t.C:
		return false
	}
}

// Down implements Line.
func (l *VirtualLine) Down() bool { return l.down.Load() }

func (l *VirtualLine) String() string { return l.name }
