package device

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"

	"conch/coordinator/turn"
	"conch/gpio"
)

// informed is a button that notes of which of its presses it is told that the recording is over.
type informed struct {
	mu    sync.Mutex
	ended []uint64
}

func (*informed) Run(context.Context, func(gpio.Event)) error { return nil }
func (*informed) Touchable() bool                             { return true }
func (*informed) Call(f func()) bool                          { f(); return true }
func (*informed) String() string                              { return "informed" }
func (b *informed) CaptureEnded(press uint64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.ended = append(b.ended, press)
}

// Two buttons are pressed at the same moment: the one whose press comes first is told that its recording is over, and the other,
// which is recorded, is told nothing until that one's is.
func TestTwoPressesAtOnceDoNotCross(t *testing.T) {
	for round := range 2000 {
		var r recording
		var posted []turn.ID
		buttons := [2]*informed{{}, {}}
		var both sync.WaitGroup
		for i, b := range buttons {
			both.Go(func() {
				id := turn.ID(fmt.Sprint("t-", i))
				r.begin(&contact{Events: b}, uint64(10*round+i+1), func() turn.ID {
					posted = append(posted, id) // one at a time, or the race detector says so
					return id
				})
			})
		}
		both.Wait()
		first := 0
		if posted[0] != "t-0" {
			first = 1
		}
		r.ended(posted[0]) // the runner cuts it, late
		if got, want := buttons[first].ended, []uint64{uint64(10*round + first + 1)}; !slices.Equal(got, want) {
			t.Fatalf("round %d: the first was told of %v; want %v", round, got, want)
		}
		if got := buttons[1-first].ended; len(got) > 0 {
			t.Fatalf("round %d: the one that is recorded was told of %v", round, got)
		}
		r.ended(posted[1])
		if got, want := buttons[1-first].ended, []uint64{uint64(10*round + 1 - first + 1)}; !slices.Equal(got, want) {
			t.Fatalf("round %d: at its end the second was told of %v; want %v", round, got, want)
		}
	}
}
