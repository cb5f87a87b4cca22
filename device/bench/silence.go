// Package bench measures whole devices: from a press to silence, on any card or in the air, and what a running one costs.
package bench

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"
	"time"

	"conch/audio"
	"conch/audio/twin"
	"conch/coordinator/inject"
	"conch/coordinator/turn"
	"conch/device"
	"conch/device/config"
	"conch/device/control"
	"conch/device/sound"
	"conch/device/state"
	"conch/device/tone"
	"conch/device/wait"
	"conch/gpio"
	gpiotwin "conch/gpio/twin"
)

// Silence measures what conch exists for: from the button's edge to the last audible sample, in each state in which
// something can sound. It is a whole device, as shipped (debounce, press path, coordinator, speaker, card), with a voice
// that plays a tone. The tone stands for speech, cue and content alike, and the earcons are muted, so that whatever is
// audible after the press is old.
type Silence struct {
	Config  config.Config
	Card    audio.Card
	Name    string // of the card, for the report
	Presses int    // per state
	States  []string
	Log     *slog.Logger
	// LastAudible, where the card can tell (virtual card, simulated ALSA card, recorded monitor): the time of the last
	// audible sample that sounded at or after since, and whether there was one. Nil: the speaker's own account, the time
	// at which the last audible sample it handed over leaves the card's queue.
	LastAudible func(since time.Duration) (time.Duration, bool)
	Prepare     func(context.Context) error // before the first tone, while nothing sounds; nil: nothing to do
	Now         func() time.Duration
	Progress    io.Writer // one line a state; nil for none

	judge string // what LastAudible goes by; empty: the card's own record
	brief bool   // the judge knows at once, and no card holds more than some 40 ms
}

// SilenceStates are the states of TURNS.md 2 in which a press must silence.
var States = []string{"committing", "speaking", "tool", "awaiting", "content", "injected", "call", "ringing", "tail"}

// Run measures every state and returns the report. It leaves the card as it found it.
func (b Silence) Run(ctx context.Context) (report state.Silence, err error) {
	if b.Presses < 1 || b.Presses > 10000 {
		return state.Silence{}, fmt.Errorf("%w: bench silence: presses = %d: must be 1 to 10000", control.ErrRefused, b.Presses)
	}
	if len(b.States) == 0 {
		b.States = States
	}
	for _, s := range b.States {
		if !slices.Contains(States, s) {
			return state.Silence{}, fmt.Errorf("%w: bench silence: state %q: must be one of %s", control.ErrRefused, s, strings.Join(States, ", "))
		}
	}
	rig, err := b.rig()
	if err != nil {
		return state.Silence{}, err
	}
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan error, 1)
	go func() { done <- rig.device.Run(ctx) }() // ended by cancel, awaited below
	defer func() {
		cancel()
		if e := <-done; err == nil && e != nil {
			err = fmt.Errorf("bench silence: %w", e)
		}
	}()
	if err := rig.ready(ctx, 10*time.Second); err != nil {
		return state.Silence{}, fmt.Errorf("bench silence: %w", err)
	}
	if b.Prepare != nil {
		if err := b.Prepare(ctx); err != nil {
			return state.Silence{}, fmt.Errorf("bench silence: %w", err)
		}
	}
	granted := rig.device.Sound().Granted()
	if granted.Backend == audio.BackendNull {
		return state.Silence{}, sound.NoCard("bench silence", "measure on the virtual card with --virtual")
	}
	report = state.Silence{
		When: time.Now(), Card: b.Name, Granted: granted, Asked: sound.Playback(b.Config.Audio), Fade: milliseconds(b.Config.Audio.Fade),
		Method: "whole device with a tone for a voice; edge of a virtual button to the last audible sample; " + rig.method(),
	}
	report.Bound = milliseconds(granted.Bound(b.Config.Audio.Fade))
	for _, state := range b.States {
		row, err := rig.measure(ctx, state, b.Presses)
		if err != nil {
			return report, fmt.Errorf("bench silence: %s: %w", state, err)
		}
		report.Rows = append(report.Rows, row)
		if b.Progress != nil {
			fmt.Fprintf(b.Progress, "  %s done\n", state)
		}
	}
	return report, nil
}

// rig is the device under test with its hand on the button.
type rig struct {
	bench  Silence
	device *device.Device
	hand   *gpiotwin.Button
	voice  *tone.Voice
	now    func() time.Duration
}

// ready waits for the loudspeaker's device.
func (r *rig) ready(ctx context.Context, limit time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	card := r.device.Sound()
	if err := wait.Until(ctx, func() bool { return card.Sounds() && r.device.Coordinator().Online() }); err != nil {
		return fmt.Errorf("no sound after %s: %s", limit, card.Words())
	}
	return nil
}

func (r *rig) method() string {
	switch {
	case r.bench.judge != "":
		return r.bench.judge
	case r.bench.LastAudible != nil:
		return "the card's own record of what sounded"
	}
	return "the speaker's account: hand-over of the last audible frame plus the card's queue"
}

func (b Silence) rig() (*rig, error) {
	now := b.Now
	if now == nil {
		now = clock()
	}
	log := b.Log
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	voice := tone.New()
	hand := gpiotwin.NewButton(gpio.ButtonOptions{Clock: now})
	b.Config.State.Dir = ""       // measuring leaves no trace
	b.Config.Button.Again = false // it presses faster than a person, and a double press would have the tone said again
	d, err := device.New(b.Config, device.Options{
		Log: log, Card: b.Card, Voice: voice, Tools: tone.Tools{Voice: voice}, Now: now,
		Buttons: []gpio.Events{hand}, Cues: voice.Cue, Alarm: voice.Alarm, AnySound: true,
	})
	if err != nil {
		return nil, err
	}
	return &rig{bench: b, device: d, hand: hand, voice: voice, now: now}, nil
}

