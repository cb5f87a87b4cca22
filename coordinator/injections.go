package coordinator

import (
	"cmp"
	"context"
	"log/slog"
	"time"

	"conch/coordinator/inject"
	"conch/coordinator/turn"
)

// LocalVoice speaks a text without the session: what an injection says while the device is offline (TURNS.md 5). It runs
// on a goroutine of its own, until it returns or ctx ends.
type LocalVoice interface {
	Speak(ctx context.Context, text string) ([]int16, error)
}

// Sound makes what is said without the session (24 kHz), when its time has come. An error leaves it unsaid.
type Sound func(ctx context.Context) ([]int16, error)

// Announcement is a turn that nobody pressed for.
type Announcement struct {
	inject.Injection
	Who    turn.Who // whose turn it is; empty: of whoever has the microphone
	Text   string   // what the local voice says in the place of the prompt
	Sound  Sound    // what is said without the session, in the place of both
	Begins func()   // called before any of it is heard, each time; nothing of it is heard before it returns, but for two seconds
}

// Announce asks for a turn. The channel gets exactly one Outcome. It never waits: where too many ask at once, the outcome is failed.
// When ctx ends it is taken back: what waits expires. A sound is cut, and nothing else is; what else is being said is said to its end,
// as nothing but a gesture cuts a sentence, but once it is interrupted it is not offered again.
func (c *Coordinator) Announce(ctx context.Context, a Announcement) <-chan inject.Outcome {
	done := make(chan inject.Outcome, 1)
	if !c.inbox.put(entry{of: injection{Announcement: a, done: done, left: ctx.Done()}}) {
		done <- inject.Failed // Run has ended, or too many ask
	}
	if ctx.Done() != nil {
		context.AfterFunc(ctx, func() { c.inbox.put(entry{of: withdrawn{done}}) })
	}
	return done
}

// Inject is Announce for whoever has only words, and stays.
func (c *Coordinator) Inject(prompt string, p inject.Priority, key string, ttl time.Duration) <-chan inject.Outcome {
	return c.Announce(context.Background(), Announcement{Injection: inject.Injection{Prompt: prompt, Key: key, Priority: p, TTL: ttl}})
}

// InjectLocal is Announce for what the device itself has to say, whether the session is there or not. It waits like NORMAL.
func (c *Coordinator) InjectLocal(sound Sound, key string, ttl time.Duration) <-chan inject.Outcome {
	return c.Announce(context.Background(), Announcement{Injection: inject.Injection{Key: key, TTL: ttl, Local: true}, Sound: sound})
}

// InjectAlert is InjectLocal for what nobody may miss: it waits for the turn that is live here, and not for the room's floor or a call.
func (c *Coordinator) InjectAlert(sound Sound, key string, ttl time.Duration) <-chan inject.Outcome {
	in := inject.Injection{Key: key, Priority: inject.Preempt, TTL: ttl, Local: true}
	return c.Announce(context.Background(), Announcement{Injection: in, Sound: sound})
}

// InjectSound is InjectLocal for what is a sound already (24 kHz): a code as tones, a sentence put together from clips. A press
// ends it for good, like everything else; it is not offered again.
func (c *Coordinator) InjectSound(ctx context.Context, pcm []int16, key string, ttl time.Duration) <-chan inject.Outcome {
	in := inject.Injection{Key: key, TTL: ttl, Local: true, Once: true}
	return c.Announce(ctx, Announcement{Injection: in, Sound: func(context.Context) ([]int16, error) { return pcm, nil }})
}

// injection is an entry of the inbox.
type injection struct {
	Announcement
	done chan inject.Outcome // of one place, so that telling never waits
	kept bool                // it is the question that is kept for a session
	left <-chan struct{}     // closed when nobody wants it any more; nil: never
	turn turn.ID             // in which it is said first; of one that is offered again, the last
	said bool                // it was, and that turn has begun
}

// withdrawn is one that nobody wants any more.
type withdrawn struct{ done chan inject.Outcome }

// localDone is how the local voice reports.
type localDone struct {
	id  inject.ID
	src Source
	how inject.Outcome
}

