package coordinator

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"conch/coordinator/inject"
	"conch/coordinator/turn"
)

// shutdownWait is for goroutines of tools and streams, once they were told to stop. One may be writing a bookmark to a card that stands
// still for seconds; systemd waits for 10 s.
const shutdownWait = 5 * time.Second

// runner is the goroutine that owns the machine. Other goroutines touch only the fields under atomic and fixed.
type runner struct {
	// fixed after newRunner
	c        *Coordinator
	ctx      context.Context // of Run
	log      *slog.Logger
	inbox    *inbox
	jobSlots slots // of streams and claims that run

	// atomic
	running sync.WaitGroup // every goroutine started by spawn
	alive   atomic.Int64   // the same, to count them

	toolCalls toolCalls // has a lock of its own

	// owned by loop
	m           turn.Machine
	own         []turn.Event  // facts that carrying out an order produced at once
	edge        time.Duration // of the last gesture
	elsewhere   bool          // that was at another device
	outputs     outputs
	speech      *speech
	heardBefore int // samples heard of earlier sources of the same turn
	told        told
	handles     handles
	hushed      hushed // what the latest gesture silenced that cut no turn
	summaries   []pending
	last        turn.Event // the fact that the machine has now
	stale       staleCount
	shown       turn.State
	injections  injections
	texts       texts
	foci        foci
	alerts      alerts
}

func newRunner(ctx context.Context, c *Coordinator) *runner {
	r := &runner{
		c: c, ctx: ctx, log: c.o.Log, inbox: c.inbox,
		jobSlots: make(slots, c.o.StreamLimit),
		m:        turn.New(c.o.Turn),
		outputs:  newOutputs(c),
	}
	r.injections = newInjections(c.o, r.spawn)
	r.foci = foci{clock: c.o.Clock, log: c.o.Log, outputs: &r.outputs, taken: c.o.Taken, lost: never, moved: never}
	r.alerts = alerts{
		clock: c.o.Clock, log: c.o.Log, outputs: &r.outputs, alarm: c.o.Alarm,
		spawn: func(f func(context.Context)) { r.spawn(func() { f(r.ctx) }) }, put: func(e rang) { r.inbox.put(entry{of: e}) },
	}
	return r
}

// run is the life of the runner: begin, loop, end.
func (r *runner) run() error {
	r.outputs.take()
	r.c.o.Voice.Tools(r.c.o.Tools.Specs())
	r.shown = r.m.State()
	r.c.o.Light.Show(r.shown, "")
	r.loop()
	return r.shutdown()
}

// loop takes facts in order of arrival, carries out what the machine orders, and keeps the one timer.
func (r *runner) loop() {
	timer := r.c.o.Clock.NewTimer(time.Hour)
	defer timer.Stop()
	for r.ctx.Err() == nil {
		r.c.quiet.Store(false) // before the inbox is emptied; see Quiet
		r.c.settled.Store(false)
		for _, e := range r.inbox.take() {
			r.inbox.done(e)
			r.take(e)
		}
		// Facts that arrived first go first, so that an answer which is just in time is in time.
		if at, ok := r.m.Wake(); ok && at <= r.now() {
			r.fact(turn.DeadlinePassed{At: r.now(), Night: r.c.o.Night()})
		}
		r.inject()
		r.alerts.pass()
		r.foci.look(r.m, r.injections.aloud(), r.alerts.waits())
		if news, ok := r.alerts.look(r.foci.alerting(), r.m.Silent() && !r.m.InCall() && !r.injections.aloud()); ok {
			r.fact(news)
		}
		r.tellSpeech()
		r.summarise(false)
		r.stale.report(r, false)
		r.outputs.heal()
		r.c.online.Store(r.m.Online())
		r.c.streaming.Store(r.m.Streaming())
		r.c.settled.Store(true)
		r.c.quiet.Store(r.m.Quiet() && len(r.summaries) == 0 && !r.injections.q.Busy(r.now()))
		timer.Reset(r.untilDue())
		select {
		case <-r.ctx.Done():
		case <-r.inbox.wake:
		case <-timer.C():
		}
	}
}

// untilDue is the time until there is something to do without a fact; at least a millisecond, so that a deadline which the
// machine does not move on costs little.
func (r *runner) untilDue() time.Duration {
	now, next := r.now(), time.Hour
	if at, ok := r.m.Wake(); ok {
		next = min(next, at-now)
	}
	if at := r.injections.wake(now, r.situation); at != never {
		next = min(next, at-now)
	}
	if len(r.summaries) > 0 {
		next = min(next, silencePoll)
	}
	if at := r.stale.due(); at != never {
		next = min(next, at-now)
	}
	if at := r.outputs.healAt(); at != never {
		next = min(next, at-now)
	}
	if r.speechBegins() {
		next = min(next, beginPoll)
	}
	if at := r.foci.wake(); at != never {
		next = min(next, at-now)
	}
	if at := r.alerts.wake(); at != never {
		next = min(next, at-now)
	}
	return max(next, time.Millisecond)
}

