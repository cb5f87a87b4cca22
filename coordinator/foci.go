package coordinator

import (
	"cmp"
	"log/slog"
	"slices"
	"time"

	"conch/coordinator/focus"
	"conch/coordinator/turn"
)

// foci is the runner's side of the focus (TURNS.md 4): it tells the machine who wants to be heard, and carries out what that means
// for content. Turns, calls and what the device itself says are kept apart by the turn machine; here they are what content is behind.
// Owned by runner.
type foci struct {
	// fixed after newRunner
	clock   Clock
	log     *slog.Logger
	outputs *outputs
	taken   func() bool // somebody in the room has the floor

	m    focus.Machine
	last focus.ID
	jobs []*job // streams that run

	turn      turn.ID       // whose the dialog was begun for; empty: it was hushed by the room, or there is none
	exclusive bool          // the dialog, once anybody in it has spoken into the microphone
	elsewhere time.Duration // until then somebody may be about to get the floor who pressed elsewhere in the room

	lost  time.Duration // since when content that should sound has no source that lives; or never
	retry time.Duration // when it is given the next one
	moved time.Duration // since when nothing has been heard of content that should sound; or never
}

// Our choices.
const (
	contentPatience = 5 * time.Minute       // of content that names none
	elsewhereFor    = time.Second           // a hush of the room waits so long for the floor that is to follow
	revivePoll      = 50 * time.Millisecond // between two sources of content that lost its own
	reviveFor       = 3 * time.Second       // then it has failed
)

// wake is when there is something to do without a fact; or never.
func (f *foci) wake() time.Duration {
	next := never
	sooner := func(at time.Duration) {
		if next == never || at < next {
			next = at
		}
	}
	if at, ok := f.m.Wake(); ok {
		sooner(at)
	}
	if f.lost != never {
		sooner(f.retry)
	}
	if f.moved != never {
		sooner(f.moved + contentPatience)
	}
	if f.m.Holder(focus.Dialog) != 0 && (f.m.Holder(focus.Content) != 0 || f.m.Holder(focus.Alert) != 0) {
		sooner(f.clock.Now() + takenPoll)
	}
	return next
}

// look tells the focus what has become of turns, calls and words. It comes after injected turns have begun, so that content does not
// come back between the end of one turn and the beginning of the next.
func (f *foci) look(m turn.Machine, speaksLocally, rings bool) {
	now, live, dialog := f.clock.Now(), m.Turn(), f.m.Holder(focus.Dialog)
	if m.Held() || m.Unheard() {
		live = "" // nothing of it is heard
	}
	words := m.State() == turn.Idle && !m.Silent() || speaksLocally
	switch {
	case live != "" && live != f.turn:
		f.turn = live
		f.talk(m.ByPerson())
	case live == "" && words && dialog == 0:
		f.talk(false)
	case live == "" && !words && dialog != 0 && now >= f.elsewhere && !f.taken():
		f.turn, f.exclusive = "", false
		f.release(dialog)
	}
	f.front(focus.Comms, m.InCall() || m.Ringing())
	f.front(focus.Alert, rings)
	if at, ok := f.m.Wake(); ok && at <= now {
		f.feed(focus.Passed{At: now})
	}
	f.revive(now)
	f.giveUp(now)
}

// gap tells that content may be interrupted now: it is between two paragraphs, or nothing of it is heard anyway.
func (f *foci) gap() bool {
	id := f.m.Holder(focus.Content)
	j, l := f.job(id), f.m.Level(id)
	return j == nil || l != focus.Foreground && l != focus.Ducked || j.content.pauses.now()
}

// giveUp ends content that should sound and of which nobody has heard anything for so long: its producer brings nothing, or the card is
// gone, and a book does not begin by itself in the morning.
func (f *foci) giveUp(now time.Duration) {
	id := f.m.Holder(focus.Content)
	j := f.job(id)
	if l := f.m.Level(id); j == nil || l != focus.Foreground && l != focus.Ducked {
		f.moved = never
		return
	}
	if j.heardMore() || f.moved == never {
		f.moved = now
	}
	if now-f.moved >= contentPatience {
		j.why.Store(uint32(turn.EndedFailed))
		f.stop(j)
	}
}

// talk begins a dialog. What a person has silenced stays silent through what follows it, whoever answers.
func (f *foci) talk(exclusive bool) {
	f.exclusive = f.exclusive || exclusive
	f.acquire(focus.Dialog, focus.Activity{Exclusive: f.exclusive})
}

// hushed pauses content for somebody who pressed elsewhere in the room, until nobody has the floor.
func (f *foci) hushed() {
	f.elsewhere = f.clock.Now() + elsewhereFor
	f.talk(true)
}

