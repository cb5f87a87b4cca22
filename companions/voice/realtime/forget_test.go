package realtime

import (
	"fmt"
	"testing"

	"conch/coordinator/turn"
)

// What a session remembers is bounded, and it is the oldest that goes: the answer that is being given refers to the newest.
func TestTheOldestIsForgotten(t *testing.T) {
	r := &items{of: map[turn.ItemID]*itemInfo{}}
	for i := range 3 * maxItems {
		r.ensure(turn.ItemID(fmt.Sprint(i)), "t-1")
	}
	if len(r.of) != maxItems {
		t.Errorf("%d items are kept; want %d", len(r.of), maxItems)
	}
	for i := 2 * maxItems; i < 3*maxItems; i++ {
		if r.of[turn.ItemID(fmt.Sprint(i))] == nil {
			t.Fatalf("item %d of %d is forgotten", i, 3*maxItems)
		}
	}
	of := map[string]int{"a": 1, "b": 2, "c": 3, "stays": 0}
	gone := forgetOldest(of, 2, func(n int) (uint64, bool) { return uint64(n), n > 0 })
	if fmt.Sprint(gone) != "[1 2 3]" || len(of) != 1 {
		t.Errorf("%v went, %v stay", gone, of)
	}
}
