package rehearse

import (
	"context"
	"errors"
	"fmt"
	"time"

	"conch/audio/wav"
	"conch/companions/round"
	"conch/companions/voice/rehearsal"
	"conch/coordinator/inject"
	"conch/coordinator/turn"
	"conch/device/wait"
)

// perform carries the script out, line by line.
func (p *run) perform(ctx context.Context) error {
	for _, l := range p.Script {
		p.report.line(l)
		if err := p.line(ctx, l); err != nil {
			if ctx.Err() != nil {
				err = errors.New("cut short")
			}
			return fmt.Errorf("script line %d: %s: %w", l.Number, l.Source, err)
		}
	}
	for _, s := range p.stages {
		if s.held && s.alive() {
			if err := p.move(ctx, s, false); err != nil { // a person does not go away with the button held
				return fmt.Errorf("script: the release at the end: %w", err)
			}
		}
	}
	return p.wait(ctx, waitLimit, p.idle, "idle at the end")
}

// line carries out one instruction.
func (p *run) line(ctx context.Context, l Line) error {
	s := p.stage(l.Device)
	if s != nil && !s.alive() && l.Verb != "start" && l.Verb != "wait" {
		return fmt.Errorf("%s was killed; first: start %s", s.name, s.name)
	}
	if s != nil && l.Verb != "wait" { // nobody is there to take what is done in between
		if err := p.wait(ctx, readyStage,
			func() bool { l := s.instance.Load(); return l == nil || !l.device.Pairing().Restarts() }, "it to begin anew"); err != nil {
			return err
		}
	}
	switch l.Verb {
	case "press":
		return p.move(ctx, s, true)
	case "release":
		return p.move(ctx, s, false)
	case "ask":
		return p.ask(ctx, s, l.Text)
	case "say":
		return p.say(s, l.Text)
	case "hear":
		return p.hear(ctx, s, l)
	case "hold":
		return p.hold(ctx, s, l.For)
	case "join", "remove", "leave":
		return p.pairingVerb(ctx, s, l)
	case "wait":
		return p.waitFor(ctx, s, l)
	case "control":
		return p.control(l)
	}
	where := l.Device
	if l.Verb == "broker" {
		where = "broker"
	}
	p.report.fault(where, l.Source)
	switch l.Verb {
	case "model":
		s.instance.Load().server.SetFaults(modelFault(l.What))
	case "sound":
		if l.What == "out" {
			s.card.Unplug()
		} else {
			s.card.Replug()
		}
	case "kill":
		return s.kill()
	case "start":
		if s.alive() {
			return fmt.Errorf("%s runs already", s.name)
		}
		if err := s.start(); err != nil {
			return err
		}
		return s.ready(ctx)
	case "freeze":
		if s.isFrozen() {
			return fmt.Errorf("%s is frozen already", s.name)
		}
		s.freeze(l.For)
	case "cut":
		s.cut(l.For)
	case "broker":
		if err := p.broker.stop(); err != nil {
			return err
		}
		return p.broker.again(ctx)
	}
	return nil
}

// modelFault is what the script's words mean for the rehearsal server.
func modelFault(what string) rehearsal.Faults {
	switch what {
	case "slow":
		return rehearsal.Faults{FirstByte: 3 * time.Second, Burst: 400 * time.Millisecond}
	case "fail":
		return rehearsal.Faults{FailResponse: true}
	case "drop":
		return rehearsal.Faults{DropAfter: time.Second}
	}
	return rehearsal.Faults{}
}

// ask is a typed question. A frozen device gets it when it goes on.
func (p *run) ask(ctx context.Context, s *stage, text string) error {
	edge := s.act()
	put := func() {
		if l := s.instance.Load(); l != nil {
			l.device.Put(text)
		}
	}
	p.silenced(s, byQuestion, edge)
	if s.isFrozen() {
		p.later(0, func() { s.running(p.ctx); put() })
		return nil
	}
	put()
	return p.wait(ctx, waitLimit, s.settled, "the question to be taken")
}

// say is an announcement; it is heard when the device is quiet.
func (p *run) say(s *stage, text string) error {
	d := s.instance.Load().device
	s.act()
	s.toSay.Add(1)
	p.later(0, func() {
		_, _ = d.Say(p.ctx, text, inject.Injection{TTL: time.Minute}) // its outcome is heard, or not
		s.toSay.Add(-1)
	})
	return nil
}

// control turns manners, as the CLI does, at the first device that lives.
func (p *run) control(l Line) error {
	var c round.Control
	if l.Text != "room" {
		c.Companion = round.CompanionID(l.Text)
	}
	switch l.What {
	case "mute", "unmute":
		mute := l.What == "mute"
		c.Mute = &mute
	default:
		i := round.Involvement(l.What)
		c.Involvement = &i
	}
	for _, s := range p.stages {
		if life := s.instance.Load(); life != nil && !s.isFrozen() && life.device.Room() != nil {
			life.device.Room().Control(c)
			return nil
		}
	}
	return errors.New("no device runs that is in a room")
}