// Waits of the bench, each far above what the thing takes.
const (
	benchAgain  = 5                      // presses more, where some found it quiet: a machine that stood still has left a gap
	benchSettle = 5 * time.Second        // to reach a state
	bounce      = 300 * time.Millisecond // a press so soon after a call or an alert began is something else (TURNS.md 4)
	benchSound  = 150 * time.Millisecond // of audible tone before the press
	benchAfter  = 150 * time.Millisecond // after the press, in which old sound would still show
	briefly     = 70 * time.Millisecond  // for both, where it is brief
)

func (r *rig) measure(ctx context.Context, name string, n int) (state.SilenceRow, error) {
	row := state.SilenceRow{State: name}
	for i := 0; len(row.Raw) < n && i < n+benchAgain; i++ {
		if err := r.reach(ctx, name); err != nil {
			return row, fmt.Errorf("press %d: %w", i+1, err)
		}
		// Spread the presses over the period: 0 to 20 ms in steps that do not divide a period.
		sound, after := benchSound, benchAfter
		if r.bench.brief {
			sound, after = briefly, briefly
		}
		if name == "call" || name == "ringing" {
			sound += bounce
		}
		if err := wait.For(ctx, sound+time.Duration(i*37%200)*100*time.Microsecond); err != nil {
			return row, err
		}
		edge := r.now()
		r.hand.Press()
		if err := wait.For(ctx, after); err != nil {
			return row, err
		}
		last, sounded := r.lastAudible(edge)
		switch {
		case !sounded:
			row.Quiet++
		default:
			row.Raw = append(row.Raw, float64(last-edge)/float64(time.Millisecond))
		}
		r.voice.Stop()
		if err := r.reset(ctx); err != nil {
			return row, err
		}
		if err := r.idle(ctx); err != nil {
			return row, fmt.Errorf("after press %d: %w", i+1, err)
		}
	}
	row.Fill()
	if row.N == 0 {
		why := "the bench measured nothing"
		if r.bench.judge != "" {
			why = "the microphone does not hear the loudspeaker over the background: make it louder, or bring them closer (conch audio test)"
		}
		return row, fmt.Errorf("nothing was audible at any of %d presses: %s", row.Quiet, why)
	}
	return row, nil
}

func (r *rig) lastAudible(edge time.Duration) (time.Duration, bool) {
	if r.bench.LastAudible != nil {
		return r.bench.LastAudible(edge)
	}
	at := r.device.LastAudible()
	return at, at >= edge
}

// reach brings the device into a state in which a tone sounds.
func (r *rig) reach(ctx context.Context, state string) error {
	r.voice.Play(state)
	switch state {
	case "injected":
		r.device.Coordinator().Inject("bench", inject.Normal, "", time.Minute)
	case "ringing":
		r.device.Coordinator().Ring("", 0)
	default:
		r.device.Coordinator().Ask("bench")
	}
	want := map[string]turn.State{"committing": turn.Committing, "speaking": turn.InResponse, "tool": turn.InResponse,
		"awaiting": turn.AwaitingNextResponse, "content": turn.Idle, "injected": turn.InResponse, "call": turn.Idle, "ringing": turn.Idle,
		"tail": turn.InResponse}[state]
	return r.until(ctx, func() bool {
		return r.voice.Sounding.Load() && r.device.Coordinator().State() == want && r.device.Audible()
	}, "state "+want.String()+" with a tone")
}

// reset ends the turn that the press began: the button is let go, and the room says hush.
func (r *rig) reset(ctx context.Context) error {
	r.hand.Release()
	err := r.until(ctx, func() bool { return r.device.Coordinator().State() != turn.Listening }, "the end of listening")
	for range 5 { // an interrupted injection is offered once more (TURNS.md 5)
		r.device.Hush()
		if err := wait.For(ctx, 30*time.Millisecond); err != nil {
			return err
		}
		if r.device.Coordinator().Quiet() {
			break
		}
	}
	return err
}

func (r *rig) idle(ctx context.Context) error {
	return r.until(ctx, func() bool {
		return r.device.Coordinator().State() == turn.Idle && !r.device.Audible()
	}, "idle")
}

func (r *rig) until(ctx context.Context, cond func() bool, what string) error {
	ctx, cancel := context.WithTimeout(ctx, benchSettle)
	defer cancel()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for !cond() {
		select {
		case <-ctx.Done():
			return fmt.Errorf("did not reach %s in %s (state %s)", what, benchSettle, r.device.Coordinator().State())
		case <-tick.C:
		}
	}
	return nil
}

// onVirtualCard gives the bench a virtual card in time with the wall, whose tape is the judge.
func (b *Silence) onVirtualCard(ctx context.Context) (stop func() error) {
	card := twin.NewCard(twin.WallClock())
	card.Rewinds(time.Millisecond)
	card.KeepTape(5 * time.Second)
	b.Card, b.Name, b.Now = card, "virtual card", card.Clock().Now
	b.LastAudible = func(since time.Duration) (time.Duration, bool) {
		at := card.LastAudible(since)
		return at, at > since
	}
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan error, 1)
	go func() { done <- card.Run(ctx, 1) }() // ended and awaited by stop
	return func() error {
		cancel()
		return <-done
	}
}
