package coordinator

import (
	"context"
	"log/slog"
	"slices"
	"strings"
	"time"

	"conch/coordinator/alert"
	"conch/coordinator/turn"
)

// Alarm is the sound of alerts (24 kHz): a round of all that ring, from 1, which may rise and say now and then what they are about. It runs
// on a goroutine of its own, until it returns or ctx ends, and may be slow.
type Alarm func(ctx context.Context, text string, round int) []int16

// ringing is an entry of the inbox: somebody wants a person's attention.
type ringing struct {
	text    string
	longest time.Duration
	begun   bool
	done    chan alert.How // of one place, so that telling never waits
}

// silenced is one that nobody wants any more.
type silenced struct{ done chan alert.How }

// rang is how a round reports that it is over.
type rang struct {
	id    alert.ID
	round int
	src   Source
}

// Ring sounds an alert until a person presses, which begins no turn, or until it was heard for so long (0: five minutes). The channel
// gets exactly one end. It never waits, and nor does stop.
func (c *Coordinator) Ring(text string, longest time.Duration) (done <-chan alert.How, stop func()) {
	in := ringing{text: text, longest: longest, done: make(chan alert.How, 1)}
	if !c.inbox.post(entry{of: in}) {
		in.done <- alert.Failed // Run has ended, or too many ask
	}
	return in.done, func() { c.inbox.post(entry{of: silenced{in.done}}) }
}

// alerts is the runner's side of what rings: it carries out what the machine decides. Each round is a source of its own, so that what
// silences it (a press, a turn, a call) has to know nothing of it. Owned by runner.
type alerts struct {
	// fixed after newRunner
	clock   Clock
	log     *slog.Logger
	outputs *outputs
	alarm   Alarm                           // nil: this device cannot ring
	spawn   func(func(ctx context.Context)) // on a goroutine that Run waits for
	put     func(rang)                      // into the inbox

	m    alert.Machine
	last alert.ID
	of   map[alert.ID]ringing
	src  Source // of the round that sounds
	told turn.AlertChanged
}

// add takes an alert.
func (a *alerts) add(in ringing) {
	if a.alarm == nil {
		in.done <- alert.Failed
		return
	}
	if a.of == nil {
		a.of = map[alert.ID]ringing{}
	}
	a.last++
	a.of[a.last] = in
	a.feed(alert.Asked{At: a.clock.Now(), ID: a.last, Longest: in.longest})
}

// take ends one that nobody wants any more. One that has ended already is not there any more.
func (a *alerts) take(done chan alert.How) {
	for id, in := range a.of {
		if in.done == done {
			a.feed(alert.Withdrawn{At: a.clock.Now(), ID: id})
		}
	}
}

// answer ends what has begun to ring, because a person knows of it; a person elsewhere may not.
func (a *alerts) answer(by turn.StopAlert) {
	if by.Elsewhere {
		a.feed(alert.Hushed{At: a.clock.Now()})
		return
	}
	a.feed(alert.Answered{At: a.clock.Now(), Pressed: by.Pressed})
}

// gestured ends what rests, where a person at this device presses or hushes.
func (a *alerts) gestured(ev turn.Event) {
	switch e := ev.(type) {
	case turn.Pressed:
		a.feed(alert.Gestured{At: a.clock.Now(), Pressed: true})
	case turn.Hushed:
		if !e.Room && !e.Own {
			a.feed(alert.Gestured{At: a.clock.Now()})
		}
	}
}

// sounded is told that a round is over.
func (a *alerts) sounded(r rang) {
	a.outputs.over(r.src)
	a.feed(alert.Sounded{At: a.clock.Now(), ID: r.id, Round: r.round, Heard: r.src.Heard() > 0})
}

// waits tells that one rings or wants to.
func (a *alerts) waits() bool { return a.m.Any() }

// pass lets time pass.
func (a *alerts) pass() {
	if at, ok := a.m.Wake(); ok && at <= a.clock.Now() {
		a.feed(alert.Passed{At: a.clock.Now()})
	}
}

// look is told whether alerts are in the foreground, and whether no turn, call or words are live, and says what is new of them for the turn
// machine.
func (a *alerts) look(front, calm bool) (news turn.AlertChanged, ok bool) {
	a.feed(alert.Calmed{At: a.clock.Now(), Yes: calm})
	a.feed(alert.Fronted{At: a.clock.Now(), Yes: front})
	news = turn.AlertChanged{Begun: a.m.Begun(), Rings: a.m.Rings()}
	if news == a.told {
		return news, false
	}
	a.told = news
	news.At = a.clock.Now()
	return news, true
}

// wake is when there is something to do without a fact; or never.
func (a *alerts) wake() time.Duration {
	if at, ok := a.m.Wake(); ok {
		return at
	}
	return never
}

// end ends them all: nobody hears them any more.
func (a *alerts) end() {
	a.m = alert.Machine{}
	for id, in := range a.of {
		delete(a.of, id)
		in.done <- alert.Failed
	}
}

// feed feeds the machine and carries out its orders.
func (a *alerts) feed(ev alert.Event) {
	var orders []alert.Order
	a.m, orders = alert.Step(a.m, ev)
	for _, o := range orders {
		switch o.Do {
		case alert.Sound:
			a.sound(o)
		case alert.Silence:
			a.src.Cut()
			a.outputs.over(a.src)
		case alert.End:
			in := a.of[o.ID]
			delete(a.of, o.ID)
			a.log.Info(logAlertEnd, "alert", uint64(o.ID), "how", o.How.String())
			in.done <- o.How
		}
	}
}

// sound begins a round of all that ring. It reports when it is over, at the latest some seconds after it should have been: a dead card
// must not keep the next one from being tried.
func (a *alerts) sound(o alert.Order) {
	src := a.outputs.open(SourceWords)
	a.src = src
	var texts []string
	for _, id := range a.m.Ringing() {
		in := a.of[id]
		if !in.begun {
			a.log.Info(logAlertBegin, "alert", uint64(id))
			in.begun = true
			a.of[id] = in
		}
		if in.text != "" && !slices.Contains(texts, in.text) {
			texts = append(texts, in.text)
		}
	}
	a.spawn(func(ctx context.Context) {
		var pcm []int16
		err := guard(func() error {
			most, cancel := context.WithTimeout(ctx, alarmFor)
			defer cancel()
			pcm = a.alarm(most, strings.Join(texts, ", "), o.Round)
			return nil
		})
		if err != nil {
			a.log.Error(logAlertBegin, "alert", uint64(o.ID), "err", err)
		}
		limit, cancel := context.WithTimeout(ctx, samples(len(pcm))+alarmFor)
		defer cancel()
		src.Write(limit, pcm)
		src.Close()
		select {
		case <-src.Drained():
		case <-limit.Done():
			src.Cut()
		}
		a.put(rang{o.ID, o.Round, src})
	})
}

// alarmFor is how long making a round may take, and by how much it may be heard late. Our choice.
const alarmFor = 5 * time.Second
