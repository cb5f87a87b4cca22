package rehearse

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"conch/audio"
	"conch/audio/twin"
	"conch/audio/wav"
	"conch/companions"
	"conch/companions/round"
	"conch/device/config"
	"conch/device/control"
)

// twinCard is a stage's card as its device gets it. While the device is stopped or dead, the card goes on without it: it plays
// silence and keeps what it hears to itself. What sounds goes to the room's loudspeaker too, where there is one.
type twinCard struct {
	*twin.Card
	s *stage
	l *instance
}

func (c twinCard) OpenPlayback(conf audio.StreamConfig, render func(out []int16)) (audio.Stream, error) {
	return c.Card.OpenPlayback(conf, func(out []int16) {
		if c.s.mute.Load() || c.l.killed.Load() {
			clear(out)
		} else {
			render(out)
		}
		if m := c.s.run.mixed.Load(); m != nil && !c.s.run.gallery.some.Load() { // else it sounds there
			m.add(c.s.name, out)
		}
	})
}

func (c twinCard) OpenCapture(conf audio.StreamConfig, take func(in []int16)) (audio.Stream, error) {
	end := c.s.run.clock.Now() // of what came so far
	return c.Card.OpenCapture(conf, func(in []int16) {
		end += audio.CardDuration(len(in))
		if !c.s.mute.Load() && !c.l.killed.Load() {
			c.s.overhear(in, end)
			c.s.line.Mix(in)
			take(in)
		}
	})
}

// Whoever was cut short is silent for hushAfter; what sounded within hushBefore was not a pause between two words. What sounds when
// hushTurn has passed since the turn's end is no part of it, and less silence than hushSure may be a part of any sound.
const (
	hushBefore = 250 * time.Millisecond
	hushAfter  = 450 * time.Millisecond
	hushTurn   = 100 * time.Millisecond
	hushSure   = 20 * time.Millisecond
)

// unreachable says that a press cannot pass: the network is cut, or the device is stopped or gone.
func (s *stage) unreachable() bool { return !s.alive() || s.cutOff() }

// silenced measures, after a press or question at one device, when the others that were sounding fell silent: by their tapes,
// which know nothing of what the devices believe. The device itself is told by its turn, since a cue follows there at once.
func (p *run) silenced(by *stage, what string, edge time.Duration) {
	by.mu.Lock()
	by.last = edge
	by.mu.Unlock()
	p.later(hushAfter+100*time.Millisecond, func() {
		for _, s := range p.stages {
			if s == by || by.unreachable() || s.unreachable() || audio.Peak(s.card.Between(edge-hushBefore, edge+20*time.Millisecond)) == 0 {
				continue
			}
			until, ended := s.listenUntil(edge)
			switch last, silent := lastSound(s.card.Between(edge, until)); {
			case last == 0 && !p.report.hadFloor(s.name, edge): // it had just finished
			case silent:
				p.report.hush(s.name, by.name, what, edge, last)
			case !ended:
				p.report.sounds(s.name, by.name, what, edge, until-edge)
			}
		}
	})
}

// listenUntil is how long what a device plays after a press elsewhere may be what was to be silenced, and whether that is known to
// have come to an end: asked again, it has something new to say, and its own person's next press is followed by a cue.
func (s *stage) listenUntil(edge time.Duration) (until time.Duration, ended bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	until = edge + hushAfter
	if s.last > edge && s.last < until {
		until, ended = s.last, true
	}
	for _, at := range s.ends {
		if at > edge && at < edge+hushAfter {
			return min(until, at+hushTurn), true
		}
	}
	return until, ended
}

// lastSound is when a tape falls silent, counted from its beginning. A tape that sounds to its end says nothing of that: silent is
// false.
func lastSound(tape []int16) (last time.Duration, silent bool) {
	n := len(tape)
	for n > 0 && tape[n-1] == 0 {
		n--
	}
	return audio.CardDuration(n), len(tape)-n >= audio.CardFrames(hushSure)
}

// record keeps what the card plays in a WAV and what the device notes in a ledger, both from the rehearsal's beginning.
func (p *run) record(s *stage) error {
	path := p.out(s.name + ".wav")
	f, err := os.Create(path)
	if err != nil {
		return fmt.Errorf("%w: --out: %s: %w", control.ErrRefused, path, config.UnwrapPath(err))
	}
	w, err := wav.NewFile(f, audio.CardRate)
	if err != nil {
		_ = f.Close()
		return fmt.Errorf("rehearse: %s: %w", path, err)
	}
	// A card of its own records from now on; the clock has been running for some milliseconds, which are silence.
	early := audio.CardFrames(p.clock.Now())
	if _, err := w.Write(make([]byte, 2*early)); err != nil {
		_ = f.Close()
		return fmt.Errorf("rehearse: %s: %w", path, err)
	}
	s.card.Record(w)
	if s.ledger, err = os.Create(p.out(s.name + ".jsonl")); err != nil {
		_ = f.Close()
		return fmt.Errorf("%w: --out: %s: %w", control.ErrRefused, path, config.UnwrapPath(err))
	}
	p.closer = append(p.closer, func() error {
		err := errors.Join(s.card.RecordErr(), w.Close(), f.Close(), s.ledger.Close())
		if err != nil {
			return fmt.Errorf("rehearse: --out: %w", err)
		}
		return p.parted(s, path)
	})
	return nil
}