// injections is the runner's side of the queue: who waits for which outcome. Owned by runner.
type injections struct {
	// fixed after newInjections
	clock Clock
	log   *slog.Logger
	spawn func(func())
	room  func() (spoken uint64, companion bool) // Options.Elsewhere
	newID func() turn.ID

	q        inject.Queue
	waiting  map[inject.ID]injection
	speaking turn.ID   // the turn of q.Speaking; empty when the local voice speaks it
	local    Source    // of q.Speaking, when the local voice speaks it
	by       inject.By // what cut q.Speaking, as far as is known
	press    press     // the gesture that did

	wasTaken bool                // the queue was asked while the room was taken; the room may be free by the time that wake looks
	kept     chan inject.Outcome // of the question that is kept, while there is a session; nil: none waits
}

func newInjections(o Options, spawn func(func())) injections {
	o.Inject.LocalVoice = o.LocalVoice != nil
	return injections{clock: o.Clock, log: o.Log, spawn: spawn, room: o.Elsewhere, newID: o.NewID, q: inject.New(o.Inject), waiting: map[inject.ID]injection{}}
}

// press is a gesture that cut an injection: it becomes an utterance, or it does not.
type press struct {
	turn    turn.ID       // of a press at this device
	until   time.Duration // of a gesture elsewhere, which is over if nobody has the floor then; 0: it is of this device
	spoken  uint64        // what persons had said in the room before it
	settled bool
	became  inject.Became // once settled
}

// gestured notes a gesture before the machine takes it; spoken is what persons had said in the room before it.
func (i *injections) gestured(ev turn.Event, spoken uint64) {
	if i.q.Speaking() == 0 {
		return
	}
	switch e := ev.(type) {
	case turn.Pressed:
		i.by, i.press = inject.Button, press{turn: e.Turn}
	case turn.Asked:
		i.by, i.press = inject.Hush, press{settled: true, became: inject.Utterance}
	case turn.Hushed:
		if e.Own {
			return // the machine's
		}
		i.by, i.press = inject.Hush, press{until: i.clock.Now() + elsewhereFor, spoken: spoken}
		i.press.settled = !e.Room
	case turn.Quieted:
		i.by, i.press = inject.Hush, press{until: i.clock.Now() + elsewhereFor, spoken: spoken}
	}
}

// taken looks what the machine made of a gesture.
func (i *injections) taken(ev turn.Event, m turn.Machine) {
	if p, ok := ev.(turn.Pressed); ok && m.Turn() != p.Turn {
		i.pressEnded(p.Turn, inject.Silence) // it opened no turn
	}
	if i.speaking != "" && i.speaking == m.Turn() && !m.Unheard() {
		i.by = inject.Machine // it was not cut
	}
}

// pressEnded settles the press of a turn: committed as an utterance, or ended without one.
func (i *injections) pressEnded(id turn.ID, became inject.Became) {
	if id != "" && id == i.press.turn {
		i.settle(became)
	}
}

func (i *injections) settle(became inject.Became) {
	if !i.press.settled {
		i.press.settled, i.press.became = true, became
		i.tell(i.q.Settle(i.clock.Now(), became))
	}
}

// elsewhereMost is how long a gesture elsewhere may stay open: the longest utterance. Our choice.
const elsewhereMost = time.Minute

// elsewhere settles a gesture at another device: a person's words follow it, or a companion has the floor with none, or nobody has it.
func (i *injections) elsewhere(taken func() bool) {
	p := i.press
	if p.until == 0 || p.settled {
		return
	}
	now := i.clock.Now()
	switch spoken, companion := i.room(); {
	case spoken != p.spoken:
		i.settle(inject.Utterance)
	case companion:
		i.settle(inject.Announced)
	case now >= p.until && !taken(), now >= p.until+elsewhereMost:
		i.settle(inject.Silence)
	}
}

// cut ends the one that is being spoken, after so much of it was heard.
func (i *injections) cut(id inject.ID, heard int) {
	i.tell(i.q.Cut(i.clock.Now(), id, inject.Cut{By: i.by, Heard: samples(heard)}))
	if i.press.settled {
		i.tell(i.q.Settle(i.clock.Now(), i.press.became))
	}
}

// add puts one into the queue.
func (i *injections) add(in injection) {
	id, verdict, endings := i.q.Offer(i.clock.Now(), in.Injection)
	if verdict == inject.Coalesced && in.Begins != nil {
		i.spawn(in.Begins)
	}
	in.turn = i.newID()
	i.waiting[id] = in
	i.log.Debug(logInjectQueued, "turn", in.turn, "inject", uint64(id), "key", in.Key, "priority", in.Priority.String(), "verdict", verdict.String())
	i.tell(endings)
}

