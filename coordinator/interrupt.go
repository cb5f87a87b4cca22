package coordinator

import (
	"log/slog"
	"time"

	"conch/coordinator/turn"
)

// What an interrupt did, for the log: the first edge, and the six steps of TURNS.md 2, each but those that had nothing to do. The
// first was made by whoever saw the edge, before the runner knew.

// steps of an interrupt, as the log has them.
const (
	stepEdge     = "edge"     // of the gesture, and what the drop flag's generation became with it
	stepDropped  = "dropped"  // 1
	stepPending  = "pending"  // 2: what was latched never starts
	stepProducer = "producer" // 3: told to stop, and not waited for
	stepBuffer   = "buffer"   // 4: what waits in the card is stale; the callback takes it back
	stepModel    = "model"    // 5: told what was heard
	stepMarked   = "marked"   // 6
)

// cut names the turn with which the log has a gesture: the live one, else that which it may begin, else that of what plays.
func (r *runner) cut(ev turn.Event) turn.ID {
	_, id, ok := gesture(ev)
	if !ok {
		return ""
	}
	if live := r.m.Turn(); live != "" {
		return live
	}
	if j := r.foci.playing(); id == "" && j != nil {
		return j.turn
	}
	return id
}

// logEdge is called before the fact is carried out. One of no turn, such as a hush where nothing is to be heard, is not logged.
func logEdge(r *runner, e entry, at time.Duration) {
	id := r.cut(e.ev)
	if id == "" || !r.log.Enabled(r.ctx, slog.LevelDebug) {
		return
	}
	r.log.Debug(logInterrupt, "turn", id, "step", stepEdge, "fact", nameOf(e.ev), "at", at)
	if e.dropped {
		r.logStep(id, stepDropped, "generation", e.gen)
	}
}

// logInterrupt is called when a gesture has been carried out.
func (r *runner) logInterrupt(id turn.ID, effects []turn.Effect, way []turn.Transition) {
	if id == "" || !r.log.Enabled(r.ctx, slog.LevelDebug) {
		return
	}
	last := ""
	for _, e := range effects {
		step := ""
		switch e.(type) {
		case turn.FlushSpeaker:
			step = stepBuffer
		case turn.DiscardHandle:
			step = stepPending
		case turn.StopStream, turn.StopClaim:
			step = stepProducer
		case turn.CancelResponse, turn.TruncateItem, turn.DeleteItem:
			step = stepModel
		}
		if step != "" && step != last {
			r.logStep(id, step)
			last = step
		}
	}
	for _, w := range way {
		if w.To == turn.Interrupted {
			r.logStep(id, stepMarked, "in", w.From)
		}
	}
}

func (r *runner) logStep(id turn.ID, step string, a ...any) {
	r.log.Debug(logInterrupt, append([]any{"turn", id, "step", step, "after_ms", ms(r.now() - r.edge)}, a...)...)
}