// lastSamples is how long after the end of a speech was noted the card may still be playing its last samples.
const lastSamples = 60 * time.Millisecond

// parted writes a WAV for each companion of a device: what the device played while that companion had the floor, and silence
// otherwise.
func (p *run) parted(s *stage, path string) error {
	p.report.mu.Lock()
	talks := slices.Clone(p.report.ledgers.talks)
	p.report.mu.Unlock()
	for _, c := range s.who.Cards {
		var mine []talk
		for _, t := range talks {
			if t.device == s.name && t.companion == c.ID {
				mine = append(mine, t)
			}
		}
		if err := copyTalks(path, p.out(p.wavOf(s, c.ID)), mine); err != nil {
			return fmt.Errorf("rehearse: --out: %w", err)
		}
	}
	return nil
}

// wavOf names the WAV of a companion, after its device too where that would not tell it from another file.
func (p *run) wavOf(s *stage, id round.CompanionID) string {
	for _, o := range p.stages {
		twice := o != s && slices.ContainsFunc(o.who.Cards, func(c companions.Card) bool { return c.ID == id })
		if twice || strings.EqualFold(o.name, string(id)) {
			return s.name + "-" + string(id) + ".wav"
		}
	}
	return string(id) + ".wav"
}

// wavHeader is the size of what wav.File writes before the samples.
const wavHeader = 44

func copyTalks(from, to string, talks []talk) (err error) {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	f, err := os.Create(to)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	w, err := wav.NewFile(f, audio.CardRate)
	if err != nil {
		return err
	}
	if _, err := in.Seek(wavHeader, io.SeekStart); err != nil {
		return err
	}
	buf := make([]byte, 2*audio.CardFrames(10*time.Millisecond))
	for at := time.Duration(0); ; at += 10 * time.Millisecond {
		n, err := io.ReadFull(in, buf)
		if n == 0 {
			break
		}
		if !slices.ContainsFunc(talks, func(t talk) bool { return at >= t.from && at < t.to+lastSamples }) {
			clear(buf[:n])
		}
		if _, err := w.Write(buf[:n]); err != nil {
			return err
		}
		if err != nil {
			break
		}
	}
	return w.Close()
}

// mixer plays what the twins play on a real loudspeaker. The twins' cards and the real one have clocks of their own: each twin
// is given a reserve, and what it has too much or too little of is dropped or silence.
type mixer struct {
	stream audio.Stream // fixed after openMixer

	mu     sync.Mutex
	queues map[string][]int16 // by device; guarded by mu
}

const (
	mixReserve = 40 * time.Millisecond
	mixMost    = 120 * time.Millisecond
)

// openMixer opens a real loudspeaker; about says which, or why there is none.
func openMixer(cfg config.Config, log *slog.Logger) (m *mixer, about string) {
	card, err := audio.NewCard(cfg.Audio.Backend, log)
	if err != nil {
		return nil, "no loudspeaker: " + err.Error()
	}
	m = &mixer{queues: map[string][]int16{}}
	m.stream, err = card.OpenPlayback(audio.StreamConfig{Device: cfg.Audio.Playback, Period: 10 * time.Millisecond, Periods: 3}, m.render)
	if err != nil {
		return nil, "no loudspeaker: " + err.Error()
	}
	if g := m.stream.Granted(); g.Backend != "null" {
		return m, "loudspeaker " + g.Name
	}
	_ = m.stream.Close()
	return nil, "no loudspeaker (no sound card, no sound server): the answers are text; --out DIR keeps their sound"
}

// add takes a period of one twin.
func (m *mixer) add(device string, frames []int16) {
	m.mu.Lock()
	defer m.mu.Unlock()
	q := m.queues[device]
	if len(q) == 0 {
		if audio.Peak(frames) == 0 {
			return // silence needs no queue
		}
		q = append(q, make([]int16, audio.CardFrames(mixReserve))...)
	}
	if q = append(q, frames...); len(q) > audio.CardFrames(mixMost) {
		q = q[len(q)-audio.CardFrames(mixReserve):]
	}
	m.queues[device] = q
}

func (m *mixer) render(out []int16) {
	clear(out)
	m.mu.Lock()
	defer m.mu.Unlock()
	for device, q := range m.queues {
		n := min(len(q), len(out))
		audio.Mix(out[:n], q[:n])
		m.queues[device] = q[n:]
	}
}