// named is the turn in which one is said: that which it was queued with, and a new one each time that it is said again.
func (i *injections) named(id inject.ID) turn.ID {
	in := i.waiting[id]
	if in.said {
		in.turn, in.said = i.newID(), false
		i.waiting[id] = in
	}
	return in.turn
}

// completion is what is said once content has come to its end by itself. Who presses into it, or comes late, has another matter.
func completion(prompt string) injection {
	return injection{
		Announcement: Announcement{Injection: inject.Injection{Prompt: prompt, Key: "stream.done", TTL: time.Minute, Once: true}},
		done:         make(chan inject.Outcome, 1),
	}
}

// keep has the question that is kept wait its turn as NORMAL for as long as it could be asked; for how long it is kept, the machine says.
func (i *injections) keep(asks bool) {
	switch {
	case asks && i.kept == nil:
		i.kept = make(chan inject.Outcome, 1)
		i.add(injection{Announcement: Announcement{Injection: inject.Injection{Key: "kept", TTL: keptTTL, Once: true}}, done: i.kept, kept: true})
	case !asks && i.kept != nil:
		i.withdraw(i.kept)
		i.kept = nil
	}
}

// keptTTL is longer than any question is kept.
const keptTTL = 24 * time.Hour

// withdraw ends one that waits or sounds. One that has ended already is not there any more.
func (i *injections) withdraw(done chan inject.Outcome) {
	for id, in := range i.waiting {
		switch {
		case in.done != done:
		case id == i.q.Speaking():
			i.q.Forgo(id)
			if i.local != nil && in.Sound != nil {
				i.local.Cut() // its outcome follows
			}
		default:
			i.tell(i.q.Withdraw(id))
		}
	}
}

// aloud says that the local voice says one.
func (i *injections) aloud() bool { return i.q.Speaking() != 0 && i.speaking == "" }

// tell gives injections their one outcome.
func (i *injections) tell(endings []inject.Ending) {
	for _, e := range endings {
		in, ok := i.waiting[e.ID]
		if !ok {
			continue
		}
		delete(i.waiting, e.ID)
		i.log.Info(logInjectOutcome, "turn", in.turn, "inject", uint64(e.ID), "key", in.Key, "outcome", e.Outcome.String())
		in.done <- e.Outcome
	}
}

// outcomeOf is the outcome of an injection by the end of the turn in which it was spoken.
func outcomeOf(r turn.Reason) inject.Outcome {
	if r == turn.Done {
		return inject.Delivered
	}
	return inject.Failed
}

// inject drains the queue: after every batch of facts, so after every way in which a turn, a claim or a stream can end.
func (r *runner) inject() {
	kept, _ := r.m.Kept()
	r.injections.keep(kept && r.m.Online())
	r.injections.elsewhere(r.c.o.Taken)
	for q := &r.injections.q; q.Len() > 0; {
		s := r.situation()
		r.injections.wasTaken = s.Taken
		r.injections.tell(q.Expire(r.now(), s))
		r.injections.expire()
		d, ok := q.Next(r.now(), s)
		if !ok {
			return
		}
		in := r.injections.waiting[d.ID]
		r.injections.settle(inject.Silence)
		r.injections.by, r.injections.press = inject.Machine, press{settled: true}
		if d.Local {
			if r.fact(turn.Preempted{At: r.now()}); !r.m.Silent() { // what the end of a call leaves to be said
				q.Back(d.ID)
				return
			}
			r.speakLocally(d, in)
			return
		}
		id := r.injections.named(d.ID)
		r.injections.speaking = id
		if in.kept {
			askKept(r, id)
		} else {
			r.c.o.OnInject(id)
			r.fact(turn.TurnInjected{At: r.now(), Turn: id, Prompt: d.Prompt, Who: in.Who, Hold: in.Begins != nil})
		}
		if r.injections.speaking == id && r.m.Turn() != id { // the machine did not take it
			r.injections.speaking = ""
			q.Back(d.ID)
			return
		}
		if in, waits := r.injections.waiting[d.ID]; waits {
			in.said = true
			r.injections.waiting[d.ID] = in
		}
		if in.Begins != nil {
			r.spawn(func() {
				r.begins(in.Announcement)
				r.c.Post(turn.FloorOpened{At: r.now(), Turn: id})
			})
		}
	}
}

