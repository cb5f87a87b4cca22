package companions

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"conch/companions/round"
)

const (
	refineLimit  = 4                    // calls of the refiner at the same time, those that do not end included
	refineMargin = 5 * time.Millisecond // before the deadline, so that the votes with the reason are still in time
)

// Why the rules' votes stand, as a listener would want to be told; added to a vote's reason (ROOM.md 3.2).
const (
	whyModelLate  = "the model did not answer in time, so the rules decided"
	whyModelBroke = "asking the model failed, so the rules decided"
	whyModelBusy  = "the model is still busy with earlier questions, so the rules decided"
)

// refine asks the model for better votes. Whatever the refiner does (nothing, too late, twice, a panic), the machine gets
// one Refined, before the time is over.
func (r *Room) refine(e round.Refine) {
	if r.o.Refiner == nil {
		r.inbox.put(round.Refined{At: r.Now(), Place: e.Place, Votes: e.Votes})
		return
	}
	if r.left.Load() >= refineLimit {
		r.counts.refined(whyModelBusy)
		r.inbox.put(round.Refined{At: r.Now(), Place: e.Place, Votes: unrefined(e.Votes, whyModelBusy)})
		return
	}
	ctx, cancel := context.WithCancel(context.Background())
	r.unasked()
	r.unask = cancel
	var answered atomic.Bool
	finish := func(votes []round.Vote, why string) {
		defer cancel()
		if answered.Swap(true) {
			return
		}
		if why != "" {
			r.counts.refined(why)
			r.log.Warn(logRoomRefine, "place", placeText(e.Place), "turn", e.Message.Turn, "why", why)
			votes = unrefined(e.Votes, why)
		}
		r.inbox.put(round.Refined{At: r.Now(), Place: e.Place, Votes: votes})
	}
	late := time.AfterFunc(max(0, e.Until-r.Now()-refineMargin), func() { finish(nil, whyModelLate) })
	asked := e
	asked.Votes, asked.Recent = slices.Clone(e.Votes), slices.Clone(e.Recent)
	r.left.Add(1)
	r.running.Go(func() {
		defer r.left.Add(-1)
		defer func() {
			if p := recover(); p != nil {
				r.log.Error(logRoomRefine, "place", placeText(e.Place), "turn", e.Message.Turn, "err", fmt.Sprint("panic: ", p))
				finish(nil, whyModelBroke)
			}
		}()
		r.o.Refiner.Refine(ctx, asked, e.Until, func(votes []round.Vote) {
			late.Stop()
			finish(slices.Clone(votes), "")
		})
	})
}

// unasked ends a call that nobody waits for any more: somebody has pressed, and it would only cost.
func (r *Room) unasked() {
	if r.unask != nil {
		r.unask()
		r.unask = nil
	}
}

// unrefined adds to the rules' votes why no model has made them better.
func unrefined(votes []round.Vote, why string) []round.Vote {
	out := slices.Clone(votes)
	for i := range out {
		if out[i].Reason != "" {
			out[i].Reason += "; "
		}
		out[i].Reason += why
	}
	return out
}
