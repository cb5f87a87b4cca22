package again

import (
	"slices"
	"testing"

	"conch/coordinator"
	"conch/coordinator/turn"
)

func TestTheLastAnswerIsTheOneThatWasHeardLast(t *testing.T) {
	var k Keeper
	k.Audio("t-1", []int16{1})
	k.Ended(coordinator.Record{Turn: "t-1", Reason: "done", Audible: true})
	k.Audio("t-2", []int16{2})
	k.Audio("t-3", []int16{9}) // made ready meanwhile, and never heard
	k.Audio("t-2", []int16{3})
	k.Ended(coordinator.Record{Turn: "t-2", Reason: "interrupted", Audible: true})
	k.Ended(coordinator.Record{Turn: "t-3", Reason: "lost_vote"})
	k.Ended(coordinator.Record{Turn: "t-4", Reason: "too_short"})
	if got := k.Last(); !slices.Equal(got, []int16{2, 3}) {
		t.Errorf("%v; want the answer that was cut, from its beginning", got)
	}
	if k.Forget(); k.Last() != nil {
		t.Error("it was forgotten, and is there")
	}
}

func TestWhatIsKeptIsBounded(t *testing.T) {
	var k Keeper
	for range 100 {
		k.Audio("t-1", make([]int16, rate))
	}
	if n := len(slices.Concat(k.live["t-1"]...)); n != 60*rate {
		t.Errorf("%d samples of one turn", n)
	}
	for id := range 20 { // none of them ends
		k.Audio(turn.ID(rune('a'+id)), make([]int16, 10))
		if len(k.live) > turns {
			t.Fatalf("of %d turns", len(k.live))
		}
	}
	k.Audio("t-2", []int16{1})
	k.Ended(coordinator.Record{Turn: "t-2", Audible: true})
	if len(k.Last()) != 1 {
		t.Errorf("behind turns that never ended %v is the last answer", k.Last())
	}
	var none *Keeper
	none.Audio("t-1", []int16{1})
	none.Ended(coordinator.Record{Audible: true})
	if none.Forget(); none.Last() != nil {
		t.Error("nothing says something")
	}
}
