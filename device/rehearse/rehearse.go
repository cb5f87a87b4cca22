// Package rehearse is a whole room in one process, of which only the metal is missing. Every device is an appliance as it is shipped
// with a card and a button of its own, and the rehearsal voice behind its real client; they find each other through a real
// broker over real sockets, each on a cable that can be cut.
//
//	script, person ─> run  ─┬─> stage kitchen: button, card, Device ─ mqtt ─ cable ─┐
//	                        ├─> stage bedroom: …                      ─ mqtt ─ cable ─┼─ broker
//	      report <─ ledgers ┴─> stage hall: …                         ─ mqtt ─ cable ─┘
package rehearse

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"conch/audio/twin"
	"conch/companions/round"
	"conch/device/config"
	"conch/device/control"
	"conch/device/terminal"
	"conch/device/wait"
	"conch/mqtt/broker"
)

// Rehearsal is one room and what happens in it.
//
// One clock is shared by all: a card's tape, a ledger and an event of the report can be laid side by side. It is the wall's:
// what goes through a socket takes the time it takes, and a clock that runs ahead of it would only say that nobody answered.
// That is why a rehearsal cannot be played faster than it lasts.
//
// Run owns the goroutines: one for each card, cable and device, one for the broker, and short ones that measure a silence or
// end a freeze; it awaits them all.
type Rehearsal struct {
	Config config.Config
	Room   Room // no device: the default room
	Script []Line
	JSON   io.Writer // one object a line; nil: sentences on Text
	Text   io.Writer
	Page   string // HOST:PORT of this machine for the page; empty: there is none
	Open   bool   // show it in a browser
	Out    string // directory for WAVs and ledgers; empty: none
	Log    *slog.Logger

	person *terminal.Screen // of somebody who reads along
}

// Bounds of one rehearsal.
const (
	waitLimit    = 90 * time.Second // of one wait; a turn with every deadline in it ends sooner
	confirmLimit = 5 * time.Second  // of a press or release (4 and 25 ms of quiet), on a machine that is very busy
	readyStage   = 20 * time.Second // of a device's start
	meetLimit    = 15 * time.Second // until all devices know each other
)

// run is a running rehearsal.
type run struct {
	Rehearsal
	clock   *twin.Clock
	report  *report
	broker  *brokerHouse // nil: they pair
	net     *network     // nil: they know each other from the beginning
	stages  []*stage
	states  string                // directory of the devices' states
	mixed   atomic.Pointer[mixer] // what a real loudspeaker plays; nil: nothing does
	gallery *gallery
	acted   atomic.Bool // somebody has pressed or asked
	ctx     context.Context
	short   sync.WaitGroup // goroutines that end by themselves
	closer  []func() error // in reverse
}

// Run plays the script and returns an error if the script could not be played, or if a person's message came to no end.
func (r Rehearsal) Run(ctx context.Context) error {
	p, stop, err := r.raise(ctx)
	if err != nil {
		return err
	}
	if _, err := p.servePage(p.report.say); err != nil {
		return errors.Join(err, stop()) // who asks for one with a script waits for it
	}
	err = p.perform(p.ctx)
	if e := stop(); err == nil {
		err = e
	}
	return p.report.end(err)
}

// raise builds the room and waits until all of it is there. stop ends it and waits for it.
func (r Rehearsal) raise(ctx context.Context) (*run, func() error, error) {
	if len(r.Room.Devices) == 0 {
		r.Room.Devices = DefaultRoom().Devices
	}
	if err := r.checkPage(); err != nil {
		return nil, nil, err
	}
	if r.Out != "" {
		if err := os.MkdirAll(r.Out, 0o755); err != nil {
			return nil, nil, fmt.Errorf("%w: --out: %s: %w", control.ErrRefused, r.Out, config.UnwrapPath(err))
		}
	}
	p := &run{Rehearsal: r, clock: twin.WallClock()}
	p.gallery = &gallery{run: p}
	p.report = &report{json: r.JSON, text: r.Text, now: p.clock.Now, ledgers: newLedgers(r.Room), person: r.person, silent: true}
	ctx, cancel := context.WithCancel(ctx)
	p.ctx = ctx
	stop := func() error {
		for _, s := range p.stages { // before the cables between them: a device that ends misses none
			if l := s.instance.Load(); l != nil {
				l.cancel()
			}
		}
		cancel()
		var all []error
		for _, s := range p.stages {
			all = append(all, s.stop())
		}
		p.short.Wait()
		for i := len(p.closer) - 1; i >= 0; i-- {
			all = append(all, p.closer[i]())
		}
		return errors.Join(all...)
	}
	if err := p.build(); err != nil {
		return nil, nil, errors.Join(err, stop())
	}
	return p, stop, nil
}

