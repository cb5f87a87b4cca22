package coordinator

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"conch/coordinator/turn"
)

// dying is how long a cancelled stream or claim may take to return before its end is announced without it. Nothing
// waits for it meanwhile: it is silent from the drop on, and the next turn has begun. Our choice.
const dying = 5 * time.Second

// errCut is what a stream's write returns once nobody will hear it any more.
var errCut = errors.New("coordinator: the stream was cut (return now; nothing written is heard)")

// job is a running stream or claim.
type job struct {
	// fixed after start
	handle turn.Handle
	turn   turn.ID
	kind   turn.EffectKind
	cancel context.CancelFunc
	again  chan struct{} // of one place: src was opened again

	// atomic
	src     atomic.Pointer[Source] // replaced by reopenClaims only
	written atomic.Int64
	cut     atomic.Bool // write was refused

	// owned by runner
	stopped bool
}

// jobEnded is how a job reports to the runner, which forgets the handle and tells the machine.
type jobEnded struct {
	job *job
	how turn.EndedHow
}

// startStream invokes a latched factory.
func (r *runner) startStream(e turn.StartStream) {
	h := r.handles.latched(e.Handle, turn.EffectAudioStream)
	if h == nil {
		r.self(turn.StreamEnded{At: r.now(), Handle: e.Handle, How: turn.EndedFailed})
		return
	}
	fn := h.result.Stream
	r.start(h, e.Handle, SourceContent, fn.Run, func(how turn.EndedHow, heard int) {
		if fn.Ended != nil {
			fn.Ended(how, heard)
		}
	})
}

// startClaim gives microphone and speaker to a claim.
func (r *runner) startClaim(e turn.StartClaim) {
	h := r.handles.latched(e.Handle, turn.EffectInputClaim)
	if h == nil {
		r.self(turn.ClaimEnded{At: r.now(), Handle: e.Handle, How: turn.EndedFailed})
		return
	}
	fn := h.result.Claim
	r.start(h, e.Handle, SourceSpeech, fn.Run, func(how turn.EndedHow, _ int) { fn.over(how) })
}

func (f ClaimFunc) over(how turn.EndedHow) {
	if f.Ended != nil {
		f.Ended(how)
	}
}

// live: whoever is at the other end of a claim does not wait.
func (r ToolResult) live() bool { return r.Effect == turn.EffectInputClaim || r.Stream.Live }

type producer func(ctx context.Context, write func(pcm []int16) error) error

// start runs a producer on one goroutine and attends to it on another, which calls ended, once, and reports.
func (r *runner) start(h *handle, name turn.Handle, kind SourceKind, run producer, ended func(turn.EndedHow, int)) {
	ctx, cancel := context.WithCancel(r.ctx)
	j := &job{handle: name, turn: h.turn, kind: h.result.Effect, cancel: cancel, again: make(chan struct{}, 1)}
	h.job = j
	log := r.log.With("turn", j.turn, "kind", j.kind.String(), "handle", uint64(name))
	end := func(how turn.EndedHow, heard int, err error) {
		a := []any{"how", how.String(), "heard_ms", ms(samples(heard))}
		if err != nil {
			a = append(a, "err", err)
		}
		log.Info(logEffectEnd, a...)
		r.callback(j.turn, func() { ended(how, heard) })
		r.inbox.put(entry{of: jobEnded{j, how}})
	}
	if run == nil || !r.jobSlots.take() {
		r.spawn(func() {
			defer cancel()
			end(turn.EndedFailed, 0, errors.New("nothing to run, or too many streams at the same time"))
		})
		return
	}
	log.Info(logEffectStart)
	src := r.outputs.open(kind)
	if h.result.live() {
		src.Live()
	}
	j.src.Store(&src)
	returned := make(chan error, 1)
	r.spawn(func() {
		defer func() { <-r.jobSlots }()
		returned <- guard(func() error { return run(ctx, func(pcm []int16) error { return j.write(ctx, pcm) }) })
	})
	r.spawn(func() {
		defer cancel()
		how, err := r.attend(ctx, j, returned)
		src := *j.src.Load()
		src.Close()
		end(how, src.Heard(), err)
	})
}

