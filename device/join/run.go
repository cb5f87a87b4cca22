package join

import (
	"context"
	"errors"
	"time"

	"conch/companions/round"
	"conch/device/condition"
	"conch/device/control"
	"conch/device/wait"
	"conch/mqtt/membership"
	"conch/mqtt/pairing"
)

// What pairing runs, and the goroutine that owns the machine: events in, orders out.

// Parts are what pairing runs.
func (p *Pairing) Parts() []Part {
	if p.link.members == nil {
		return []Part{{"pairing", p.run}}
	}
	return []Part{{"pairing", p.run}, {"members", p.keepMembers}, {"keepers", p.keepers.run}, {"discovery", func(ctx context.Context) error {
		p.link.announce()
		anew := make(chan struct{})
		go func() { // ends with ctx; awaited below
			defer close(anew)
			for wait.For(ctx, saltLife) == nil {
				p.link.announce()
			}
		}()
		defer func() { <-anew }()
		if err := p.link.Finder.Run(ctx); err != nil && ctx.Err() == nil {
			p.conds.Set(condition.RoomDiscovery, "this device cannot be found on the network: "+err.Error(),
				"see room.discovery; conch room join CODE --host NAME needs none")
		}
		return nil
	}}}
}

// NewPairing is the pairing of the device of that link. Nothing runs before its Parts do.
func NewPairing(l *Link, h Host, o PairingOptions) *Pairing {
	p := &Pairing{
		board: newBoard(o, l.o.Language, l.o.Log), crew: crew{attempts: map[int]*attempt{}}, keepers: &keepers{link: l, now: o.Now},
		host: h, link: l, o: o, log: l.o.Log, conds: l.o.Conditions, Sound: &Sound{host: h, language: l.o.Language, now: o.Now},
		events: make(chan event, maxEvents), again: make(chan struct{}), ended: make(chan struct{}), window: make(chan struct{}, 1),
		elsewhere: map[round.DeviceID]windowHeard{}, way: way{self: l.Self(), paired: l.Room() != nil},
	}
	p.speech = &speech{host: h, language: l.o.Language, speak: o.Speak, spawn: p.spawn}
	return p
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
			p.forgetWindows()
			p.take(ctx, Ticked{p.o.Now()})
		case f := <-p.events:
			switch f := f.(type) {
			case asked:
				p.take(ctx, f.ev)
				f.run <- p.way.run // has room for one
			case windowOpened:
				if f.run == p.way.run && p.way.state == control.PairingOpen {
					p.showCode(f.run, f.code, f.length, f.addresses)
				}
			case wrongCode:
				if f.run == p.way.run && p.way.state == control.PairingOpen {
					p.show(p.way.run, func(l *control.PairingLine) { l.Tries = pairing.MaxTries - f.left })
				}
			case spokenOver:
				p.amid(ctx, f.presses)
			case windowChanged:
				p.heardWindow(ctx, f.Change)
				p.wake()
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
		case Held, HeldLong, OpenAsked, JoinAsked, LeaveAsked, KeepAsked, WindowsSeen, Ticked:
			return
		}
	}
	switch f := ev.(type) {
	case Held:
		if err := p.link.able(); err != nil {
			p.log.Warn(logPairErr, "err", err)
			ev = Unable{f.At}
		} else {
			p.link.forgiven()
		}
	case HeldLong:
		if p.conds.Holds(condition.RoomDamaged) {
			p.spawn(func() { p.giveUp(ctx) })
			return
		}
	}
	switch ev.(type) {
	case Held, OpenAsked, JoinAsked:
		p.way, _ = p.way.step(Alone{p.link.alone()})
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
			if o.Line.Over() && !next.live() {
				ended = &o.Line
			}
		case Restart:
			anew = !p.ending.Swap(true)
		}
	}
	switch {
	case ended != nil:
		p.show(p.way.run, func(l *control.PairingLine) { *l = *ended })
	case next.state != before:
		p.show(p.way.run, func(l *control.PairingLine) {
			*l = next.line(next.state)
		})
	}
	p.shine()
	for _, o := range orders {
		p.carryOut(ctx, o)
	}
	if anew {
		p.spawn(func() { p.Restart(ctx) })
	}
	p.wake()
}

// wake sets the timer for whatever is due next.
func (p *Pairing) wake() {
	at, ok := p.way.due(p.o.Now())
	for _, w := range p.elsewhere {
		if !ok || w.until < at {
			at, ok = w.until, true
		}
	}
	if ok {
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
		joiners := p.joiners(ctx, o, a)
		p.work(a, nil, func(c context.Context) { p.try(c, o, a, joiners) })
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
		p.speech.hush()
	case Leave:
		p.spawn(func() { p.leave(ctx) })
	case Keep:
		p.spawn(func() { p.keep(ctx) })
	case Say:
		p.speech.say(ctx, o.Line)
	}
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
	p.link.tellListed()
	switch c.What {
	case membership.Removed:
		p.excess(c)
		p.link.drop(c.Device)
	case membership.Excess, membership.Calm, membership.Outdated:
		p.excess(c)
	case membership.WindowOpened, membership.WindowShut:
		switch {
		case c.Device != p.link.Self():
			p.post(windowChanged{c})
		case c.What == membership.WindowShut && c.By != p.link.Self():
			p.post(p.shutHere(c.By))
		}
	case membership.Out:
		if !errors.Is(c.Why, membership.ErrLeft) {
			p.host.Hush(true) // nobody here is of that room any more
			p.post(Removed{p.o.Now()})
		}
	case membership.Stuck: // it would begin anew as a member, be refused, and so on for ever
		p.host.Hush(true)
		p.conds.Set(condition.RoomStuck, "this device was removed from its room, and that cannot be written down: "+c.Why.Error(),
			"make the state directory writable (is the card worn out, and can only be read?); this device works alone meanwhile")
	case membership.Moved:
		p.step(StepMoved)
		p.link.announce()
		p.post(Moved{At: p.o.Now(), Peer: Peer{Device: c.Device, Name: c.Name, Room: p.link.RoomName()}, Anew: c.Anew})
	case membership.Rival:
		p.keepers.gaveBack.Store(int64(p.o.Now()))
		p.conds.Set(condition.RoomKeepers, c.Name+" had taken the room over, and has given it back: this device keeps it",
			"if nobody has asked that of it: "+removal(c.Name))
	case membership.Renamed:
		p.log.Info(logRenamed, "device", string(c.Device), "name", c.Name, "by", string(c.By))
		if c.Device == p.link.Self() {
			p.post(Renamed{At: p.o.Now(), Called: c.Name})
		}
		p.link.announce()
	case membership.Admitted:
		p.link.announce()
	}
}

// Pressed is told of each press, and never makes the button wait. What is being said was dropped with everything else.
func (p *Pairing) Pressed() {
	p.presses.Add(1)
	if p.live.Load() {
		p.post(Pressed{p.o.Now()})
	}
	if p.link.members != nil {
		p.link.members.Pressed(p.link.Self())
	}
}
