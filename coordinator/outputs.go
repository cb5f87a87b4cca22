package coordinator

import (
	"log/slog"
	"slices"
	"sync/atomic"
	"time"

	"conch/coordinator/turn"
)

const healAfter = time.Second // see outputs.drop

// outputs is what sounds, and the generation that it is opened with. Owned by runner.
type outputs struct {
	// fixed after newOutputs
	speaker Speaker
	clock   Clock
	log     *slog.Logger
	drops   *atomic.Int64 // of the inbox: gestures on their way that carry a generation

	gen      uint64        // what sources and cues are opened with
	known    uint64        // the highest generation a Drop returned, as far as the runner knows
	missing  time.Duration // since when a foreign Drop is known whose gesture has not come; or never
	flushed  bool          // the fact being carried out brought its own Drop
	sounding []Source      // opened and possibly audible
	cues     []Source      // likewise, and possibly over
}

func newOutputs(c *Coordinator) outputs {
	return outputs{speaker: c.o.Speaker, clock: c.o.Clock, log: c.o.Log, drops: &c.inbox.drops, missing: never}
}

// take drops, and takes the generation whoever else may have dropped.
func (o *outputs) take() {
	o.known = o.speaker.Drop()
	o.gen = o.known
}

// healAt is when heal has something to do; or never.
func (o *outputs) healAt() time.Duration {
	if o.missing == never {
		return never
	}
	return o.missing + healAfter
}

// arrive takes over the generation of a gesture whose Drop was made at the edge. If another Drop has overtaken it, what
// was opened in between may still sound, so it drops again.
func (o *outputs) arrive(gen uint64) {
	o.flushed, o.missing = true, never
	if gen > o.known {
		o.known, o.gen = gen, gen
		return
	}
	o.drop()
}

// drop silences everything for a reason of our own and takes the new generation, unless somebody at the edge dropped at
// the same time: then that gesture is on its way with its own generation, and what the old turn still opens until it
// arrives must be born dead, so the old generation stays.
func (o *outputs) drop() {
	g := o.speaker.Drop()
	foreign := g != o.known+1
	o.known = g
	switch {
	case o.drops.Load() > 0:
	case foreign && !o.flushed:
		o.missing = o.clock.Now()
	default:
		o.gen = g
	}
}

// heal takes the current generation when the gesture behind a foreign Drop never came: a device that nobody hears is
// worse than a rule broken by somebody else.
func (o *outputs) heal() {
	if at := o.healAt(); at == never || o.clock.Now() < at {
		return
	}
	o.missing = never
	o.take()
	o.log.Error(logGenerationLost, "generation", o.gen)
}

// open makes a source of the present generation: after an edge whose press has not been taken yet, it is born dead.
func (o *outputs) open(kind SourceKind) Source {
	s := o.speaker.Open(kind, o.gen)
	if len(o.sounding) == 2*handleLimit { // more than can sound; forget what is over
		o.sounding = slices.DeleteFunc(o.sounding, drained)
	}
	o.sounding = append(o.sounding, s)
	return s
}

// playCue keeps what it plays for as long as it sounds, and not much longer.
func (o *outputs) playCue(c turn.Cue) {
	o.cues = slices.DeleteFunc(o.cues, drained)
	if s := o.speaker.Cue(c, o.gen); s != nil {
		o.cues = append(o.cues, s)
	}
}

// over forgets a source that has played to its end as something that a press can silence.
func (o *outputs) over(s Source) {
	o.sounding = slices.DeleteFunc(o.sounding, func(other Source) bool { return other == s })
}

// heard reports whether something sounds, or did until a drop that is being carried out.
func (o *outputs) heard() bool {
	return slices.ContainsFunc(o.sounding, func(s Source) bool { return s.Heard() > 0 })
}

// silence takes what sounds, because the drop behind a gesture ended it all.
func (o *outputs) silence(id turn.ID, edge time.Duration) hushed {
	unheard := func(s Source) bool { return s.Heard() == 0 }
	h := hushed{turn: id, edge: edge, sources: slices.DeleteFunc(append(o.sounding, o.cues...), unheard)}
	o.sounding, o.cues = nil, nil
	return h
}

func drained(s Source) bool {
	select {
	case <-s.Drained():
		return true
	default:
		return false
	}
}
