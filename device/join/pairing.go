package join

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"sync"
	"sync/atomic"
	"time"

	"conch/device/condition"
	"conch/device/control"
	"conch/mqtt/membership"
	"conch/mqtt/pairing"
)

// Pairing is the driver.
type Pairing struct {
	// fixed after NewPairing
	host   Host
	link   *Link
	o      PairingOptions
	log    *slog.Logger
	conds  *condition.Book
	Sound  *Sound // of the code
	events chan event
	again  chan struct{} // closed once everything has been said: the device begins anew
	ended  chan struct{} // closed when run has returned: nobody answers any more

	// atomic
	presses atomic.Uint64 // so far
	Busy    atomic.Int64  // workers: an attempt that was given up may still come to something while there are any
	live    atomic.Bool   // an attempt is under way: a press ends it
	ending  atomic.Bool   // it will begin anew: nothing else is begun; true before anybody is told

	meets  sync.Mutex    // of attempt.meeting
	window chan struct{} // of one place: held by the window that is open, or is not quite closed

	// owned by run
	way      way
	attempts map[int]*attempt
	workers  sync.WaitGroup
	timer    *time.Timer

	mu       sync.Mutex // guards what follows
	line     control.PairingLine
	lineRun  int           // the attempt that line is of
	closes   time.Duration // of the window of line
	at       []string      // where that is
	watchers map[chan control.PairingLine]bool
	saying   *sentence
}

// attempt is one try, from an order to its end.
type attempt struct {
	ctx          context.Context
	cancel       context.CancelFunc
	shut, unlook context.CancelFunc
	joiner       *pairing.Joiner // counts wrong codes over all that was heard
	meeting      *meeting        // at a foreign broker
}

// Events for the driver alone, which the machine never gets.
type (
	asked struct { // an event whose attempt somebody wants to follow
		ev  event
		run chan<- int
	}
	windowOpened struct {
		run       int
		code      string
		length    time.Duration
		addresses []string
	}
	wrongCode  struct{ run, left int }
	spokenOver struct{ presses uint64 } // held for 5 s, and somebody spoke; presses so far
)

func (asked) event()        {}
func (windowOpened) event() {}
func (wrongCode) event()    {}
func (spokenOver) event()   {}

// maxEvents waiting: a window has a dozen, looking one a second, and a finger is slower than either.
const maxEvents = 256

// Log events of pairing. No code is ever among their fields.
const (
	logPairing = "pairing.state" // state, why, peer
	logPairErr = "pairing.err"   // what went wrong in detail, for who looks into it
)

// NewPairing is the pairing of the device of that link. Nothing runs before its Parts do.
func NewPairing(l *Link, h Host, o PairingOptions) *Pairing {
	p := &Pairing{
		host: h, link: l, o: o, log: l.o.Log, conds: l.o.Conditions, Sound: &Sound{host: h, now: o.Now},
		events: make(chan event, maxEvents), again: make(chan struct{}), ended: make(chan struct{}), window: make(chan struct{}, 1),
		attempts: map[int]*attempt{}, watchers: map[chan control.PairingLine]bool{}, way: way{self: l.Self(), paired: l.Room() != nil},
	}
	p.line = control.PairingLine{At: time.Now(), State: control.PairingIdle, Text: pairingText(control.PairingLine{State: control.PairingIdle})}
	return p
}

// Parts are what pairing runs.
func (p *Pairing) Parts() []Part {
	if p.link.members == nil {
		return []Part{{"pairing", p.run}}
	}
	return []Part{{"pairing", p.run}, {"members", p.keepMembers}, {"discovery", func(ctx context.Context) error {
		p.link.announce()
		if err := p.link.Finder.Run(ctx); err != nil && ctx.Err() == nil {
			p.conds.Set(condition.RoomDiscovery, "this device cannot be found on the network: "+err.Error(),
				"see room.discovery; conch room join CODE --host NAME needs none")
		}
		return nil
	}}}
}

// keepMembers runs what the list of members needs: renewals, and the end of those that never came.
func (p *Pairing) keepMembers(ctx context.Context) error {
	p.link.members.OnChange(p.changed)
	if err := p.link.members.Run(ctx); err != nil && ctx.Err() == nil {
		p.conds.Set(condition.RoomMembers, err.Error(), "look at the state directory; until then the list of the room's devices stays as it is")
	}
	return nil
}

