package coordinator

import (
	"context"
	"strings"

	"conch/coordinator/turn"
)

// Saying is how far the answer of the live turn has come, for who reads along.
type Saying struct {
	Turn  turn.ID // empty: nothing is being said
	Who   turn.Who
	Asked string // what it answers, as far as that is known yet
	Heard string // to the last whole word
	Rest  string // that came and was not heard yet
}

// sayingTo is where the runner puts a Saying; it has room for one.
type sayingTo chan Saying

// Saying asks the runner. It is no more than a look: nothing waits for it but who asks.
func (c *Coordinator) Saying(ctx context.Context) Saying {
	to := make(sayingTo, 1)
	if !c.inbox.post(entry{of: to}) {
		return Saying{}
	}
	select {
	case s := <-to:
		return s
	case <-ctx.Done():
		return Saying{}
	}
}

func (r *runner) saying() Saying {
	s := r.speech
	if s == nil || s.held || s.turn != r.m.Turn() || s.written.Load() == 0 {
		return Saying{}
	}
	heard := r.texts.heard(s.turn, r.heardBefore+s.src.Heard())
	asked, said := r.texts.take(s.turn)
	now := Saying{Turn: s.turn, Who: r.m.Who(), Asked: asked, Heard: heard}
	if rest, ok := strings.CutPrefix(said, heard); ok {
		now.Rest = rest
	}
	return now
}
