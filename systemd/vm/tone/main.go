// Command tone plays a tone on a card of the guest, with conch's own button and speaker and as the service opens them, and presses
// into it. It judges nothing: it prints, as one JSON object (Report), what whoever holds a recording of what the card played needs
// to find each press in it.
//
//	pin ── gpio.Button ──> Hush / Drop ──> audio.Speaker ──> mark ──> card ══> recording
//	                                                          │ a sample that is louder than all others, and its place in the stream
//
// It runs inside the guest as root, while conch does not.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"sync/atomic"
	"time"

	"conch/audio"
	"conch/gpio"
)

// Report is what came of it. Places are frames in the stream, as the kernel counts them, and so is what is rewound: a frame that was
// played has one place.
type Report struct {
	Granted audio.Granted `json:"granted"`
	Rewinds bool          `json:"rewinds"`
	Lates   uint64        `json:"lates"` // rewinds that came too late for some of it
	Xruns   uint64        `json:"xruns"`
	Marks   []int64       `json:"marks"` // where samples of MarkLevel were written
	Presses []Press       `json:"presses"`
	Looks   []Look        `json:"looks"` // at what the card was playing, now and then
}

// Press is an edge of the button.
type Press struct {
	Look
	Glitch bool `json:"glitch"` // let go before it was a press
	Marks  int  `json:"marks"`  // written before it
}

// Look is what the card was playing at a time of CLOCK_MONOTONIC.
type Look struct {
	At    int64 `json:"at_ns"`
	Taken int64 `json:"taken"` // by the driver
	Ahead int64 `json:"ahead"` // how many of those the card has not played
}

// Level and MarkLevel are the largest samples of the tone, and of what marks a place in it.
const (
	Level     = 12000
	MarkLevel = 32000
	hertz     = 440
)

const (
	fade   = 2 * time.Millisecond // what the device ships with
	edge   = 25 * time.Millisecond
	glitch = 10 * time.Millisecond
	apart  = 130 * time.Millisecond // between things that must not meet in the recording: longer than any card here holds
)

func main() {
	o := options{}
	flag.StringVar(&o.card, "card", "Speaker", "id of the ALSA card (cat /proc/asound/cards)")
	flag.IntVar(&o.n, "n", 20, "presses")
	flag.Uint64Var(&o.seed, "seed", 1, "decides when")
	flag.IntVar(&o.periods, "periods", 8, "of 5 ms")
	flag.BoolVar(&o.stiff, "stiff", false, "take nothing back: wait until it has been played")
	flag.StringVar(&o.stall, "stall", "", "run this beside it and write what it says to FILE.0, FILE.1, one for each processor")
	flag.StringVar(&o.out, "out", "/run/tone.json", "FILE for the report")
	flag.StringVar(&o.pin, "pull", "/run/pins/17/pull", "file that pulls pin 17")
	flag.Parse()
	if err := o.run(); err != nil {
		fmt.Fprintln(os.Stderr, "tone:", err)
		os.Exit(1)
	}
}

type options struct {
	card, stall, out, pin string
	n, periods            int
	seed                  uint64
	stiff                 bool
}

// rig is a speaker, a button and a card.
type rig struct {
	options
	start   time.Time
	speaker *audio.Speaker
	marker  *marker
	dice    *rand.Rand
	looks   []Look
}

func (o options) run() (err error) {
	r := rig{options: o, start: time.Now(), dice: rand.New(rand.NewPCG(o.seed, 29))}
	end, err := r.watch()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, end()) }()
	card, err := audio.NewCard(audio.BackendALSA, slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelDebug})))
	if err != nil {
		return err
	}
	full := 100
	r.speaker = audio.NewSpeaker(audio.SpeakerConfig{Fade: fade, Volume: &full, Cues: &full})
	r.marker = &marker{Card: card, Rewinder: r.speaker, stiff: o.stiff}
	stream, err := r.speaker.OpenOn(r.marker, audio.StreamConfig{Device: "alsa:CARD=" + o.card + ",DEV=0", Period: 5 * time.Millisecond, Periods: o.periods})
	if err != nil {
		return err
	}
	if r.marker.status, err = os.Open("/proc/asound/" + o.card + "/pcm0p/sub0/status"); err != nil {
		return errors.Join(err, stream.Close())
	}
	report, err := r.presses()
	report.Granted, report.Rewinds = stream.Granted(), stream.Granted().Rewinds()
	report.Lates, report.Xruns = stream.Stats().Lates, stream.Stats().Xruns
	if cerr := stream.Close(); cerr != nil { // a driver waits for its card, and an emulated one can stand still for seconds
		fmt.Fprintln(os.Stderr, "tone:", cerr)
	}
	data, merr := json.Marshal(report)
	return errors.Join(err, merr, os.WriteFile(o.out, data, 0o600))
}

// watch starts what says when the machine stood still, on each processor, and returns what ends it.
func (r *rig) watch() (end func() error, err error) {
	var ends []func() error
	end = func() (err error) {
		for _, e := range ends {
			err = errors.Join(err, e())
		}
		return err
	}
	for cpu := range runtime.NumCPU() {
		if r.stall == "" {
			break
		}
		out, err := os.Create(fmt.Sprintf("%s.%d", r.out, cpu))
		if err != nil {
			return nil, errors.Join(err, end())
		}
		cmd := exec.Command(r.stall, strconv.Itoa(cpu), "2000000") //nolint:gosec // ours, beside it
		cmd.Stdout, cmd.Stderr = out, os.Stderr
		in, err := cmd.StdinPipe()
		if err == nil {
			err = cmd.Start()
		}
		if err != nil {
			return nil, errors.Join(err, out.Close(), end())
		}
		ends = append(ends, func() error { return errors.Join(in.Close(), cmd.Wait(), out.Close()) })
	}
	return end, nil
}