// changed is told what has become of the room. It must not wait.
func (p *Pairing) changed(c membership.Change) {
	switch c.What {
	case membership.Removed:
		p.link.drop(c.Device)
	case membership.Out:
		if !errors.Is(c.Why, membership.ErrLeft) {
			p.host.Hush(true) // nobody here is of that room any more
			p.post(Removed{p.o.Now()})
		}
	case membership.Stuck: // it would begin anew as a member, be refused, and so on for ever
		p.host.Hush(true)
		p.conds.Set(condition.RoomStuck, "this device was removed from its room, and that cannot be written down: "+c.Why.Error(),
			"make the state directory writable (is the card worn out, and can only be read?); this device works alone meanwhile")
	case membership.Admitted, membership.Renamed:
		p.link.announce()
	}
}

// post hands an event to run. It never waits: whoever has much to tell waits itself (tell).
func (p *Pairing) post(ev event) bool {
	select {
	case p.events <- ev:
		return true
	default:
		p.log.Error(logPairErr, "err", fmt.Sprintf("%T is lost: too much waits", ev))
		return false
	}
}

// Steps of a pairing, between which the power may be cut (PairingOptions.Step).
const (
	StepOpen      = "open"      // the window is open
	StepAdmitting = "admitting" // the code was right; nothing is on disk
	StepAdmitted  = "admitted"  // the newcomer is on the list, and has been told nothing
	StepConfirmed = "confirmed" // it has said that it is in
	StepTrying    = "trying"    // a code, at the joiner
	StepStoring   = "storing"   // the room is known to the joiner; nothing is on disk
	StepJoined    = "joined"    // it is on disk, and nobody knows
	StepRestart   = "restart"   // all is said; the device begins anew
)

func (p *Pairing) step(at string) {
	if p.o.Step != nil {
		p.o.Step(at)
	}
}

// tell hands an event to run, from a worker.
func (p *Pairing) tell(ctx context.Context, ev event) {
	select {
	case p.events <- ev:
	case <-ctx.Done():
	}
}

// Pressed is told of each press, and never makes the button wait. What is being said was dropped with everything else.
func (p *Pairing) Pressed() {
	p.presses.Add(1)
	if p.live.Load() {
		p.post(Pressed{p.o.Now()})
	}
}

// run owns the machine.
func (p *Pairing) run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer close(p.ended)
	defer p.workers.Wait()
	defer cancel()
	p.timer = time.NewTimer(time.Hour)
	defer p.timer.Stop()
	defer p.close()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-p.again:
			return ErrRestart
		case <-p.timer.C:
			p.take(ctx, Ticked{p.o.Now()})
		case f := <-p.events:
			switch f := f.(type) {
			case asked:
				p.take(ctx, f.ev)
				f.run <- p.way.run // has room for one
			case windowOpened:
				if f.run == p.way.run && p.way.state == control.PairingOpen {
					p.show(func(l *control.PairingLine) { l.Code, p.closes, p.at = f.code, p.o.Now()+f.length, f.addresses })
				}
			case wrongCode:
				if f.run == p.way.run && p.way.state == control.PairingOpen {
					p.show(func(l *control.PairingLine) { l.Tries = pairing.MaxTries - f.left })
				}
			case spokenOver:
				p.amid(ctx, f.presses)
			default:
				p.take(ctx, f)
			}
		}
	}
}

// take steps and carries out.
func (p *Pairing) take(ctx context.Context, ev event) {
	if p.ending.Load() {
		switch ev.(type) { // of what is over anyway
		case Held, HeldLong, OpenAsked, JoinAsked, LeaveAsked, WindowsSeen, Ticked:
			return
		}
	}
	switch f := ev.(type) {
	case Held:
		if err := p.able(); err != nil {
			p.log.Warn(logPairErr, "err", err)
			ev = Unable(f)
		}
	case HeldLong:
		if p.conds.Holds(condition.RoomDamaged) {
			p.spawn(func() { p.giveUp(ctx) })
			return
		}
	}
	before := p.way.state
	next, orders := p.way.step(ev)
	p.way = next
	p.live.Store(next.live())
	var ended *control.PairingLine
	anew := false
	for _, o := range orders {
		switch o := o.(type) {
		case Say:
			if o.Line.Over() {
				ended = &o.Line
			}
		case Restart:
			anew = !p.ending.Swap(true)
		}
	}
	switch {
	case ended != nil:
		p.show(func(l *control.PairingLine) { *l = *ended })
	case next.state != before:
		p.show(func(l *control.PairingLine) {
			*l = control.PairingLine{State: next.state, Peer: next.target.Name, Room: next.target.Room}
		})
	}
	p.o.Light(next.live())
	for _, o := range orders {
		p.carryOut(ctx, o)
	}
	if anew {
		p.spawn(func() { p.Restart(ctx) })
	}
	if at, ok := next.due(p.o.Now()); ok {
		p.timer.Reset(max(time.Millisecond, at-p.o.Now()))
	}
}

