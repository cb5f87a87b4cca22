package device

import (
	"context"
	"encoding/json"
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
	"conch/coordinator/turn"
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
	waitLimit = 90 * time.Second // of one wait; a turn with every deadline in it ends sooner
	maxTape   = 30 * time.Minute // of WAV
)

// stage is one device of a rehearsal with the hands and ears of its person.
type stage struct {
	name   string
	device *Device
	card   *audiotest.Card
	hand   *gpiotest.Button
	server *rehearsal.Server
	saying string // what the companion says in the live turn
}

// play is a running rehearsal.
type play struct {
	Rehearsal
	start  time.Time
	counts map[string]int

	mu      sync.Mutex // guards emit, counts and said
	said    int
	changed chan struct{} // one token when a turn ended or words came
}

// Run plays the script and returns an error if the script could not be played, or if a question ended in nothing.
func (r Rehearsal) Run(ctx context.Context) (err error) {
	p := &play{Rehearsal: r, start: time.Now(), counts: map[string]int{}, changed: make(chan struct{}, 1)}
	if r.Out != "" {
		if err := os.MkdirAll(r.Out, 0o755); err != nil {
			return fmt.Errorf("%w: --out: %w", ErrRefused, err)
		}
	}
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
	p.emit(map[string]any{"event": "rehearsal.end", "turns": p.counts["turn.end"], "said": p.counts["said"], "faults": p.counts["fault"],
		"failed": p.counts["failed"], "seconds": time.Since(p.start).Seconds(), "ok": err == nil})
	return err
}

// raise builds one device on its virtual hardware and starts it. stop ends it and waits for it.
func (p *play) raise(ctx context.Context, name string) (*stage, func() error, error) {
	s := &stage{name: name}
	s.card = audiotest.New(audiotest.WallClock())
	closeTape := func() error { return nil }
	if p.Out != "" {
		var err error
		if closeTape, err = recordTo(filepath.Join(p.Out, name+".wav"), s.card); err != nil {
			return nil, nil, err
		}
	}
	now := s.card.Clock().Now
	s.hand = gpiotest.New(gpio.ButtonOptions{Clock: now})
	s.server = rehearsal.New(rehearsal.Options{Log: p.Log})
	cfg := p.Config
	cfg.Device.Name = name
	cfg.State.Dir = "" // a rehearsal leaves nothing behind but what --out asks for
	d, err := New(cfg, Options{
		Log: p.Log.With("device", name), Card: s.card, Now: now, Server: s.server,
		Buttons: []gpio.Source{s.hand},
		OnTurn:  func(t TurnRecord) { p.turnEnded(s, t) },
	})
	if err != nil {
		return nil, nil, err
	}
	s.device = d
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan error, 2)
	go func() { done <- s.card.Run(ctx, 1) }()
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

func (p *play) turnEnded(s *stage, t TurnRecord) {
	t.Device = s.name
	p.emit(t)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.counts["turn.end"]++
	if t.Reason == turn.Failed.String() {
		p.counts["failed"]++
	}
	if t.Said != "" {
		p.counts["said"]++
		p.said++
	}
	p.poke()
}

// emit writes one object a line, or a sentence.
func (p *play) emit(v any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.JSON != nil {
		_ = json.NewEncoder(p.JSON).Encode(v) // the reader went away: the play goes on
		return
	}
	if p.Text == nil {
		return
	}
	if t, ok := v.(TurnRecord); ok {
		fmt.Fprint(p.Text, t.Sentence(p.Config.Device.Companion))
	}
}

func (p *play) poke() {
	select {
	case p.changed <- struct{}{}:
	default:
	}
}

// perform carries the script out, line by line.
func (p *play) perform(ctx context.Context, s *stage) error {
	for _, l := range p.Script {
		if err := p.line(ctx, s, l); err != nil {
			return fmt.Errorf("script line %d: %s: %w", l.Number, l.Source, err)
		}
	}
	return p.wait(ctx, func() bool { return s.device.Quiet() }, "idle at the end")
}

func (p *play) line(ctx context.Context, s *stage, l Line) error {
	switch l.Verb {
	case "press":
		s.hand.Press()
	case "release":
		s.hand.Release()
	case "ask":
		s.device.coordinator.Ask(l.Text)
	case "hear":
		pcm, err := audio.LoadWAV(l.File)
		if err != nil {
			return err
		}
		s.card.Feed(pcm)
		return pause(ctx, audio.Duration(len(pcm)))
	case "wait":
		return p.waitFor(ctx, s, l)
	case "model":
		p.emit(map[string]any{"event": "fault", "device": s.name, "what": "model " + l.What})
		s.server.SetFaults(modelFault(l.What))
	case "sound":
		p.emit(map[string]any{"event": "fault", "device": s.name, "what": "sound " + l.What})
		if l.What == "out" {
			s.card.Unplug()
		} else {
			s.card.Replug()
		}
	default:
		return fmt.Errorf("%s needs a room of several devices, which this version does not rehearse yet", l.Verb)
	}
	return nil
}

func (p *play) waitFor(ctx context.Context, s *stage, l Line) error {
	switch l.What {
	case "idle":
		return p.wait(ctx, s.device.Quiet, "idle")
	case "speaking":
		return p.wait(ctx, func() bool { return s.device.Speaking() }, "speaking")
	case "said":
		p.mu.Lock()
		before := p.said
		p.mu.Unlock()
		return p.wait(ctx, func() bool { p.mu.Lock(); defer p.mu.Unlock(); return p.said > before }, "said")
	}
	return pause(ctx, l.For)
}

func (p *play) wait(ctx context.Context, cond func() bool, what string) error {
	ctx, cancel := context.WithTimeout(ctx, waitLimit)
	defer cancel()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !cond() {
		select {
		case <-ctx.Done():
			return fmt.Errorf("waited %s for %s: %w", waitLimit, what, ctx.Err())
		case <-p.changed:
		case <-tick.C:
		}
	}
	return nil
}
