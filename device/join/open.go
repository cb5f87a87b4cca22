package join

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"

	"conch/device/control"
	"conch/mqtt/membership"
	"conch/mqtt/pairing"
)

// The window of this device, from its port to its end.
//
//	port of the room (a host)      the broker's door hands over who wants to pair
//	port of its own (any other)    open as long as the window is
//	topics of a foreign broker     see pairing.Meet
//
// Admit writes the newcomer down before it is told anything: who is cut off after that may come in later, or is forgotten after a day
// (membership).

// open is one window. shut ends it; device is the life of the whole device, for what must still be told after that.
func (p *Pairing) open(device, shut context.Context, run int, a *attempt) {
	ended := func(why control.PairingWhy, err error) {
		if err != nil {
			p.log.Warn(logPairErr, "err", err)
		}
		p.tell(device, WindowShut{At: p.o.Now(), Run: run, Why: why})
	}
	if err := p.link.able(); err != nil {
		ended(control.WhyDevice, err)
		return
	}
	select { // the one before may have the port still, and what it leaves behind would be taken for this one's
	case p.window <- struct{}{}:
		defer func() { <-p.window }()
	case <-shut.Done():
		ended(control.WhyClosed, nil)
		return
	}
	fresh := p.link.Room() == nil
	if fresh {
		if err := p.link.members.Found(p.link.o.Room.Name, p.link.Name(), p.link.foreign()); err != nil {
			ended(whyOf(err), err)
			return
		}
	} else if !p.link.members.IsHost() && !p.link.up() {
		ended(control.WhyHost, errors.New("no connection to the room"))
		return
	}
	o := &opening{p: p, device: device, run: run, fresh: fresh}
	if err := o.prepare(); err != nil {
		ended(control.WhyDevice, err)
		return
	}
	w := o.window
	stop := context.AfterFunc(shut, w.Close)
	defer stop()
	announce := p.link.members.Announcing() // before anybody can show the code
	defer p.link.members.Unannounced()
	serving := make(chan error, 1)
	serve, addresses, err := p.serveWindow(shut, w, a)
	if err != nil {
		w.Close()
		_ = w.Run(shut)
		ended(control.WhyDevice, err)
		return
	}
	ctx, cancel := context.WithCancel(shut)
	go func() { serving <- serve(ctx) }() // awaited below
	p.link.announce()
	p.step(StepOpen)
	p.tell(device, windowOpened{run: run, code: w.Code(), length: w.Left(), addresses: addresses})
	announced := make(chan struct{})
	go func() { defer close(announced); p.announce(ctx, device, run, announce) }() // awaited below
	spoken := make(chan struct{})
	go func() { defer close(spoken); p.speak(ctx, w.Code()) }() // awaited below
	err = w.Run(shut)
	cancel()
	<-spoken
	<-announced
	if e := <-serving; e != nil && shut.Err() == nil {
		p.log.Warn(logPairErr, "err", e)
	}
	p.link.salt.renew() // what the window has said leads to nothing that is said later
	p.link.announce()
	switch {
	case o.peer != nil:
		p.tell(device, Admitted{At: p.o.Now(), Run: run, Peer: *o.peer})
	case o.cause != nil && (o.why == control.WhyExpired || o.why == control.WhyClosed): // the code was right, and nevertheless
		ended(whyOf(o.cause), o.cause)
	default:
		ended(o.why, err)
	}
}

// opening is one window of this device, and what came of it.
type opening struct {
	p      *Pairing
	device context.Context
	run    int
	fresh  bool // it founds the room
	window *pairing.Window

	// owned by the window until its Run has returned
	peer  *Peer
	why   control.PairingWhy
	cause error
}

// prepare makes the window.
func (o *opening) prepare() (err error) {
	p := o.p
	id, name := p.link.opens()
	o.window, err = pairing.NewWindow(pairing.WindowConfig{
		Identity: p.link.id, Name: p.link.Name(), RoomID: id, RoomName: name, Now: p.o.Now, On: o.happened,
		Admit: func(ctx context.Context, party pairing.Party) ([]byte, error) {
			p.step(StepAdmitting)
			welcome, err := p.link.members.Admit(ctx, membership.Party(party))
			p.step(StepAdmitted)
			if err == nil && o.fresh {
				p.tell(o.device, Founded{At: p.o.Now(), Run: o.run})
			}
			return welcome, err
		},
		Stored: func(party pairing.Party) {
			p.link.members.Confirm(party.Device)
			p.step(StepConfirmed)
		},
	})
	return err
}

// happened is told what happens at the window, one thing at a time, and the last before its Run returns.
func (o *opening) happened(e pairing.WindowEvent) {
	switch e.Kind {
	case pairing.EventWrong:
		o.p.post(wrongCode{o.run, e.Left})
	case pairing.EventPaired:
		o.peer = o.p.link.peer(e.Party)
	case pairing.EventFailed:
		o.cause = e.Err
		switch whyOf(o.cause) {
		case control.WhyDisk, control.WhyFull, control.WhyHost: // the code was right, and will not help: whoever stands here is told now
			o.window.Close()
		}
	default:
		o.why = whyShut(e.Kind)
	}
}

// serveWindow opens what the other device comes through, and gives what serves it.
func (p *Pairing) serveWindow(ctx context.Context, w *pairing.Window, a *attempt) (serve func(context.Context) error, addresses []string, err error) {
	switch {
	case p.link.foreign():
		m, err := a.meet(ctx, p.link)
		if err != nil {
			return nil, nil, err
		}
		return func(ctx context.Context) error { return p.receive(ctx, m, w) }, nil, nil
	case p.link.Port() != 0:
		p.link.door.Store(w)
		return func(ctx context.Context) error {
			<-ctx.Done()
			p.link.door.CompareAndSwap(w, nil)
			return nil
		}, p.link.Reachable(p.link.Port()), nil
	}
	l, err := net.Listen("tcp", net.JoinHostPort(p.link.o.Listen, strconv.Itoa(p.link.o.Room.Port)))
	if err != nil {
		return nil, nil, fmt.Errorf("pairing: %w (does another program use that port? set room.port)", err)
	}
	port := l.Addr().(*net.TCPAddr).Port
	p.link.port.Store(int64(port))
	return func(ctx context.Context) error {
		defer p.link.port.Store(0)
		return pairing.ServeTLS(ctx, l, p.link.id, &p.link.callers, w)
	}, p.link.Reachable(port), nil
}

// receive serves joiners at a foreign broker.
func (p *Pairing) receive(ctx context.Context, m pairing.Meeting, w *pairing.Window) error {
	id, name := p.link.offers()
	m.Open(id, name)
	defer m.Shut()
	runs := make(chan struct{}, 2*pairing.MaxRuns)
	defer func() { // await them
		for range cap(runs) {
			runs <- struct{}{}
		}
	}()
	for {
		ch, err := m.Accept(ctx)
		if err != nil {
			if ctx.Err() != nil {
				return nil // the window is closed
			}
			return err
		}
		runs <- struct{}{}
		go func() {
			defer func() { <-runs }()
			_ = w.Serve(ctx, ch) // what came of it is told by the window
		}()
	}
}