// askKept asks the question that was kept, once a person has heard that it does: to the room it is a press.
func askKept(r *runner, id turn.ID) {
	_, said := r.m.Kept()
	alone := said && r.c.o.OnKept(id)
	r.fact(turn.TurnInjected{At: r.now(), Turn: id, Kept: true})
	if alone {
		r.fact(turn.FloorGranted{At: r.now(), Turn: id})
	}
}

// expire takes back what nobody wants any more before it can begin: the fact that says so may come a moment later.
func (i *injections) expire() {
	for id, in := range i.waiting {
		select {
		case <-in.left:
			i.tell(i.q.Withdraw(id))
		default:
		}
	}
}

// turnEnded ends the injection that was spoken in this turn, if one was, and settles a press that began it.
func (i *injections) turnEnded(id turn.ID, s turn.Summary) {
	i.pressEnded(id, inject.Silence)
	if id == "" || id != i.speaking {
		return
	}
	i.speaking = ""
	if s.Reason == turn.InterruptedByPress {
		i.cut(i.q.Speaking(), s.Heard)
		return
	}
	i.tell(i.q.Ended(i.clock.Now(), i.q.Speaking(), outcomeOf(s.Reason)))
}

// beginsFor is how long what is to be said waits for whoever is told of it. Our choice: a card that writes takes a tenth of a second.
const beginsFor = 2 * time.Second

// begins tells that something is about to be heard, and waits, bounded, until that is known.
func (r *runner) begins(a Announcement) {
	known := make(chan struct{})
	r.spawn(func() {
		defer close(known)
		callback(r.log, "", a.Begins)
	})
	t := r.c.o.Clock.NewTimer(beginsFor)
	defer t.Stop()
	select {
	case <-known:
	case <-t.C():
		r.log.Error(logInjectUnknown, "key", a.Key, "after_ms", ms(beginsFor))
	}
}

// speakLocally says an injection without the session. A press drops it like everything else.
func (r *runner) speakLocally(d inject.Delivery, in injection) {
	src := r.outputs.open(SourceWords)
	r.injections.local = src
	r.spawn(func() {
		ctx, cancel := context.WithTimeout(r.ctx, r.c.o.ToolDeadline)
		defer cancel()
		sound := in.Sound
		if sound == nil {
			sound = func(ctx context.Context) ([]int16, error) {
				return r.c.o.LocalVoice.Speak(ctx, cmp.Or(in.Text, d.Prompt))
			}
		}
		var pcm []int16
		err := guard(func() (err error) {
			pcm, err = sound(ctx)
			return err
		})
		how := inject.Failed
		if err != nil {
			r.log.Error(logInjectOutcome, "turn", in.turn, "inject", uint64(d.ID), "err", err)
			src.Close()
		} else {
			if in.Begins != nil {
				r.begins(in.Announcement)
			}
			n := src.Write(r.ctx, pcm)
			src.Close()
			if n < len(pcm) {
				how = inject.Interrupted
				r.pause(settle) // the gesture that dropped it is on its way
			} else if r.drained(src, func() int64 { return int64(n) }) {
				how = inject.Delivered
			}
			if how == inject.Delivered && src.Heard()+rate/10 < n { // dropped; all but a tenth of a second counts as said
				how = inject.Interrupted
			}
		}
		r.inbox.put(entry{of: localDone{d.ID, src, how}})
	})
}

// situation is what the machine knows, and whether the room leaves the floor.
func (r *runner) situation() inject.Situation {
	m := r.m
	return inject.Situation{
		Idle: m.Silent(), InCall: m.InCall() || m.Ringing(), Streaming: m.Streaming(), Gap: r.foci.gap(), Online: m.Online(), Taken: r.c.o.Taken(),
	}
}

// takenPoll is how often the room is asked whether its floor is free, and content whether it is at a gap, while an injection waits for
// that. Our choice: it is heard as no pause.
const takenPoll = 50 * time.Millisecond

// wake is when the queue may have something new to say; or never.
func (i *injections) wake(now time.Duration, situation func() inject.Situation) time.Duration {
	next := never
	if p := i.press; p.until != 0 && !p.settled && i.q.Unsettled() {
		next = now + takenPoll
	}
	if i.q.Len() == 0 {
		return next
	}
	s := situation()
	at, ok := i.q.Wake(now, s)
	if (s.Taken || i.wasTaken || s.Streaming) && s.Idle && i.q.Busy(now) && (!ok || at > now+takenPoll) {
		at, ok = now+takenPoll, true
	}
	if ok && (next == never || at < next) {
		next = at
	}
	return next
}