func (p *Pairing) carryOut(ctx context.Context, order order) {
	switch o := order.(type) {
	case Look:
		a := p.attempt(ctx, o.Run)
		p.work(a, &a.unlook, func(ctx context.Context) { p.look(ctx, o.Run, a) })
	case Open:
		a := p.attempt(ctx, o.Run)
		p.work(a, &a.shut, func(c context.Context) { p.open(ctx, c, o.Run, a) })
		if p.way.yields && a.unlook == nil {
			p.work(a, &a.unlook, func(ctx context.Context) { p.look(ctx, o.Run, a) })
		}
	case Listen:
		a := p.attempt(ctx, o.Run)
		p.work(a, nil, func(ctx context.Context) { p.listen(ctx, o.Run) })
	case Try:
		a := p.attempt(ctx, o.Run)
		if a.joiner == nil {
			a.joiner = p.newJoiner(ctx, o.Run)
		}
		p.work(a, nil, func(c context.Context) { p.try(c, o, a) })
	case Shut:
		if a := p.attempts[o.Run]; a != nil && a.shut != nil {
			a.shut()
		}
	case Unlook:
		if a := p.attempts[o.Run]; a != nil && a.unlook != nil {
			a.unlook()
		}
	case Stop:
		if a := p.attempts[o.Run]; a != nil {
			a.cancel()
			delete(p.attempts, o.Run)
		}
		p.hushWords()
	case Leave:
		p.spawn(func() { p.leave(ctx) })
	case Say:
		p.say(ctx, o.Line)
	}
}

func (p *Pairing) attempt(ctx context.Context, run int) *attempt {
	a := p.attempts[run]
	if a == nil {
		a = &attempt{}
		a.ctx, a.cancel = context.WithCancel(ctx)
		p.attempts[run] = a
	}
	return a
}

// work runs f until it is done, the attempt ends, or stop is called.
func (p *Pairing) work(a *attempt, stop *context.CancelFunc, f func(context.Context)) {
	ctx, cancel := context.WithCancel(a.ctx)
	if stop != nil {
		*stop = cancel
	}
	p.spawn(func() {
		defer cancel()
		f(ctx)
	})
}

// spawn starts a goroutine that run awaits.
func (p *Pairing) spawn(f func()) {
	p.Busy.Add(1)
	p.workers.Go(func() {
		defer p.Busy.Add(-1)
		f()
	})
}

// show changes the line that people see, and tells whoever watches. Owned by run.
func (p *Pairing) show(change func(*control.PairingLine)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	was := p.line
	change(&p.line)
	p.line.At = time.Now()
	p.line.Text = pairingText(p.line)
	p.lineRun = p.way.run
	if p.o.OnLine != nil {
		p.o.OnLine(p.present())
	}
	for w := range p.watchers {
		select {
		case w <- p.present():
		default: // it does not read: it is told no more
			delete(p.watchers, w)
			close(w)
		}
	}
	if was.State != p.line.State {
		p.log.Info(logPairing, "state", p.line.State, "why", p.line.Why, "peer", p.line.Device)
	}
}

// present is the line as of now; needs mu.
func (p *Pairing) present() control.PairingLine {
	l := p.line
	l.Run = p.lineRun
	if l.State == control.PairingOpen && l.Code != "" {
		l.Seconds = max(0, (p.closes - p.o.Now()).Seconds())
	}
	return l
}

// Watch gives the present line, and each that follows, until ctx ends or the device does. Who does not read for watchLines
// lines is given up.
func (p *Pairing) Watch(ctx context.Context) <-chan control.PairingLine {
	w := make(chan control.PairingLine, watchLines)
	p.mu.Lock()
	defer p.mu.Unlock()
	w <- p.present()
	if p.watchers == nil { // it has ended
		close(w)
		return w
	}
	p.watchers[w] = true
	context.AfterFunc(ctx, func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		if p.watchers[w] {
			delete(p.watchers, w)
			close(w)
		}
	})
	return w
}

const watchLines = 64

// close lets go of all who watch.
func (p *Pairing) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for w := range maps.Keys(p.watchers) {
		close(w)
	}
	p.watchers = nil
}