// write is what a producer writes with.
func (j *job) write(ctx context.Context, pcm []int16) error {
	for {
		if ctx.Err() != nil {
			return errCut
		}
		n := (*j.src.Load()).Write(ctx, pcm)
		j.written.Add(int64(n))
		if pcm = pcm[n:]; len(pcm) == 0 {
			return nil
		}
		if j.kind != turn.EffectInputClaim {
			j.cut.Store(true)
			return errCut
		}
		select {
		case <-j.again:
		case <-ctx.Done():
			return errCut
		}
	}
}

// reopenClaims gives a claim a new source after a press that dropped the old one and turned out to be a bounce (TURNS.md
// 4): the call goes on.
func (r *runner) reopenClaims() {
	for _, h := range r.handles.of {
		j := h.job
		if j == nil || j.stopped || j.kind != turn.EffectInputClaim || j.src.Load() == nil {
			continue
		}
		old := *j.src.Load()
		r.outputs.over(old)
		old.Close()
		src := r.outputs.open(SourceSpeech)
		src.Live()
		j.src.Store(&src)
		select {
		case j.again <- struct{}{}:
		default:
		}
	}
}

// attend waits until a job is over: it has returned and its last sample has been played, or somebody cut it and it had
// its time to clean up.
func (r *runner) attend(ctx context.Context, j *job, returned <-chan error) (turn.EndedHow, error) {
	src := *j.src.Load()
	dropped := src.Drained() // a press, a hush
	if j.kind == turn.EffectInputClaim {
		dropped = nil // whether a call ends is for the machine to say
	}
	var err error
	select {
	case err = <-returned:
	case <-dropped:
		return turn.EndedInterrupted, r.reap(j, returned)
	case <-ctx.Done():
		return turn.EndedInterrupted, r.reap(j, returned)
	}
	src = *j.src.Load()
	src.Close()
	select {
	case <-src.Drained():
	case <-ctx.Done():
		return turn.EndedInterrupted, nil
	}
	if int64(src.Heard()) < j.written.Load() { // dropped, or a speaker that counts roughly; see settle
		t := r.c.o.Clock.NewTimer(settle)
		defer t.Stop()
		select {
		case <-ctx.Done():
			return turn.EndedInterrupted, nil
		case <-t.C():
		}
	}
	switch {
	case err == nil:
		return turn.EndedFinished, nil
	case j.cut.Load():
		return turn.EndedInterrupted, nil
	}
	return turn.EndedFailed, err
}

// reap cancels a job and gives it its time to return.
func (r *runner) reap(j *job, returned <-chan error) error {
	j.cancel()
	t := r.c.o.Clock.NewTimer(dying)
	defer t.Stop()
	select {
	case <-returned: //nolint:errcheck // it says that it was cut
		return nil
	case <-t.C():
		return fmt.Errorf("did not return %v after it was cut (it ignores its context)", dying)
	}
}

// stopJob cancels a running stream or claim and does not wait for it.
func (r *runner) stopJob(h turn.Handle) {
	e := r.handles.of[h]
	if e == nil || e.job == nil || e.job.stopped {
		return
	}
	e.job.stopped = true
	e.job.cancel()
	if src := e.job.src.Load(); src != nil {
		(*src).Cut()
	}
}

// callback runs other people's code.
func (r *runner) callback(id turn.ID, f func()) {
	if err := guard(func() error { f(); return nil }); err != nil {
		r.log.Error(logCallbackPanic, "turn", id, "err", err)
	}
}

// discard forgets something that never started. The end callback of a claim fires all the same (TURNS.md 2, step 2).
func (r *runner) discard(h turn.Handle, why string) {
	e := r.handles.release(h)
	if e == nil {
		return
	}
	r.log.Info(logHandleDropped, "turn", e.turn, "handle", uint64(h), "kind", e.result.Effect.String(), "why", why)
	if e.result.Effect == turn.EffectInputClaim {
		r.spawn(func() { r.callback(e.turn, func() { e.result.Claim.over(turn.EndedInterrupted) }) })
	}
}

// guard turns a panic into an error.
func guard(f func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v", p)
		}
	}()
	return f()
}
