package device

import (
	"context"
	"testing"
	"time"

	"conch/device/control"
)

// Two, or three, ask at the same moment, each at a device of their own: each is told the end of the own question, and one is answered; so
// also where nobody has asked anything before.
func TestFlatQuestionsAtOnceHaveTheirEnds(t *testing.T) {
	type told struct {
		control.Answer
		err error
	}
	f := newFlat(t)
	for _, at := range [][2]string{{"kitchen", "Ada"}, {"hall", "Ben"}, {"study", "Cleo"}} {
		f.raise(at[0], at[1], boxOptions{})
	}
	f.meet()
	for i := range 4 {
		asking := f.boxes[:2+i%2]
		all := make(chan told, len(asking))
		within, over := context.WithTimeout(t.Context(), 30*time.Second)
		for _, x := range asking {
			x.asked.Add(1)
			go func() {
				a, err := x.room.Inquire(within, "what is the time?")
				all <- told{a, err}
			}()
		}
		answered := 0
		for range asking {
			switch a := <-all; {
			case a.err == nil && a.Outcome == control.OutcomeAnswered:
				answered++
			case a.err != nil, a.Outcome != control.OutcomeSuperseded, a.Why == "":
				t.Errorf("round %d of %d: %+v", i, len(asking), a)
			}
		}
		over()
		if answered == 0 {
			t.Errorf("round %d of %d: nobody is answered", i, len(asking))
		}
		f.calm()
	}
}
