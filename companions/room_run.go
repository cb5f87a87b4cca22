package companions

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"conch/companions/round"
	"conch/companions/talk"
)

const (
	shutdownWait = 2 * time.Second  // for goroutines of a refiner, once they were told to stop
	shortestNap  = time.Millisecond // so that a time which the machine does not move on costs little
	reportEvery  = time.Second      // one line about ignored and refused facts
	longestNap   = 10 * time.Minute // our choice; any will do
)

// Run owns the machine until ctx ends. It returns when all goroutines it started are gone, or, where a refiner ignores that,
// after two seconds with an error that counts them. It may be called once.
func (r *Room) Run(ctx context.Context) error {
	if r.started.Swap(true) {
		return fmt.Errorf("room: Run of %s was called before (make a new Room)", r.o.Self)
	}
	done := make(chan struct{})
	var disk sync.WaitGroup
	disk.Go(func() { r.memory.writing(done) })
	if r.ledger != nil {
		disk.Go(func() { r.ledger.writing(done) })
	}
	for _, m := range r.memory.Recent() { // what was said before a restart; the machine knows since New
		r.perform(round.Remember{Message: m})
	}
	r.loop(ctx)
	r.unasked()

	r.inbox.close()
	for _, ev := range r.inbox.take() { // what came last still counts, and has its line in the ledger
		r.fact(ev)
	}
	r.send(round.Beat{Name: r.o.Name, Left: true}) // so that nobody waits for the votes of this device
	close(done)
	r.watchers.close()
	disk.Wait() // what is written is local and bounded
	gone := make(chan struct{})
	go func() { r.running.Wait(); close(gone) }()
	timer := time.NewTimer(shutdownWait)
	defer timer.Stop()
	select {
	case <-gone:
		return nil
	case <-timer.C:
	}
	n := r.left.Load()
	r.log.Error(logRoomLeft, "refiners", n)
	return fmt.Errorf("room: %d calls of the refiner did not end within %v (they ignore their deadline)", n, shutdownWait)
}

// loop takes facts in order of arrival, carries out what the machine orders, and keeps the one timer.
func (r *Room) loop(ctx context.Context) {
	timer := time.NewTimer(longestNap)
	defer timer.Stop()
	for ctx.Err() == nil {
		r.settled.Store(false)
		for _, ev := range r.inbox.take() {
			r.fact(ev)
		}
		// Facts that arrived first go first, so that a vote which is just in time is in time.
		if at, ok := r.m.Wake(); ok && at <= r.Now() {
			r.fact(round.Tick{At: r.Now(), ID: r.o.NewID()})
		}
		if f := r.call.Swap(nil); f != nil {
			(*f)()
		}
		r.report(false)
		r.settled.Store(true)
		timer.Reset(r.nap())
		select {
		case <-ctx.Done():
		case <-r.inbox.wake:
		case <-timer.C:
		}
	}
	r.report(true)
}

// nap is the time until there is something to do without a fact.
func (r *Room) nap() time.Duration {
	next := longestNap
	now := r.Now()
	if at, ok := r.m.Wake(); ok {
		next = min(next, at-now)
	}
	if !r.untold.empty() {
		next = min(next, r.quietAt-now)
	}
	return max(next, shortestNap)
}

// fact feeds the machine and carries out its orders.
func (r *Room) fact(ev round.Event) {
	if e, ok := ev.(round.LinkChanged); ok {
		r.log.Info(logRoomLink, "up", e.Up)
	}
	m, effects := round.Step(r.m, ev)
	r.m = m
	r.silenced(ev)
	r.taken.Store(r.m.Taken())
	if who, _ := r.m.Floor(); who != r.floor {
		r.floor = who
		r.o.OnFloor(who)
	}
	r.counts.fact()
	// What others wait for goes out before what is written down.
	for _, e := range effects {
		if _, ok := e.(round.Record); !ok {
			r.carryOut(e)
			r.perform(e)
		}
	}
	for _, e := range effects {
		if e, ok := e.(round.Record); ok {
			r.carryOut(e)
		}
	}
	if s := r.m.Setting(); s != r.Setting() { // a beat may bring it, and nobody has changed
		r.setting.Store(&s)
	}
	if _, ok := ev.(round.CardsChanged); ok {
		r.publish()
	}
}

// carryOut does the room's own part of what the machine orders.
func (r *Room) carryOut(e round.Effect) {
	switch e := e.(type) {
	case round.Send:
		r.send(e.Packet)
	case round.Refine:
		r.refine(e)
	case round.Unasked:
		r.unasked()
	case round.Remember:
		r.memory.add(e.Message)
		if _, ok := e.Message.From.Companion(); !ok {
			r.spoken.Add(1)
		}
	case round.Correct:
		r.memory.correct(e.ID, e.Text, e.Release)
	case round.Record:
		r.record(e.Entry)
	case round.Rename:
		r.log.Warn(logRoomRenamed, "card", e.Card, "to", e.To, "why", e.Why)
		r.publish()
	case round.MembersChanged:
		r.publish()
		r.log.Info(logRoomMember, r.wordlessly([]any{"why", e.Why, "devices", len(r.Members())})...)
	case round.PressesCount:
		r.log.Warn(logRoomPresses, "device", e.Device, "name", e.Name, "count", e.Count, "why", e.Why)
		r.o.OnPresses(e)
	case round.Offends:
		r.log.Warn(logRoomOffence, "device", e.Device, "name", e.Name, "what", e.What, "over", e.Over, "why", e.Why)
		r.o.OnOffence(e)
	case round.Ignored:
		r.counts.ignore(e.Why)
		r.untold.ignored(e)
	}
}