func (p *run) build() error {
	var err error
	if p.states, err = os.MkdirTemp("", "conch-rehearsal-"); err != nil {
		return fmt.Errorf("rehearse: a directory for the devices' states: %w", err)
	}
	p.closer = append(p.closer, func() error { return os.RemoveAll(p.states) })
	if p.Room.Strangers {
		p.net = newNetwork()
	} else {
		if p.broker, err = openBroker(p.Log); err != nil {
			return err
		}
		p.closer = append(p.closer, p.broker.stop)
	}
	members := map[round.DeviceID]bool{}
	for _, d := range p.Room.Devices {
		s, err := p.newStage(d)
		if err != nil {
			return err
		}
		p.stages = append(p.stages, s)
		members[s.identity.ID()] = true
		p.report.ledgers.names[s.identity.ID()] = d.Name
	}
	if p.net != nil {
		if err := p.lay(); err != nil {
			return err
		}
	}
	for _, s := range p.stages {
		s.members = func(id round.DeviceID) bool { return members[id] }
		if err := s.start(); err != nil {
			return err
		}
	}
	for _, s := range p.stages {
		if err := s.ready(p.ctx); err != nil {
			return err
		}
	}
	defer p.report.begin()
	if len(p.stages) == 1 || p.net != nil {
		return nil
	}
	return p.wait(p.ctx, meetLimit, p.met, "the devices to know each other")
}

// met says that every device that lives knows every other one, with its companions.
func (p *run) met() bool {
	alive := 0
	for _, s := range p.stages {
		if s.alive() {
			alive++
		}
	}
	for _, s := range p.stages {
		if s.alive() && s.knows() < alive {
			return false
		}
	}
	return true
}

// stage finds a device by its name, which the script's parser has checked.
func (p *run) stage(name string) *stage {
	for _, s := range p.stages {
		if s.name == name {
			return s
		}
	}
	return nil
}

// brokerHouse is the broker with a port that it keeps when it comes back.
type brokerHouse struct {
	log    *slog.Logger
	addr   string
	cancel context.CancelFunc
	done   chan error
}

// openBroker starts a broker on a port of its own choice.
func openBroker(log *slog.Logger) (*brokerHouse, error) {
	h := &brokerHouse{log: log.With("device", "broker"), addr: "127.0.0.1:0"}
	return h, h.start()
}

func (h *brokerHouse) start() error {
	b, err := broker.New(broker.Config{Listen: h.addr, Log: h.log})
	if err != nil {
		return fmt.Errorf("rehearse: broker: %w", err)
	}
	h.addr = b.Addr().String()
	ctx, cancel := context.WithCancel(context.Background())
	h.cancel, h.done = cancel, make(chan error, 1)
	go func() { h.done <- b.Run(ctx) }() // awaited by stop
	return nil
}

// stop ends it and waits. Harmless twice.
func (h *brokerHouse) stop() error {
	if h.cancel == nil {
		return nil
	}
	h.cancel()
	h.cancel = nil
	return <-h.done
}

// again starts it at the same port, which the system may take a moment to give back.
func (h *brokerHouse) again(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, confirmLimit)
	defer cancel()
	var err error
	if wait.Until(ctx, func() bool { err = h.start(); return err == nil }) != nil {
		return err
	}
	return nil
}

// out is a path below --out.
func (p *run) out(name string) string { return filepath.Join(p.Out, name) }

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