func (r *rig) now() time.Duration { return time.Since(r.start) }

// presses presses n times. Every other time a glitch comes first.
func (r *rig) presses() (report Report, err error) {
	button, err := gpio.OpenButton("17", gpio.ButtonOptions{Clock: r.now, Press: edge})
	if err != nil {
		return report, err
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 2)
	go func() { ended <- button.Run(ctx, r.pressed) }() // ends with ctx, and is awaited
	go func() { ended <- r.speaker.Run(ctx) }()
	defer func() {
		cancel()
		err = errors.Join(err, <-ended, <-ended, button.Close())
		report.Marks, report.Looks = r.marker.marks, r.looks
	}()
	if err := r.pass(apart); err != nil {
		return report, err
	}
	for i := range r.n + 1 {
		src := r.speaker.Open(audio.SourceSpeech, r.speaker.Generation())
		go func() { // ends with the source, which a press or the end of ctx ends
			src.Write(ctx, tone)
			src.Close()
		}()
		if err := r.one(&report, i); err != nil {
			return report, fmt.Errorf("press %d of %d: %w", i+1, r.n, err)
		}
	}
	return report, nil
}

// one is a mark and a press, and before every other press a glitch. After the last press comes only a mark: what is between two, and as
// far from both in the recording as in the stream, has been recorded whole.
func (r *rig) one(report *Report, i int) error {
	steps := []func() error{
		func() error { return r.pass(apart) },
		r.mark,
		func() error { return r.pass(apart) },
	}
	if i%2 == 1 && i < r.n {
		steps = append(steps, func() error { return r.press(report, true, glitch) }, func() error { return r.pass(apart) })
	}
	if i < r.n {
		steps = append(steps, func() error { return r.press(report, false, apart) }, func() error { return r.pass(apart) })
	}
	for _, step := range steps {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// pass waits until the card has played for so long, which is longer by the clock where it stands still, and a little at random.
func (r *rig) pass(d time.Duration) error {
	from, err := r.look()
	for deadline, left := time.Now().Add(stuck), d; err == nil && left > 0; {
		if time.Now().After(deadline) {
			return errStuck
		}
		time.Sleep(left + time.Duration(r.dice.Int64N(int64(5*time.Millisecond))))
		var now Look
		now, err = r.look()
		left = d - audio.CardDuration(int(now.Taken-now.Ahead-(from.Taken-from.Ahead)))
	}
	return err
}

// stuck is how long a card may stand still.
const stuck = 20 * time.Second

var errStuck = errors.New("the card stands still")

// pressed is what the device does (device/press.go).
func (r *rig) pressed(e gpio.Event) {
	switch e.Kind {
	case gpio.Touched:
		r.speaker.Hush()
	case gpio.Pressed:
		r.speaker.Drop()
	case gpio.Glitched, gpio.Released:
		r.speaker.Unhush()
	}
}

func (r *rig) press(report *Report, isGlitch bool, held time.Duration) error {
	at, err := r.look()
	if err != nil {
		return err
	}
	report.Presses = append(report.Presses, Press{Look: at, Glitch: isGlitch, Marks: len(r.marker.marks)})
	if err := os.WriteFile(r.pin, []byte("pull-down"), 0); err != nil {
		return err
	}
	if isGlitch {
		time.Sleep(held)
	} else if err := r.pass(held); err != nil {
		return err
	}
	return os.WriteFile(r.pin, []byte("pull-up"), 0)
}

// look asks the kernel what the card is playing.
func (r *rig) look() (Look, error) {
	at := time.Now()
	s, err := r.marker.read()
	look := Look{At: monotonic(at), Taken: s.taken, Ahead: s.delay - (s.written - s.taken)}
	r.looks = append(r.looks, look)
	return look, err
}

// mark has the next sample of the stream marked, and waits until it has been written.
func (r *rig) mark() error {
	before := r.marker.done.Load()
	r.marker.wanted.Store(true)
	for deadline := time.Now().Add(stuck); r.marker.done.Load() == before; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			return errStuck
		}
	}
	return nil
}

// tone is ten seconds of it.
var tone = func() []int16 {
	pcm := make([]int16, 10*audio.Rate)
	for i := range pcm {
		pcm[i] = int16(Level * math.Sin(2*math.Pi*hertz*float64(i)/audio.Rate))
	}
	return pcm
}()

// marker is a card that can mark a sample of what it is given, where nothing is being taken back.
type marker struct {
	audio.Card
	audio.Rewinder // conch's speaker
	stiff          bool
	render         func([]int16)
	status         *os.File

	wanted atomic.Bool
	done   atomic.Int64

	// by the card's thread, until done says so
	stale bool
	marks []int64
	err   error
}

// OpenPlayback implements audio.Card.
func (m *marker) OpenPlayback(c audio.StreamConfig, render func([]int16)) (audio.Stream, error) {
	m.render, c.Back = render, m
	return m.Card.OpenPlayback(c, m.mark)
}

// Keep implements audio.Rewinder.
func (m *marker) Keep(g audio.Granted) {
	if m.stiff {
		g.Margin = 0
	}
	m.Rewinder.Keep(g)
}

// Stale implements audio.Rewinder.
func (m *marker) Stale() bool {
	m.stale = m.Rewinder.Stale() && !m.stiff
	return m.stale
}

// mark is render. What it renders is written next, where the stream ends now, unless something is taken back first.
func (m *marker) mark(out []int16) {
	m.render(out)
	if m.stale || !m.wanted.Load() {
		return
	}
	m.wanted.Store(false)
	s, err := m.read()
	if m.err = err; err != nil {
		return
	}
	out[0] = MarkLevel
	m.marks = append(m.marks, s.written)
	m.done.Add(1)
}