// begin has a stream wait for the focus.
func (f *foci) begin(j *job, of StreamFunc) {
	instead := focus.ID(0)
	for _, o := range f.jobs {
		if o.key == j.key && j.key != "" {
			instead = o.focus
		}
	}
	f.jobs = append(f.jobs, j)
	f.last++
	j.focus = f.last
	f.feed(focus.Acquired{At: f.clock.Now(), Channel: focus.Content, Instead: instead, Activity: focus.Activity{
		ID: j.focus, Mixable: !of.Pauses, Patience: cmp.Or(of.Patience, contentPatience),
	}})
}

// hold has content wait until a person asks for it, or no longer.
func (f *foci) hold(on bool) {
	if on {
		f.feed(focus.Stopped{At: f.clock.Now()})
	} else {
		f.feed(focus.Resumed{At: f.clock.Now()})
	}
}

// playing is the stream that is heard where nothing is in front of it; nil: none, or a person has to ask for it.
func (f *foci) playing() *job {
	if f.m.Held() {
		return nil
	}
	return f.job(f.m.Holder(focus.Content))
}

// alerting tells that nothing goes before what rings.
func (f *foci) alerting() bool { return f.m.Level(f.m.Holder(focus.Alert)) == focus.Foreground }

// front has a channel held or not.
func (f *foci) front(c focus.Channel, on bool) {
	switch holder := f.m.Holder(c); {
	case on && holder == 0:
		f.acquire(c, focus.Activity{Exclusive: c == focus.Comms})
	case !on:
		f.release(holder)
	}
}

func (f *foci) acquire(c focus.Channel, a focus.Activity) {
	f.last++
	a.ID = f.last
	f.feed(focus.Acquired{At: f.clock.Now(), Channel: c, Activity: a})
}

func (f *foci) release(id focus.ID) {
	if id != 0 {
		f.feed(focus.Released{At: f.clock.Now(), ID: id})
	}
}

// feed feeds the focus and carries out what it means for content.
func (f *foci) feed(ev focus.Event) {
	var orders []focus.Order
	f.m, orders = focus.Step(f.m, ev)
	for _, o := range orders {
		j := f.job(o.ID)
		if j == nil {
			continue
		}
		f.log.Debug(logEffectFocus, "turn", j.turn, "handle", uint64(j.handle), "order", o.Do.String())
		if l := f.m.Level(o.ID); l != 0 {
			select {
			case <-j.levels: // it is another one by now
			default:
			}
			j.levels <- l
		}
		switch o.Do {
		case focus.Play, focus.Duck:
			f.sound(j, o.Do == focus.Duck)
		case focus.Pause:
			if src := j.src.Load(); src != nil {
				(*src).Cut()
				f.outputs.over(*src)
			}
		case focus.End:
			switch o.Why {
			case focus.Expired:
				j.why.Store(uint32(turn.EndedExpired))
			case focus.Replaced:
				j.why.Store(uint32(turn.EndedPreempted))
			}
			f.stop(j)
		}
	}
}

// stop ends a stream or a claim.
func (f *foci) stop(j *job) {
	if !j.stopped {
		j.stop()
		f.over(j)
	}
}

// over forgets a stream that has ended.
func (f *foci) over(j *job) {
	f.jobs = slices.DeleteFunc(f.jobs, func(other *job) bool { return other == j })
	f.release(j.focus)
}

// job is the stream of that name, if it is one.
func (f *foci) job(id focus.ID) *job {
	for _, j := range f.jobs {
		if j.focus == id {
			return j
		}
	}
	return nil
}

// sound has content heard, softly or as it is.
func (f *foci) sound(j *job, softly bool) {
	if j.softly = softly; j.sounds() {
		(*j.src.Load()).Duck(softly)
		return
	}
	f.reopen(j)
}

// reopen gives content another source, and does not wait for it to take it.
func (f *foci) reopen(j *job) {
	if src := j.src.Load(); src != nil {
		f.outputs.over(*src)
	}
	src := f.outputs.open(SourceContent)
	if j.content.live {
		src.Live()
	}
	if j.softly {
		src.Duck(true)
	}
	j.src.Store(&src)
	select {
	case unused := <-j.content.again:
		unused.Close()
	default:
	}
	j.content.again <- src
}

// revive gives content another source that should sound and has none that lives: something was flushed, or an edge was made just when
// it was opened, or the speaker has no place for it.
func (f *foci) revive(now time.Duration) {
	id := f.m.Holder(focus.Content)
	j := f.job(id)
	if l := f.m.Level(id); j == nil || j.sounds() || l != focus.Foreground && l != focus.Ducked {
		f.lost = never
		return
	}
	switch {
	case f.lost == never:
		f.lost, f.retry = now, now+revivePoll
	case now-f.lost >= reviveFor:
		j.why.Store(uint32(turn.EndedFailed))
		f.stop(j)
	case now >= f.retry:
		f.retry = now + revivePoll
		f.reopen(j)
	}
}
