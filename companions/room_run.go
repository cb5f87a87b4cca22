package companions

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"conch/companions/round"
)

const (
	shutdownWait = 2 * time.Second  // for goroutines of a refiner or the stage, once they were told to stop
	shortestNap  = time.Millisecond // so that a time which the machine does not move on costs little
	reportEvery  = time.Second      // one line about ignored and refused facts
	maxCircle    = 64               // facts that follow at once from facts
	longestNap   = 10 * time.Minute // our choice; any will do
)

// run is the life of the room: begin, loop, end.
func (r *Room) run(ctx context.Context) error {
	done := make(chan struct{})
	var stage, disk sync.WaitGroup
	stage.Go(func() { r.outputs.hushing(done) })
	stage.Go(func() { r.outputs.ordering(done) })
	disk.Go(func() { r.memory.writing(done) })
	if r.ledger != nil {
		disk.Go(func() { r.ledger.writing(done) })
	}
	r.restore()
	r.loop(ctx)

	r.inbox.close()
	for _, ev := range r.inbox.take() { // what came last still counts, and has its line in the ledger
		r.fact(ev)
	}
	r.goodbye()
	close(done)
	r.watchers.close()
	disk.Wait() // what is written is local and bounded
	gone := make(chan struct{})
	go func() { stage.Wait(); r.running.Wait(); close(gone) }()
	timer := time.NewTimer(shutdownWait)
	defer timer.Stop()
	select {
	case <-gone:
		return nil
	case <-timer.C:
	}
	n := r.left.Load()
	r.log.Error(logRoomLeft, "refiners", n)
	return fmt.Errorf("room: the stage or %d calls of the refiner did not end within %v (they ignore their deadline)", n, shutdownWait)
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

// fact feeds the machine, carries out its orders, then feeds what they produced at once.
func (r *Room) fact(ev round.Event) {
	r.step(ev)
	for n := 0; len(r.unordered) > 0 && n < maxCircle; n++ {
		next := r.unordered[0]
		r.unordered = r.unordered[1:]
		r.step(next)
	}
	r.unordered = nil
}

func (r *Room) step(ev round.Event) {
	if _, ok := ev.(round.Refined); ok {
		r.refining--
	}
	if e, ok := ev.(round.LinkChanged); ok {
		r.log.Info(logRoomLink, "up", e.Up)
	}
	m, effects := round.Step(r.m, ev)
	r.m = m
	r.taken.Store(r.m.Taken())
	if who, _ := r.m.Floor(); who != r.floor {
		r.floor = who
		r.o.OnFloor(who)
	}
	r.counts.fact()
	r.outputs.voidBefore(r.m.Epoch()) // what the device has not begun to do for an older one is void
	// What others wait for goes out before what is written down.
	for _, e := range effects {
		if _, ok := e.(round.Record); !ok {
			r.carryOut(e)
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

// carryOut does what the machine orders.
func (r *Room) carryOut(e round.Effect) {
	switch e := e.(type) {
	case round.Send:
		r.send(e.Packet)
	case round.Hush:
		r.log.Info(logRoomHush, "epoch", epochText(e.Epoch), "why", e.Why)
		r.outputs.hushNow(e.Epoch, e.Why)
	case round.Prepare:
		r.outputs.post(order{what: orderPrepare, place: e.Place, companion: e.Companion, call: func(s Stage) { s.Prepare(e) }})
	case round.Speak:
		r.outputs.post(order{what: orderSpeak, place: e.Place, companion: e.Companion, call: func(s Stage) { s.Speak(e.Place, e.Companion) }})
	case round.Abandon:
		r.outputs.post(order{what: "Abandon", place: e.Place, companion: e.Companion, call: func(s Stage) { s.Abandon(e.Place, e.Companion, e.Why) }})
	case round.Lost:
		r.outputs.post(order{what: "Lost", call: func(s Stage) { s.Lost(e.Turn, e.Why) }})
	case round.Refine:
		r.refine(e)
	case round.Remember:
		r.memory.add(e.Message)
		r.remark(e.Message)
	case round.Correct:
		r.memory.correct(e.ID, e.Text)
		r.outputs.post(order{what: "Correct", call: func(s Stage) { s.Correct(e.ID, e.Text) }})
	case round.Record:
		r.record(e.Entry)
	case round.Rename:
		r.log.Warn(logRoomRenamed, "card", e.Card, "to", e.To, "why", e.Why)
		r.publish()
		r.outputs.post(order{what: "Renamed", call: func(s Stage) { s.Renamed(e) }})
	case round.MembersChanged:
		r.publish()
		r.log.Info(logRoomMember, "why", e.Why, "devices", len(r.Members()))
	case round.Ignored:
		r.counts.ignore(e.Why)
		r.untold.ignored(e)
	}
}

// restore tells the companions living here what was said before a restart; the machine knows since New.
func (r *Room) restore() {
	for _, m := range r.memory.Recent() {
		r.remark(m)
	}
}

// remark tells the companions living here of a message, except those whom it was kept from.
func (r *Room) remark(m round.Message) {
	own := r.ownIDs()
	if only, ok := m.Whisper(); ok {
		own = slices.DeleteFunc(own, func(c round.CompanionID) bool { return c != only })
	}
	if len(own) == 0 {
		return
	}
	r.outputs.post(order{what: "Remember", call: func(s Stage) { s.Remember(m, own) }})
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
	setting := r.m.Setting()
	r.setting.Store(&setting)
	r.entries.know(members)
	r.alone.Store(len(members) == 1 && len(members[0].Cards) == 1 && !members[0].Cards[0].Muted)
}

// send publishes a packet, if there is anybody to hear it.
func (r *Room) send(p round.Packet) {
	if r.o.Bus == nil {
		return
	}
	r.counts.send()
	r.o.Bus.Send(p)
}

// goodbye tells the others that this device goes, so that nobody waits for its votes.
func (r *Room) goodbye() { r.send(round.Beat{Name: r.o.Name, Left: true}) }

// notPrepared is a companion that the device could not get ready.
func (r *Room) notPrepared(o order, why string) {
	r.SpeechEnded(round.SpeechEnded{Place: o.place, Companion: o.companion, Why: why})
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
