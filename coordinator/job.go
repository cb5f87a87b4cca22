package coordinator

import (
	"context"
	"sync/atomic"

	"conch/coordinator/focus"
	"conch/coordinator/turn"
)

// job is a running stream or claim.
type job struct {
	// fixed after start
	handle turn.Handle
	turn   turn.ID
	kind   turn.EffectKind
	ctx    context.Context
	cancel context.CancelFunc
	again  chan struct{} // of a claim, of one place: src was opened again

	// fixed after startStream
	content *playback // of a stream
	focus   focus.ID
	key     string           // of its stream
	levels  chan focus.Level // of one place, the latest: how it is heard now

	// atomic
	src     atomic.Pointer[Source] // replaced by the runner only
	written atomic.Int64
	why     atomic.Uint32 // of one that was stopped: how that is told, if not as interrupted

	// owned by runner
	stopped bool
	looked  *Source // at which heardMore looked last …
	sounded int     // … when so much of it had been heard
	softly  bool    // content beneath somebody who speaks
}

func newJob(ctx context.Context, h *handle, name turn.Handle) *job {
	j := &job{handle: name, turn: h.turn, kind: h.result.Effect, again: make(chan struct{}, 1)}
	j.ctx, j.cancel = context.WithCancel(ctx)
	h.job = j
	return j
}

// sounds tells that it has a source that lives.
func (j *job) sounds() bool {
	src := j.src.Load()
	return src != nil && !drained(*src)
}

// heardMore tells that something of it was heard since it was asked last.
func (j *job) heardMore() bool {
	src, was, of := j.src.Load(), j.sounded, j.looked
	if src == nil {
		return false
	}
	j.looked, j.sounded = src, (*src).Heard()
	return j.sounded > 0 && (src != of || j.sounded != was)
}

// stop has it end, and does not wait for that.
func (j *job) stop() {
	j.stopped = true
	j.cancel()
	if src := j.src.Load(); src != nil {
		(*src).Cut()
	}
}
