package device

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"time"

	"conch/audio"
	"conch/audio/audiotest"
	"conch/companions/voice/rehearsal"
	"conch/gpio"
	"conch/gpio/gpiotest"
)

// Rehearsal plays a script on virtual hardware: a whole device (button, microphone, loudspeaker, voice) of which only the
// metal is missing. The server is the rehearsal voice on loopback, the client, the turns and the sound are as shipped.
type Rehearsal struct {
	Config Config
	Script []Line
	JSON   io.Writer // one object a line; nil: sentences on Text
	Text   io.Writer
	Out    string // directory for one WAV per speaker; empty: none
	Log    *slog.Logger
}

// RehearsalDevices are the names a script may use: today one device.
var RehearsalDevices = []string{"kitchen"}

// Bounds of one rehearsal.
const (
	waitLimit    = 90 * time.Second // of one wait; a turn with every deadline in it ends sooner
	confirmLimit = 2 * time.Second  // of a press or release (4 and 25 ms of quiet), on a machine that is very busy
)

// stage is one device of a rehearsal with the hands and ears of its person.
type stage struct {
	name   string
	device *Device
	card   *audiotest.Card
	hand   *gpiotest.Button
	server *rehearsal.Server
	held   bool // the button is down; owned by the goroutine of perform

	mu    sync.Mutex
	moves int           // presses and releases the device has confirmed
	acted time.Duration // when the person last pressed, let go or asked: what a wait counts from
	said  int           // answers said to their end since then
	ended string        // how the last turn since then ended that was not cut; empty: none has
}

// hand is the button's source, with an eye on what it confirms.
type seenButton struct {
	gpio.Source
	s *stage
}

func (b seenButton) Run(ctx context.Context, on func(gpio.Event)) error {
	return b.Source.Run(ctx, func(e gpio.Event) {
		on(e)
		if e.Kind == gpio.Pressed || e.Kind == gpio.Released {
			b.s.mu.Lock()
			b.s.moves++
			b.s.mu.Unlock()
		}
	})
}

// play is a running rehearsal.
type play struct {
	Rehearsal
	report *report
}

// Run plays the script and returns an error if the script could not be played, or if a question ended without an answer
// and nobody had cut it (room.md 8, I2).
func (r Rehearsal) Run(ctx context.Context) error {
	if r.Out != "" {
		if err := os.MkdirAll(r.Out, 0o755); err != nil {
			return fmt.Errorf("%w: --out: %w", ErrRefused, err)
		}
	}
	p := &play{Rehearsal: r, report: &report{json: r.JSON, text: r.Text, companion: r.Config.Device.Companion}}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	s, stop, err := p.raise(ctx, RehearsalDevices[0])
	if err != nil {
		return err
	}
	err = p.perform(ctx, s)
	if e := stop(); err == nil {
		err = e
	}
	if err == nil {
		err = p.report.unanswered()
	}
	p.report.end(err)
	return err
}

// raise builds one device on its virtual hardware and starts it. stop ends it and waits for it.
func (p *play) raise(ctx context.Context, name string) (*stage, func() error, error) {
	s := &stage{name: name}
	s.card = audiotest.New(audiotest.WallClock())
	now := s.card.Clock().Now
	p.report.now = now
	closeTape := func() error { return nil }
	if p.Out != "" {
		var err error
		if closeTape, err = recordTo(filepath.Join(p.Out, name+".wav"), s.card); err != nil {
			return nil, nil, err
		}
	}
	s.hand = gpiotest.New(gpio.ButtonOptions{Clock: now})
	s.server = rehearsal.New(rehearsal.Options{Log: p.Log})
	cfg := p.Config
	cfg.Device.Name = name
	cfg.Voice.Kind = "rehearsal"
	cfg.State.Dir = "" // a rehearsal leaves nothing behind but what --out asks for
	d, err := New(cfg, Options{
		Log: p.Log.With("device", name), Card: s.card, Now: now, Server: s.server,
		Buttons: []gpio.Source{seenButton{s.hand, s}},
		OnTurn:  func(t TurnRecord) { p.turnEnded(s, t) },
	})
	if err != nil {
		return nil, nil, errors.Join(err, closeTape())
	}
	s.device = d
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan error, 2)
	go func() { done <- s.card.Run(ctx, 1) }() // both are awaited by stop
	go func() { done <- d.Run(ctx) }()
	stop := func() error {
		cancel()
		return errors.Join(<-done, <-done, closeTape())
	}
	if err := d.WaitReady(ctx, 20*time.Second); err != nil {
		_ = stop()
		return nil, nil, fmt.Errorf("rehearse: %s: %w", name, err)
	}
	return s, stop, nil
}