// take carries out one entry of the inbox.
func (r *runner) take(e entry) {
	switch of := e.of.(type) {
	case toolDone:
		ev := r.returned(of)
		r.fact(ev)
		if h := r.handles.of[ev.Handle]; h != nil && h.job == nil && ev.Turn != r.m.Turn() {
			r.discard(ev.Handle, "stale") // nobody is left to ask for it
		}
		return
	case jobEnded:
		h := r.handles.of[of.job.handle]
		delete(r.handles.of, of.job.handle)
		if of.how == turn.EndedStopped && !of.job.stopped && of.job.kind == turn.EffectAudioStream {
			r.foci.hold(true)
		}
		r.foci.over(of.job)
		if src := of.job.src.Load(); src != nil {
			(*src).Close() // of content, the one that was opened last may have come after its end
			r.outputs.over(*src)
		}
		if of.job.kind == turn.EffectInputClaim {
			r.fact(turn.ClaimEnded{At: r.now(), Handle: of.job.handle, How: of.how})
		} else {
			r.fact(turn.StreamEnded{At: r.now(), Handle: of.job.handle, How: of.how})
			if done := h.result.Stream.Done; done != "" && of.how == turn.EndedFinished && !of.job.stopped {
				r.injections.add(completion(done))
			}
			r.streamBack()
		}
		return
	case *speech:
		r.outputs.over(of.src)
		if of.turn != r.m.Turn() {
			return // the turn was cut, and its source with it
		}
	case said:
		r.outputs.over(of.src)
	case localDone:
		r.outputs.over(of.src)
		if of.how == inject.Interrupted {
			r.injections.cut(of.id, of.src.Heard())
		} else {
			r.injections.tell(r.injections.q.Ended(r.now(), of.id, of.how))
		}
		return
	case injection:
		r.injections.add(of)
		return
	case callOffer:
		r.offered(of)
		return
	case withdrawn:
		r.injections.withdraw(of.done)
		return
	case ringing:
		r.alerts.add(of)
		return
	case silenced:
		r.alerts.take(of.done)
		return
	case rang:
		r.alerts.sounded(of)
		return
	case func():
		of()
		return
	case goingOn:
		r.foci.hold(false)
		r.streamBack()
		of <- r.foci.playing() != nil
		return
	case sayingTo:
		of <- r.saying()
		return
	}
	if e.dropped {
		r.outputs.arrive(e.gen)
		defer func() {
			r.outputs.flushed = false
			r.reopenClaims()
		}()
	}
	if p, ok := e.ev.(turn.Pressed); ok {
		p.Cut = r.outputs.heard() || r.c.o.Taken()
		e.ev = p
	}
	if at, id, ok := gesture(e.ev); ok {
		h, _ := e.ev.(turn.Hushed)
		r.edge, r.elsewhere = at, h.Room && !h.Own
		if r.m.State() == turn.Idle {
			r.hushed = r.silence(id)
		}
		logEdge(r, e, at)
	}
	heard := !r.m.Unheard()
	switch h := e.ev.(type) {
	case turn.Quieted:
		r.edge, r.elsewhere = h.At, true
		r.foci.hushed()
	case turn.Hushed:
		if h.Room {
			r.foci.hushed()
		}
	}
	r.injections.gestured(e.ev, e.spoken)
	r.alerts.gestured(e.ev)
	r.fact(e.ev)
	r.injections.taken(e.ev, r.m)
	if heard && r.m.Unheard() {
		r.hushed = r.silence(r.m.Turn())
		r.texts.cut(r.m.Turn())
	}
	switch p, ok := e.ev.(turn.Pressed); {
	case !ok:
	case r.m.Turn() != p.Turn:
		r.c.o.OnSpent(p.Turn)
	case e.granted:
		r.fact(turn.FloorGranted{At: r.now(), Turn: p.Turn})
	}
}

// streamBack tells the machine what plays now that nothing has displaced it any more.
func (r *runner) streamBack() {
	if j := r.foci.playing(); j != nil && !r.m.Streaming() {
		r.fact(turn.StreamBack{At: r.now(), Turn: j.turn, Handle: j.handle})
	}
}

// gesture is the time of a fact by which a person or the room asked for silence, and the turn that it may begin.
func gesture(ev turn.Event) (at time.Duration, id turn.ID, ok bool) {
	switch e := ev.(type) {
	case turn.Pressed:
		return e.At, e.Turn, true
	case turn.Hushed:
		return e.At, "", true
	case turn.Asked:
		return e.At, e.Turn, true
	}
	return 0, "", false
}