// hear lets the microphone hear a file. Nobody talks to a button that is up: then it is held for as long as that takes.
func (p *run) hear(ctx context.Context, s *stage, l Line) error {
	if l.Other != "" {
		s.hearing(p.stage(l.Other), l.For, l.Noise) // of nobody there is no stage
		return nil
	}
	pcm, err := wav.Load(l.File)
	if err != nil {
		return err
	}
	alone := !s.held
	if alone {
		if err := p.move(ctx, s, true); err != nil {
			return err
		}
	}
	s.card.Feed(pcm)
	if err := p.wait(ctx, waitLimit, func() bool { return s.card.Fed() == 0 }, "the microphone to hear it"); err != nil {
		return err
	}
	if alone {
		return p.move(ctx, s, false)
	}
	return nil
}

// move presses or lets go, and returns when the device has confirmed it and done what follows from it. A frozen device
// confirms nothing; it sees its button when it goes on.
func (p *run) move(ctx context.Context, s *stage, down bool) error {
	if s.held == down {
		return fmt.Errorf("the button is %s already", map[bool]string{true: "down", false: "up"}[down])
	}
	s.held = down
	s.mu.Lock()
	before := s.moves
	s.mu.Unlock()
	s.act()
	hand := s.instance.Load().hand
	if down {
		hand.Press()
	} else {
		hand.Release()
	}
	if s.isFrozen() {
		return nil
	}
	return p.wait(ctx, confirmLimit, func() bool {
		s.mu.Lock()
		moved := s.moves > before
		s.mu.Unlock()
		return moved && s.settled() || s.isFrozen()
	}, "the button to be confirmed")
}

// act notes that somebody in the room did something: all waits count from here.
func (s *stage) act() (at time.Duration) {
	s.run.acted.Store(true)
	for _, o := range s.run.stages {
		o.mu.Lock()
		o.said, o.over = 0, ""
		o.mu.Unlock()
	}
	return s.run.clock.Now()
}

// since says what came of what somebody last did.
func (s *stage) since() (said int, over string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.said, s.over
}

// settled says that the device has done what follows from what it was told.
func (s *stage) settled() bool {
	l := s.instance.Load()
	return l == nil || s.isFrozen() || l.device.Settled()
}

// quiet says that nothing sounds at the device, that it has nothing in hand, and that it is not about to begin anew.
func (s *stage) quiet() bool {
	l := s.instance.Load()
	return l == nil || s.isFrozen() || l.device.Quiet() && s.settled() && s.toSay.Load() == 0 && !l.device.Pairing().Restarts()
}

// idle says that the whole room is quiet and no round is open. A device that is frozen may have something to say later.
func (p *run) idle() bool {
	for _, s := range p.stages {
		if s.isFrozen() || !s.quiet() {
			return false
		}
	}
	return !p.report.open()
}

func (p *run) waitFor(ctx context.Context, s *stage, l Line) error {
	switch l.What {
	case "idle":
		return p.wait(ctx, waitLimit, p.idle, "idle")
	case "pairing":
		return p.waitPairing(ctx, s, l)
	case "members":
		return p.wait(ctx, waitLimit, func() bool { return s.alive() && s.knows() == l.Count }, fmt.Sprintf("%d devices in its room", l.Count))
	case "speaking", "said":
		if !s.alive() {
			return fmt.Errorf("%s was killed; first: start %s", s.name, s.name)
		}
		silent := "" // how it came that nothing was said
		err := p.wait(ctx, waitLimit, func() bool {
			if l.What == "speaking" && s.speaking() {
				return true
			}
			quiet := p.idle() // before the count: a turn is counted before it is quiet
			said, over := s.since()
			if quiet && said == 0 {
				switch silent = over; {
				case over == "" && !p.acted.Load():
					silent = "nobody asked anything"
				case over == "" || over == turn.LostVote.String():
					silent = "no companion of " + s.name + " was selected"
				}
			}
			return said > 0 || silent != ""
		}, l.What)
		if err == nil && silent != "" {
			return fmt.Errorf("nothing was said, and nothing will be: %s", silent)
		}
		return err
	}
	return wait.For(ctx, l.For)
}

// speaking says that an answer of the device can be heard.
func (s *stage) speaking() bool {
	l := s.instance.Load()
	return l != nil && !s.isFrozen() && l.device.Speaking()
}

// wait polls cond, at most for limit.
func (p *run) wait(ctx context.Context, limit time.Duration, cond func() bool, what string) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	if err := wait.Until(ctx, cond); err != nil {
		return fmt.Errorf("waited %s for %s: %w", limit, what, err)
	}
	return nil
}