// recordTo keeps what the card plays in a WAV, whose header is finished by close.
func recordTo(path string, card *audiotest.Card) (close func() error, err error) {
	f, err := os.Create(path)
	if err != nil {
		return nil, fmt.Errorf("%w: --out: %w", ErrRefused, err)
	}
	w, err := audio.NewWAVFile(f, audio.CardRate)
	if err != nil {
		_ = f.Close()
		return nil, fmt.Errorf("rehearse: %s: %w", path, err)
	}
	card.Record(w)
	return func() error { return errors.Join(card.RecordErr(), w.Close(), f.Close()) }, nil
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

// turnEnded runs on the coordinator's goroutine.
func (p *play) turnEnded(s *stage, t TurnRecord) {
	t.Device = s.name
	s.mu.Lock()
	if t.Reason != reasonInterrupted {
		s.ended = t.Reason
		if t.HeardMS > 0 {
			s.said++
		}
	}
	acted := s.acted
	s.mu.Unlock()
	p.report.turn(t, acted)
}

// perform carries the script out, line by line.
func (p *play) perform(ctx context.Context, s *stage) error {
	for _, l := range p.Script {
		p.report.line(l)
		if err := p.line(ctx, s, l); err != nil {
			if ctx.Err() != nil {
				err = errors.New("cut short")
			}
			return fmt.Errorf("script line %d: %s: %w", l.Number, l.Source, err)
		}
	}
	if s.held {
		if err := p.move(ctx, s, false); err != nil { // a person does not go away with the button held
			return fmt.Errorf("script: the release at the end: %w", err)
		}
	}
	return p.wait(ctx, s.device.Quiet, "idle at the end")
}

func (p *play) line(ctx context.Context, s *stage, l Line) error {
	switch l.Verb {
	case "press":
		return p.move(ctx, s, true)
	case "release":
		return p.move(ctx, s, false)
	case "ask":
		s.act()
		s.device.coordinator.Ask(l.Text)
		return p.wait(ctx, s.device.coordinator.Settled, "the question to be taken")
	case "hear":
		return p.hear(ctx, s, l)
	case "wait":
		return p.waitFor(ctx, s, l)
	case "model":
		p.report.fault(s.name, l.Source)
		s.server.SetFaults(modelFault(l.What))
	case "sound":
		p.report.fault(s.name, l.Source)
		if l.What == "out" {
			s.card.Unplug()
		} else {
			s.card.Replug()
		}
	}
	return nil
}

// hear lets the microphone hear a file. Nobody talks to a button that is up: then it is held for as long as that takes.
func (p *play) hear(ctx context.Context, s *stage, l Line) error {
	pcm, err := audio.LoadWAV(l.File)
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
	if err := p.wait(ctx, func() bool { return s.card.Fed() == 0 }, "the microphone to hear it"); err != nil {
		return err
	}
	if alone {
		return p.move(ctx, s, false)
	}
	return nil
}

// move presses or lets go, and returns when the device has confirmed it and done what follows from it.
func (p *play) move(ctx context.Context, s *stage, down bool) error {
	if s.held == down {
		return fmt.Errorf("the button is %s already", map[bool]string{true: "down", false: "up"}[down])
	}
	s.held = down
	before := s.act()
	if down {
		s.hand.Press()
	} else {
		s.hand.Release()
	}
	limit, cancel := context.WithTimeout(ctx, confirmLimit)
	defer cancel()
	return until(limit, func() bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		return s.moves > before && s.device.coordinator.Settled()
	})
}

// act notes that the person did something: waits count from here.
func (s *stage) act() (moves int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.acted, s.said, s.ended = s.device.now(), 0, ""
	return s.moves
}

// since says what came of what the person last did.
func (s *stage) since() (said int, ended string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.said, s.ended
}

func (p *play) waitFor(ctx context.Context, s *stage, l Line) error {
	switch l.What {
	case "idle":
		return p.wait(ctx, s.device.Quiet, "idle")
	case "speaking", "said":
		silent := "" // how the turn ended in which nothing was said
		err := p.wait(ctx, func() bool {
			if l.What == "speaking" && s.device.Speaking() {
				return true
			}
			quiet := s.device.Quiet() // before the count: a turn is counted before it is quiet
			said, ended := s.since()
			if quiet && said == 0 {
				if silent = ended; ended == "" {
					silent = "nobody asked anything"
				}
			}
			return said > 0 || silent != ""
		}, l.What)
		if err == nil && silent != "" {
			return fmt.Errorf("nothing was said, and nothing will be: %s", silent)
		}
		return err
	}
	return pause(ctx, l.For)
}

func (p *play) wait(ctx context.Context, cond func() bool, what string) error {
	ctx, cancel := context.WithTimeout(ctx, waitLimit)
	defer cancel()
	if err := until(ctx, cond); err != nil {
		return fmt.Errorf("waited %s for %s: %w", waitLimit, what, err)
	}
	return nil
}
