package device

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"math"
	"slices"
	"time"

	"conch/audio"
	"conch/audio/audiotest"
	"conch/coordinator"
	"conch/coordinator/turn"
	"conch/device/config"
	"conch/device/control"
	"conch/gpio"
	"conch/gpio/gpiotest"
)

// SilenceBench measures what conch exists for: from the button's edge to the last audible sample, in each state in which
// something can sound. It is a whole device, as shipped (debounce, press path, coordinator, speaker, card), with a voice
// that plays a tone. The tone stands for speech, cue and content alike, and the earcons are muted, so that whatever is
// audible after the press is old.
type SilenceBench struct {
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

// SilenceStates are the states of turns.md 2 in which a press must silence.
var SilenceStates = []string{"committing", "speaking", "tool", "awaiting", "content", "injected", "call", "tail"}

// SilenceRow is the distribution for one state.
type SilenceRow struct {
	State string    `json:"state"`
	N     int       `json:"n"`
	Quiet int       `json:"already_quiet"` // presses at which nothing was audible any more: not counted in N
	P50   float64   `json:"p50_ms"`
	P95   float64   `json:"p95_ms"`
	P99   float64   `json:"p99_ms"`
	Max   float64   `json:"max_ms"`
	Raw   []float64 `json:"-"`
}

// SilenceReport is one run. It is kept in the state directory for doctor.
type SilenceReport struct {
	When    time.Time          `json:"when"`
	Card    string             `json:"card"`
	Granted audio.Granted      `json:"granted"`
	Asked   audio.StreamConfig `json:"-"`
	Fade    float64            `json:"fade_ms"`
	Bound   float64            `json:"bound_ms"`
	Method  string             `json:"method"`
	Rows    []SilenceRow       `json:"rows"`
}

const (
	silenceFile = "silence"
	budgetMS    = 30 // turns.md 2
)

func (r SilenceReport) worst() (worst, p99 float64) {
	for _, row := range r.Rows {
		worst, p99 = max(worst, row.Max), max(p99, row.P99)
	}
	return worst, p99
}

// Over counts presses that took the budget or longer, and all presses.
func (r SilenceReport) Over() (over, all int) {
	for _, row := range r.Rows {
		for _, ms := range row.Raw {
			all++
			if ms >= budgetMS {
				over++
			}
		}
	}
	return over, all
}

// Print writes the report for people.
func (r SilenceReport) Print(w io.Writer) {
	bound := "(P+1)T+fade"
	if r.Granted.Rewinds() {
		bound = fmt.Sprintf("T+%d frames+fade", r.Granted.Margin+audio.RewindStep)
	}
	fmt.Fprintf(w, "%s (%s): granted %s; fade %.1f ms, bound %s = %.1f ms\n", r.Card, r.Granted.Backend, r.Granted.Buffer(r.Asked), r.Fade, bound, r.Bound)
	fmt.Fprintf(w, "  %-12s %5s %8s %8s %8s %8s\n", "state", "n", "p50 ms", "p95 ms", "p99 ms", "max ms")
	for _, row := range r.Rows {
		fmt.Fprintf(w, "  %-12s %5d %8.1f %8.1f %8.1f %8.1f", row.State, row.N, row.P50, row.P95, row.P99, row.Max)
		if row.Quiet > 0 {
			fmt.Fprintf(w, "  (%d more found it quiet already)", row.Quiet)
		}
		fmt.Fprintln(w)
	}
}

// Run measures every state and returns the report. It leaves the card as it found it.
func (b SilenceBench) Run(ctx context.Context) (report SilenceReport, err error) {
	if b.Presses < 1 || b.Presses > 10000 {
		return SilenceReport{}, fmt.Errorf("%w: bench silence: presses = %d: must be 1 to 10000", control.ErrRefused, b.Presses)
	}
	if len(b.States) == 0 {
		b.States = SilenceStates
	}
	for _, s := range b.States {
		if !slices.Contains(SilenceStates, s) {
			return SilenceReport{}, fmt.Errorf("%w: bench silence: state %q: must be one of %v", control.ErrRefused, s, SilenceStates)
		}
	}
	rig, err := b.rig()
	if err != nil {
		return SilenceReport{}, err
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
	if err := rig.device.waitSound(ctx, 10*time.Second); err != nil {
		return SilenceReport{}, fmt.Errorf("bench silence: %w", err)
	}
	if b.Prepare != nil {
		if err := b.Prepare(ctx); err != nil {
			return SilenceReport{}, fmt.Errorf("bench silence: %w", err)
		}
	}
	granted := rig.device.granted()
	if granted.Backend == audio.BackendNull {
		return SilenceReport{}, noSoundCard("bench silence", "measure on the virtual card with --virtual")
	}
	report = SilenceReport{
		When: time.Now(), Card: b.Name, Granted: granted, Asked: streamConfig(b.Config.Audio), Fade: ms(b.Config.Audio.Fade),
		Method: "whole device with a tone for a voice; edge of a virtual button to the last audible sample; " + rig.method(),
	}
	report.Bound = ms(granted.Bound(b.Config.Audio.Fade))
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
	bench  SilenceBench
	device *Device
	hand   *gpiotest.Button
	voice  *toneVoice
	now    func() time.Duration
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

func (b SilenceBench) rig() (*rig, error) {
	now := b.Now
	if now == nil {
		now = since(time.Now())
	}
	log := b.Log
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	voice := newToneVoice()
	hand := gpiotest.New(gpio.ButtonOptions{Clock: now})
	b.Config.State.Dir = "" // measuring leaves no trace
	d, err := New(b.Config, Options{
		Log: log, Card: b.Card, Voice: voice, Tools: toneTools{voice}, Now: now,
		Buttons: []gpio.Source{hand}, Cues: voice.cue,
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
	bounce      = 300 * time.Millisecond // a press so soon after a call began is none (turns.md 4)
	benchSound  = 150 * time.Millisecond // of audible tone before the press
	benchAfter  = 150 * time.Millisecond // after the press, in which old sound would still show
	briefly     = 70 * time.Millisecond  // for both, where it is brief
)

func (r *rig) measure(ctx context.Context, state string, n int) (SilenceRow, error) {
	row := SilenceRow{State: state}
	for i := 0; len(row.Raw) < n && i < n+benchAgain; i++ {
		if err := r.reach(ctx, state); err != nil {
			return row, fmt.Errorf("press %d: %w", i+1, err)
		}
		// Spread the presses over the period: 0 to 20 ms in steps that do not divide a period.
		sound, after := benchSound, benchAfter
		if r.bench.brief {
			sound, after = briefly, briefly
		}
		if state == "call" {
			sound += bounce
		}
		if err := Pause(ctx, sound+time.Duration(i*37%200)*100*time.Microsecond); err != nil {
			return row, err
		}
		edge := r.now()
		r.hand.Press()
		if err := Pause(ctx, after); err != nil {
			return row, err
		}
		last, sounded := r.lastAudible(edge)
		switch {
		case !sounded:
			row.Quiet++
		default:
			row.Raw = append(row.Raw, float64(last-edge)/float64(time.Millisecond))
		}
		r.voice.stop()
		if err := r.reset(ctx); err != nil {
			return row, err
		}
		if err := r.idle(ctx); err != nil {
			return row, fmt.Errorf("after press %d: %w", i+1, err)
		}
	}
	row.fill()
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
	at := r.device.speaker.LastAudible()
	return at, at >= edge
}

func (row *SilenceRow) fill() {
	s := slices.Clone(row.Raw)
	slices.Sort(s)
	if row.N = len(s); row.N == 0 {
		return
	}
	at := func(q float64) float64 { return s[min(len(s)-1, int(math.Ceil(q*float64(len(s))))-1)] }
	row.P50, row.P95, row.P99, row.Max = at(.50), at(.95), at(.99), s[len(s)-1]
}

// reach brings the device into a state in which a tone sounds.
func (r *rig) reach(ctx context.Context, state string) error {
	r.voice.play(state)
	if state == "injected" {
		r.device.coordinator.Inject("bench", coordinator.PriorityNormal, "", time.Minute)
	} else {
		r.device.coordinator.Ask("bench")
	}
	want := map[string]turn.State{"committing": turn.Committing, "speaking": turn.InResponse, "tool": turn.InResponse,
		"awaiting": turn.AwaitingNextResponse, "content": turn.Idle, "injected": turn.InResponse, "call": turn.Idle, "tail": turn.InResponse}[state]
	return r.until(ctx, func() bool {
		return r.voice.sounding.Load() && r.device.coordinator.State() == want && r.device.audible()
	}, "state "+want.String()+" with a tone")
}

// reset ends the turn that the press began: the button is let go, and the room says hush.
func (r *rig) reset(ctx context.Context) error {
	r.hand.Release()
	err := r.until(ctx, func() bool { return r.device.coordinator.State() != turn.Listening }, "the end of listening")
	for range 5 { // an interrupted injection is offered once more (turns.md 5)
		r.device.Hush()
		if err := Pause(ctx, 30*time.Millisecond); err != nil {
			return err
		}
		if r.device.coordinator.Quiet() {
			break
		}
	}
	return err
}

func (r *rig) idle(ctx context.Context) error {
	return r.until(ctx, func() bool {
		return r.device.coordinator.State() == turn.Idle && !r.device.audible()
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
			return fmt.Errorf("did not reach %s in %s (state %s)", what, benchSettle, r.device.coordinator.State())
		case <-tick.C:
		}
	}
	return nil
}

// waitSound waits for the loudspeaker's device.
func (d *Device) waitSound(ctx context.Context, limit time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	err := Until(ctx, func() bool { s := d.playback.Load(); return s != nil && s.err == nil && d.coordinator.Online() })
	if err != nil {
		return fmt.Errorf("no sound after %s: %s", limit, d.soundWords())
	}
	return nil
}

// granted is what the loudspeaker's device gave.
func (d *Device) granted() audio.Granted {
	if s := d.playback.Load(); s != nil {
		return s.granted
	}
	return audio.Granted{}
}

// onVirtualCard gives the bench a virtual card in time with the wall, whose tape is the judge.
func (b *SilenceBench) onVirtualCard(ctx context.Context) (stop func() error) {
	card := audiotest.New(audiotest.WallClock())
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
