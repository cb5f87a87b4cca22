package coordinator

import (
	"context"
	"errors"
	"fmt"
	"time"

	"conch/coordinator/focus"
	"conch/coordinator/turn"
)

// dying is how long a cancelled stream or claim may take to return before its end is announced without it. Nothing
// waits for it meanwhile: it is silent from the drop on, and the next turn has begun. Our choice.
const dying = 5 * time.Second

// errCut is what a stream's write returns once nobody will hear it any more.
var errCut = errors.New("coordinator: the stream was cut (return now; nothing written is heard)")

// ErrStopped is what a stream returns that ends because a person wanted it to, by a sleep timer: then it was stopped, and has not failed.
var ErrStopped = errors.New("coordinator: a person wanted the stream to stop by now")

// jobEnded is how a job reports to the runner, which forgets the handle and tells the machine.
type jobEnded struct {
	job *job
	how turn.EndedHow
}

// startStream invokes a latched factory. It sounds when the focus says so.
func (r *runner) startStream(e turn.StartStream) {
	h := r.handles.latched(e.Handle, turn.EffectAudioStream)
	if h == nil {
		r.self(turn.StreamEnded{At: r.now(), Handle: e.Handle, How: turn.EndedFailed})
		return
	}
	fn := h.result.Stream
	j := newJob(r.ctx, h, e.Handle)
	c := newPlayback(r.c.o.Clock, fn, func() { r.c.Call(func() {}) })
	j.content, j.key, j.levels = c, fn.Key, make(chan focus.Level, 1)
	told := r.tellFocus(j, fn.Focus)
	r.start(j, fn.Run, c.write, func(returned <-chan error) (turn.EndedHow, int, error) {
		how, over, err := c.play(j.ctx, returned)
		if how == turn.EndedStopped && !over {
			err = r.reap(j, returned)
		}
		return how, c.position(), err
	}, func(how turn.EndedHow, heard int) {
		told()
		if fn.Ended != nil {
			fn.Ended(how, heard)
		}
	})
	r.foci.begin(j, fn)
}

// tellFocus tells a skill how its stream is heard. What it returns ends that, and waits until the last of it was told.
func (r *runner) tellFocus(j *job, tell func(focus.Level)) (end func()) {
	if tell == nil {
		return func() {}
	}
	over, done := make(chan struct{}), make(chan struct{})
	r.spawn(func() {
		defer close(done)
		last := focus.Level(0)
		for {
			now := focus.Level(0)
			select {
			case now = <-j.levels:
			case <-over:
			}
			if now != last || now == 0 {
				callback(r.log, j.turn, func() { tell(now) })
			}
			if last = now; now == 0 {
				return
			}
		}
	})
	return func() { close(over); <-done }
}

// startClaim gives microphone and speaker to a claim.
func (r *runner) startClaim(e turn.StartClaim) {
	h := r.handles.latched(e.Handle, turn.EffectInputClaim)
	if h == nil {
		r.self(turn.ClaimEnded{At: r.now(), Handle: e.Handle, How: turn.EndedFailed})
		return
	}
	fn := h.result.Claim
	j := newJob(r.ctx, h, e.Handle)
	openClaim(&r.outputs, j)
	r.start(j, fn.producer(r.c.o.Mic), j.write, func(returned <-chan error) (turn.EndedHow, int, error) {
		how, err := r.attend(j, returned)
		src := *j.src.Load()
		src.Close()
		return how, src.Heard(), err
	}, func(how turn.EndedHow, _ int) { fn.over(how) })
}

// openClaim gives a claim a source. Whoever is at the other end of it does not wait.
func openClaim(o *outputs, j *job) {
	src := o.open(SourceCall)
	src.Live()
	j.src.Store(&src)
}

func (f ClaimFunc) over(how turn.EndedHow) {
	if f.Ended != nil {
		f.Ended(how)
	}
}

type (
	producer  func(ctx context.Context, write func(pcm []int16) error) error
	attendant func(returned <-chan error) (how turn.EndedHow, heard int, err error)
)

// start runs a producer on one goroutine and attends to it on another, which calls ended, once, and reports.
func (r *runner) start(j *job, run producer, write func(context.Context, []int16) error, attend attendant, ended func(turn.EndedHow, int)) {
	log := r.log.With("turn", j.turn, "kind", j.kind.String(), "handle", uint64(j.handle))
	end := func(how turn.EndedHow, heard int, err error) {
		defer j.cancel()
		if how == turn.EndedStopped {
			how = max(how, turn.EndedHow(j.why.Load()))
		}
		a := []any{"how", how.String(), "heard_ms", ms(samples(heard))}
		if err != nil {
			a = append(a, "err", err)
		}
		log.Info(logEffectEnd, a...)
		callback(r.log, j.turn, func() { ended(how, heard) })
		r.inbox.put(entry{of: jobEnded{j, how}})
	}
	if run == nil || !r.jobSlots.take() {
		r.spawn(func() {
			end(turn.EndedFailed, 0, errors.New("nothing to run, or too many streams at the same time"))
		})
		return
	}
	log.Info(logEffectStart)
	returned := make(chan error, 1)
	r.spawn(func() {
		defer func() { <-r.jobSlots }()
		returned <- guard(func() error { return run(j.ctx, func(pcm []int16) error { return write(j.ctx, pcm) }) })
	})
	r.spawn(func() {
		how, heard, err := attend(returned)
		end(how, heard, err)
	})
}

// write is what the producer of a claim writes with.
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
		if j == nil || j.stopped || j.kind != turn.EffectInputClaim {
			continue
		}
		old := *j.src.Load()
		r.outputs.over(old)
		old.Close()
		openClaim(&r.outputs, j)
		select {
		case j.again <- struct{}{}:
		default:
		}
	}
}

// attend waits until a claim is over: it has returned and its last sample has been played, or somebody cut it and it had
// its time to clean up. A drop does not end it: whether a call ends is for the machine to say.
func (r *runner) attend(j *job, returned <-chan error) (turn.EndedHow, error) {
	var err error
	select {
	case err = <-returned:
	case <-j.ctx.Done():
		return turn.EndedStopped, r.reap(j, returned)
	}
	src := *j.src.Load()
	src.Close()
	select {
	case <-src.Drained():
	case <-j.ctx.Done():
		return turn.EndedStopped, nil
	}
	if int64(src.Heard()) < j.written.Load() { // dropped, or a speaker that counts roughly; see settle
		t := r.c.o.Clock.NewTimer(settle)
		defer t.Stop()
		select {
		case <-j.ctx.Done():
			return turn.EndedStopped, nil
		case <-t.C():
		}
	}
	if err != nil {
		return turn.EndedFailed, err
	}
	return turn.EndedFinished, nil
}

// reap gives a job that was told to end its time to return.
func (r *runner) reap(j *job, returned <-chan error) error {
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
func (r *runner) stopJob(h turn.Handle, how turn.EndedHow) {
	if e := r.handles.of[h]; e != nil && e.job != nil {
		e.job.why.CompareAndSwap(0, uint32(how))
		r.foci.stop(e.job)
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
		r.spawn(func() { callback(r.log, e.turn, func() { e.result.Claim.over(turn.EndedStopped) }) })
	}
}