// perform has the device do its part. A panic of it is its own.
func (r *Room) perform(e round.Effect) {
	stage, began := r.o.Stage, r.Now()
	var place round.Place
	defer func() { r.performed(e, place, began, recover()) }()
	switch e := e.(type) {
	case round.Hush:
		if e.Sounding { // no line: there may be a hundred a second
			stage.Quiet(e.Why)
			return
		}
		stage.Hush(e.Why)
		r.log.Info(logRoomHush, "epoch", epochText(e.Epoch), "why", e.Why)
	case round.Prepare:
		place = e.Place
		stage.Prepare(e)
	case round.Speak:
		place = e.Place
		stage.Speak(e.Place, e.Companion)
	case round.Abandon:
		place = e.Place
		stage.Abandon(e.Place, e.Companion, e.Why)
	case round.Lost:
		stage.Lost(e.Turn, e.Why)
	case round.Remember: // but for those whom it was kept from
		if own := slices.DeleteFunc(r.ownIDs(), func(c round.CompanionID) bool { return !e.Message.Concerns(c) }); len(own) > 0 {
			stage.Remember(e.Message, own)
		}
	case round.Correct:
		stage.Correct(e.ID, e.Text)
	case round.Rename:
		stage.Renamed(e)
	}
}

func orderName(e round.Effect) string { return strings.TrimPrefix(fmt.Sprintf("%T", e), "round.") }

// stageSlow is what no order takes: one that does is worth a line.
const stageSlow = 100 * time.Millisecond

// performed looks at how the device came by an order: a companion that it failed to get ready has failed.
func (r *Room) performed(e round.Effect, at round.Place, began time.Duration, panicked any) {
	took := r.Now() - began
	r.counts.performed(e, took > stageSlow, panicked != nil)
	if took > stageSlow {
		r.log.Warn(logRoomStage, "order", orderName(e), "place", placeText(at), "took_ms", took.Milliseconds())
	}
	if panicked == nil {
		return
	}
	r.log.Error(logRoomStage, "order", orderName(e), "place", placeText(at), "err", fmt.Sprint("panic: ", panicked))
	if p, ok := e.(round.Prepare); ok {
		r.SpeechEnded(round.SpeechEnded{Place: p.Place, Companion: p.Companion, Why: "the device failed at it"})
	}
}

// own are the companions living here, as the room calls them.
func (r *Room) ownIDs() []round.CompanionID {
	var ids []round.CompanionID
	for _, m := range *r.members.Load() {
		for _, c := range m.Cards {
			if m.Device == r.o.Self {
				ids = append(ids, c.ID)
			}
		}
	}
	return ids
}

// publish shows who is present.
func (r *Room) publish() {
	members := r.m.Members()
	r.members.Store(&members)
	r.silences.know(func(x talk.Roster) talk.Roster { return x.Meet(members) })
	setting := r.m.Setting()
	r.setting.Store(&setting)
	r.entries.know(members)
	r.alone.Store(len(members) == 1 && len(members[0].Cards) == 1 && !members[0].Cards[0].Muted)
}

// send publishes a packet, if there is anybody to hear it.
func (r *Room) send(p round.Packet) {
	if r.bus == nil {
		return
	}
	r.counts.send()
	r.bus.Send(p)
}

// untold is what the next line about ignored and refused facts will say.
type untold struct {
	count   uint64
	last    round.Ignored
	refused inboxRefused // told so far
	news    inboxRefused
}

func (u *untold) ignored(e round.Ignored) { u.count++; u.last = e }

func (u *untold) empty() bool { return u.count == 0 && u.news == (inboxRefused{}) }

// report writes at most one line a second about facts that changed nothing.
func (r *Room) report(now bool) {
	refused, _ := r.inbox.counts()
	u := &r.untold
	u.news = inboxRefused{refused.local - u.refused.local, refused.presses - u.refused.presses, refused.outside - u.refused.outside}
	if u.empty() || !now && r.Now() < r.quietAt {
		return
	}
	r.quietAt = r.Now() + reportEvery
	if u.count > 0 {
		r.log.Debug(logRoomIgnored, "count", u.count, "last", u.last.What, "why", u.last.Why, "from", u.last.From)
	}
	if u.news != (inboxRefused{}) {
		r.log.Warn(logRoomRefused, "local", u.news.local, "presses", u.news.presses, "packets", u.news.outside)
	}
	u.count, u.refused, u.news = 0, refused, inboxRefused{}
}

func placeText(p round.Place) string {
	if p == (round.Place{}) {
		return ""
	}
	return fmt.Sprintf("%s.%d", epochText(p.Epoch), p.Number)
}

func epochText(e round.Epoch) string {
	d := string(e.Device)
	if len(d) > 8 {
		d = d[:8]
	}
	return fmt.Sprintf("%d@%s", e.N, strings.ToValidUTF8(d, "?"))
}