// interrupts lists the facts that may cut speech: Step must know what was heard at the cut.
func interrupts(ev turn.Event) bool {
	switch ev.(type) {
	case turn.Pressed, turn.Asked, turn.Hushed, turn.Quieted, turn.DeadlinePassed, turn.SessionLost, turn.FloorGranted, turn.VoteLost:
		return true
	}
	return false
}

// fact feeds the machine and carries out its orders, then feeds what they produced at once.
func (r *runner) fact(ev turn.Event) {
	if s := r.speech; s != nil && interrupts(ev) && s.turn == r.m.Turn() {
		r.step(turn.SpeechHeard{At: r.now(), Turn: s.turn, Samples: r.heardBefore + s.src.Heard()})
	}
	r.step(ev)
	for n := 0; len(r.own) > 0; n++ {
		ev := r.own[0]
		r.own = r.own[1:]
		if n > 1000 {
			panic(fmt.Sprintf("coordinator: orders and facts go round in circles (last %T)", ev)) //nolint:forbidigo // impossible: no order that produces a fact at once follows from such a fact
		}
		r.step(ev)
	}
	r.own = nil
}

func (r *runner) step(ev turn.Event) {
	r.c.o.Recorder.add(r.now(), false, ev)
	before, cut := r.m.Turn(), r.cut(ev)
	r.last = ev
	r.texts.note(ev, before)
	var effects []turn.Effect
	var way []turn.Transition
	r.m, effects, way = turn.Trace(r.m, ev)
	for _, w := range way {
		t := Transition{w, nameOf(ev)}
		if w.Turn != before && w.To != turn.Idle {
			before = w.Turn
			r.log.Debug(logTurnBegin, "turn", before, "fact", t.By)
		}
		r.c.o.Recorder.add(r.now(), false, t)
		r.log.Debug(logTurnState, "turn", t.Turn, "from", t.From, "to", t.To, "by", t.By)
	}
	for _, e := range effects {
		r.c.o.Recorder.add(r.now(), true, e)
		r.carryOut(e)
	}
	r.logInterrupt(cut, effects, way)
	r.c.state.Store(uint32(r.m.State()))
	if s := r.visible(); s != r.shown {
		r.shown = s
		r.c.o.Light.Show(s, "")
	}
}

// visible is the state that the light shows: what a person can notice of an answer that is only made ready is that
// something goes on; and that somebody listens, though it be at the other end of a call.
func (r *runner) visible() turn.State {
	switch {
	case r.m.Held():
		return turn.Committing
	case r.m.Unheard():
		return turn.Idle
	case r.m.State() == turn.Idle && r.m.InCall():
		return turn.Listening
	case r.m.State() == turn.Idle && r.m.Ringing():
		return turn.InResponse // it sounds
	}
	return r.m.State()
}

// self queues a fact that the runner itself has to report.
func (r *runner) self(ev turn.Event) { r.own = append(r.own, ev) }

// spawn starts a goroutine that Run waits for.
func (r *runner) spawn(f func()) {
	r.alive.Add(1)
	r.running.Go(func() {
		defer r.alive.Add(-1)
		f()
	})
}

// slots are places, one token each.
type slots chan struct{}

func (s slots) take() bool {
	select {
	case s <- struct{}{}:
		return true
	default:
		return false
	}
}

func (r *runner) now() time.Duration { return r.c.o.Clock.Now() }

// shutdown ends the live turn like a hush, answers everybody who waits and waits, bounded, for what runs.
func (r *runner) shutdown() error {
	r.inbox.close()
	for _, e := range r.inbox.take() { // a press that came last still has its turn, and its line
		r.inbox.done(e)
		r.take(e)
	}
	r.outputs.take()
	r.outputs.flushed = true
	r.edge, r.elsewhere = r.now(), false
	r.alerts.end() // before the hush, which is no person's
	r.fact(turn.Hushed{At: r.edge})
	for h := range r.handles.of {
		r.discard(h, "shutdown")
	}
	r.closeSpeech()
	r.injections.tell(r.injections.q.Close())
	r.summarise(true)
	r.stale.report(r, true)
	gone := make(chan struct{})
	go func() { r.running.Wait(); close(gone) }()
	timer := r.c.o.Clock.NewTimer(shutdownWait)
	defer timer.Stop()
	select {
	case <-gone:
		return nil
	case <-timer.C():
	}
	n := r.alive.Load()
	r.log.Error(logShutdownLeft, "goroutines", n)
	return fmt.Errorf("coordinator: %d goroutines of tools or streams did not end within %v (a tool ignores its context)", n, shutdownWait)
}
