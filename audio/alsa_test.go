//go:build cgo

package audio_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"conch/audio"
	"conch/audio/alsacard"
)

// rewound is a speaker on a simulated ALSA card that holds 40 ms.
type rewound struct {
	t    testing.TB
	card *alsacard.Card
	log  *alsacard.Log
	s    *audio.Speaker
	str  audio.Stream
}

func openRewound(t testing.TB, o alsacard.Options) *rewound { return openRewoundOn(t, o, nil) }

func openRewoundOn(t testing.TB, o alsacard.Options, log *slog.Logger) *rewound {
	card := alsacard.Start(t, o)
	m, err := audio.NewCard("alsa", log)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(m.Close)
	full := 100
	s := audio.NewSpeaker(audio.SpeakerConfig{Fade: 2 * time.Millisecond, Volume: &full, Cues: &full})
	str, err := s.OpenOn(m, audio.StreamConfig{Device: card.Device()})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()
	t.Cleanup(func() {
		if err := str.Close(); err != nil {
			t.Error(err)
		}
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return &rewound{t: t, card: card, log: card.Log(), s: s, str: str}
}

// play opens a source and keeps it full of pcm, until it is dropped.
func (r *rewound) play(pcm []int16) *audio.Source {
	src := r.s.Open(audio.SourceSpeech, r.s.Generation())
	go func() {
		src.Write(context.Background(), pcm)
		src.Close()
	}()
	return src
}

// pass waits until the card has played so much more.
func (r *rewound) pass(d time.Duration) {
	until := time.Now().Add(d)
	await(r.t, "the card's log", d+10*time.Second, func() bool { return r.log.End().After(until) })
}

// tone is 440 Hz.
func tone(d time.Duration) []int16 {
	pcm := make([]int16, audio.Samples(d))
	for i := range pcm {
		pcm[i] = int16(12000 * math.Sin(2*math.Pi*440*float64(i)/audio.Rate))
	}
	return pcm
}

// largestStep is between two frames of the log that sounded one after the other. Where the machine stood still for longer than the
// card holds is another matter, and so is how it goes on from there.
func (r *rewound) largestStep() (step int) {
	last, ok, skip := int16(0), false, 0
	for _, span := range r.log.Spans {
		if span.Kind != alsacard.Played {
			ok, skip = false, audio.CardRate/10
			continue
		}
		for _, x := range span.Samples {
			if skip--; skip > 0 {
				continue
			}
			if d := int(x) - int(last); ok && max(d, -d) > step {
				step = max(d, -d)
			}
			last, ok = x, true
		}
	}
	return step
}

// lates are how late the thread comes with each rewind: never, and 0, 1.5 and 4 ms more than a card's margin, in turn.
var lates = []time.Duration{0, 2500 * time.Microsecond}

// openLate opens a card whose thread is late.
func openLate(t *testing.T, late time.Duration, o alsacard.Options) *rewound {
	if calls := 0; late > 0 {
		t.Cleanup(audio.LateRewinds(func() time.Duration { calls++; return time.Duration(calls%3) * late }))
	}
	return openRewound(t, o)
}

func (r *rewound) late() uint64 { return r.str.Stats().Lates }

// A cut fades and does not click: no step is larger than the tone's own largest. What fell silent stays so until it may sound again.
func TestALSARewindDoesNotClick(t *testing.T) {
	for _, late := range lates {
		t.Run(fmt.Sprintf("late by %v", late), func(t *testing.T) {
			r := openLate(t, late, alsacard.Options{})
			if g := r.str.Granted(); !g.Rewinds() || g.Periods != 8 || g.Period != 240 {
				t.Fatalf("granted %+v; want 240 frames x 8 that are given back", g)
			}
			const own = 12000*2*math.Pi*440/audio.CardRate + 2 // 2: rounding
			r.play(tone(60 * time.Second))
			r.pass(200 * time.Millisecond)
			n, after, dry, last := cuts(50, 200), 0, 0, 0
			for i := range n {
				r.s.Hush()
				hushed := time.Now()
				r.pass(time.Duration(i%25) * time.Millisecond)
				again := time.Now()
				r.s.Unhush()
				r.pass(30*time.Millisecond + time.Duration(i)*100*time.Microsecond)
				late, now := r.log.AfterSilence(hushed, again, audio.CardRate/1000), r.card.Stats().Underruns
				if now == dry { // since before the last cut: what goes on after an underrun is faded in a silence, too
					after += late
				}
				dry, last = last, now
			}
			r.s.Drop()
			r.pass(60 * time.Millisecond)
			step := r.largestStep()
			t.Logf("%d cuts, the largest step %d, the tone's own %.0f; %d frames after a silence; late %d times, %d underruns",
				n, step, own, after, r.late(), r.card.Stats().Underruns)
			if float64(step) > own {
				t.Errorf("the largest step is %d; the tone's own is %.0f", step, own)
			}
			if after > 0 {
				t.Errorf("%d frames sound between a silence and its end", after)
			}
			if late > 0 && r.late() < uint64(n/4) {
				t.Errorf("late %d times: this proves nothing", r.late())
			}
		})
	}
}

// cuts is how many of each kind are tried: more by make test-audio, where time does not matter.
func cuts(usual, all int) int {
	if os.Getenv("CONCH_TEST_AUDIO") != "" {
		return all
	}
	return usual
}

// A glitch costs no sample: the recording is the one without it, cut apart by the dips, and no sample is missing or heard twice.
// That is so too where the thread comes late, and finds played what should not have been any more.
func TestALSAGlitchCostsNoSample(t *testing.T) {
	for _, late := range lates {
		t.Run(fmt.Sprintf("late by %v", late), func(t *testing.T) {
			r := openLate(t, late, alsacard.Options{Silence: true})
			n := cuts(40, 200)
			pcm := noise(audio.Samples(time.Duration(n)*80*time.Millisecond), 5)
			src := r.play(pcm)
			r.pass(200 * time.Millisecond)
			dips := []int{1, 5, 10, 20}
			for i := range n {
				r.s.Hush()
				r.pass(time.Duration(dips[i%len(dips)]) * time.Millisecond)
				r.s.Unhush()
				r.pass(30*time.Millisecond + time.Duration(i*37%50)*100*time.Microsecond)
			}
			src.Cut()
			await(t, "silence", 5*time.Second, func() bool { _, ok := src.Silenced(); return ok })
			heard := src.Heard()
			r.pass(60 * time.Millisecond)
			a := accounted(r.log.Samples(), pcm, 2*time.Millisecond)
			t.Logf("%d glitches, %d pauses, %d samples missing, %d twice; heard %d, as is said %d; late %d times, %d underruns",
				n, a.pauses, a.missing, a.twice, a.last, heard, r.late(), r.card.Stats().Underruns)
			if most := r.card.Stats().Underruns * audio.RewindStep; a.missing > most || a.twice > most { // nobody keeps those that a card runs dry on
				t.Error(a.first)
			}
			if a.pauses < n/2 {
				t.Errorf("%d pauses: this proves nothing", a.pauses)
			}
			if d := heard - a.last; d > 2 || d < -2 {
				t.Errorf("%d samples are said to have been heard, the card played %d", heard, a.last)
			}
		})
	}
}

// What is said to have been heard is what the card has played at full level, within a millisecond.
func TestALSAHeardIsWhatTheCardPlayed(t *testing.T) {
	for _, late := range lates {
		t.Run(fmt.Sprintf("late by %v", late), func(t *testing.T) {
			r := openLate(t, late, alsacard.Options{Silence: true})
			n, worst := cuts(20, 200), 0
			for cut := range n {
				pcm := noise(audio.Samples(time.Second), cut)
				src := r.play(pcm)
				from := time.Now()
				r.pass(100*time.Millisecond + time.Duration(cut*37%200)*100*time.Microsecond)
				r.s.Drop()
				await(t, "silence", 5*time.Second, func() bool { _, ok := src.Silenced(); return ok })
				heard := src.Heard()
				r.pass(50 * time.Millisecond)
				played := accounted(r.log.Since(from), pcm, 2*time.Millisecond).last
				if d := heard - played; max(d, -d) > worst {
					worst = max(d, -d)
					if worst > audio.Rate/1000 {
						t.Errorf("cut %d: %d samples are said to have been heard, the card played %d", cut, heard, played)
					}
				}
			}
			t.Logf("%d cuts, told and played differ by %d samples at most (%v); late %d times, %d underruns",
				n, worst, audio.CardDuration(2*worst), r.late(), r.card.Stats().Underruns)
		})
	}
}

// Cards do not give back in many ways. Each is found out in silence and opened with a short buffer, which is said once, or is
// rewound with more of a margin; none crashes or clicks, and none goes on longer than a card that was never asked.
func TestALSACardsThatDoNotGiveBack(t *testing.T) {
	for _, row := range []struct {
		name string
		o    alsacard.Options
		said string // why
	}{
		{"refuses", alsacard.Options{Rewind: alsacard.RewindNone}, ": 0 % of"},
		{"lies", alsacard.Options{Rewind: alsacard.RewindLies}, "input/output error"},
		{"forbids", alsacard.Options{Rewind: alsacard.RewindError}, "operation not permitted"},
		{"gives none", alsacard.Options{Rewind: alsacard.RewindZero}, ": 0 % of"},
		{"gives half", alsacard.Options{Rewind: alsacard.RewindHalf}, ": 50 % of"},
		{"has copied a period", alsacard.Options{Batch: true}, ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			logged := &lines{}
			row.o.Silence = true
			r := openRewoundOn(t, row.o, slog.New(slog.NewTextHandler(logged, nil)))
			g := r.str.Granted()
			bound := g.Bound(2 * time.Millisecond)
			if old := 22 * time.Millisecond; bound > old || r.s.HardDrops() {
				t.Errorf("granted %+v: silent within %v, cut hard: %v; want no more than %v by a fade", g, bound, r.s.HardDrops(), old)
			}
			if row.said == "" && (g.Margin != 48+240 || g.Periods != 8) {
				t.Errorf("granted %+v; want 8 periods, of which all but one more than usual are given back", g)
			}
			if row.said != "" && (g.Rewinds() || g.Periods != 3 || !strings.Contains(g.Kept, row.said)) {
				t.Errorf("granted %+v; want 3 periods, which stay because of %q", g, row.said)
			}
			if n := strings.Count(logged.String(), "msg=audio.no_rewind"); (n == 1) != (row.said != "") || n > 1 || row.said != "" && !strings.Contains(logged.String(), row.said) {
				t.Errorf("it is said %d times: %s", n, logged)
			}
			const own = 12000*2*math.Pi*440/audio.CardRate + 2
			step := r.cuts(t)
			// A thread that is late by more than the millisecond of margin changes what such a card has copied already, and nobody can
			// know. That is chance; a margin that is too short is seen in each try.
			for try := 1; row.o.Batch && float64(step) > own && try < 3; try++ {
				step = openRewoundOn(t, row.o, slog.New(slog.DiscardHandler)).cuts(t)
			}
			if float64(step) > own {
				t.Errorf("a step of %d; the tone's own largest is %.0f", step, own)
			}
		})
	}
}

// cuts hushes a tone twenty times, drops it, and returns the largest step that was heard.
func (r *rewound) cuts(t *testing.T) int {
	src, pcm := r.s.Open(audio.SourceSpeech, r.s.Generation()), tone(20*time.Second)
	src.Write(context.Background(), pcm)
	r.pass(200 * time.Millisecond)
	for i := range 20 {
		r.s.Hush()
		r.pass(10*time.Millisecond + time.Duration(i%7)*time.Millisecond)
		r.s.Unhush()
		r.pass(50*time.Millisecond + time.Duration(i)*300*time.Microsecond)
	}
	pressed := time.Now()
	r.s.Drop()
	r.pass(100 * time.Millisecond)
	last, _ := r.log.LastAudible(pressed, time.Time{}, 32)
	g, step := r.str.Granted(), r.largestStep()
	t.Logf("%d frames x %d, margin %d, bound %v; a drop was silent after %v; the largest step of 21 cuts %d",
		g.Period, g.Periods, g.Margin, g.Bound(2*time.Millisecond), last.Sub(pressed), step)
	return step
}

// lines is what was logged.
type lines struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// A card with large periods is not slow any more: what waits in it does not matter.
func TestALSAWithLargePeriodsIsNotSlow(t *testing.T) {
	r := openRewound(t, alsacard.Options{MinPeriod: 960})
	if g := r.str.Granted(); !g.Rewinds() || r.s.HardDrops() || g.Bound(2*time.Millisecond) > 25*time.Millisecond {
		t.Errorf("granted %+v, bound %v, cut hard: %v", g, g.Bound(2*time.Millisecond), r.s.HardDrops())
	}
}

// Nothing waits for the end of a period where the card can be rewound: with periods of 100 ms what is hushed is silent long before.
func TestALSAHushDoesNotWaitForAPeriod(t *testing.T) {
	r := openRewound(t, alsacard.Options{MinPeriod: 4800})
	if g := r.str.Granted(); !g.Rewinds() || g.Period < 4800 {
		t.Fatalf("granted %+v; want a card of long periods that gives back", g)
	}
	r.play(tone(30 * time.Second))
	soon := 0
	for i := range 8 { // the machine may stand still in some of them
		r.pass(250*time.Millisecond + time.Duration(i)*11*time.Millisecond)
		at := time.Now()
		r.s.Hush()
		r.pass(250 * time.Millisecond)
		last, ok := r.log.LastAudible(at, at.Add(240*time.Millisecond), 0)
		if ok && last.Sub(at) < 40*time.Millisecond {
			soon++
		}
		r.s.Unhush()
	}
	if soon < 5 {
		t.Errorf("of 8 only %d were silent within less than half a period", soon)
	}
}

// Opened and closed again and again, whatever it plays or while it rests, nothing is left behind and nothing is used after its end.
func TestALSARewoundOpenClose(t *testing.T) {
	card := alsacard.Start(t, alsacard.Options{})
	m := newCard(t, "alsa")
	s := audio.NewSpeaker(audio.SpeakerConfig{})
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()
	defer func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	}()
	for i := range 60 {
		str, err := s.OpenOn(m, audio.StreamConfig{Device: card.Device()})
		if err != nil {
			t.Fatal(err)
		}
		mic, err := m.OpenCapture(audio.StreamConfig{Device: card.Device()}, func([]int16) {})
		if err != nil {
			t.Fatal(err)
		}
		if i%2 == 0 {
			s.Play(noise(audio.Rate/50, i), false, s.Generation())
		}
		<-time.After(time.Duration(i) * time.Millisecond) // every phase: opening, playing, resting
		closed := make(chan error, 1)
		go func() { closed <- mic.Close() }()
		if err := str.Close(); err != nil {
			t.Error(err)
		}
		if err := <-closed; err != nil {
			t.Error(err)
		}
		str.Stats()
	}
}

// The thread wakes at each end of a period, also when it has taken something back in the middle of one: else a press waits for two.
func TestALSARewoundWakesOncePerPeriod(t *testing.T) {
	r := openRewound(t, alsacard.Options{})
	r.play(tone(30 * time.Second))
	most := 0.0
	for i := range 12 { // the machine may stand still in some of them
		r.pass(time.Duration(i) * 400 * time.Microsecond)
		r.s.Hush()
		r.pass(10 * time.Millisecond)
		r.s.Unhush()
		r.pass(20 * time.Millisecond)
		calls, frames := r.str.Stats().Callbacks, r.card.Stats().PlayedFrames
		r.pass(200 * time.Millisecond)
		calls, frames = r.str.Stats().Callbacks-calls, r.card.Stats().PlayedFrames-frames
		most = max(most, float64(calls)*240/float64(frames))
	}
	if most < 0.8 || most > 1.2 {
		t.Errorf("%.2f callbacks a period; want one", most)
	}
}

// A process that stood still for longer than the card holds goes on, whether it played or rested.
func TestALSAGoesOnAfterAStandstill(t *testing.T) {
	r := openRewound(t, alsacard.Options{Silence: true})
	stand := func() {
		pid := os.Getpid()
		if err := exec.Command("sh", "-c", fmt.Sprintf("kill -STOP %d; sleep 0.2; kill -CONT %d", pid, pid)).Run(); err != nil {
			t.Fatal(err)
		}
	}
	for range 4 {
		r.pass(50 * time.Millisecond)
		stand() // at rest
	}
	src := r.play(tone(3 * time.Second))
	for range 4 {
		r.pass(200 * time.Millisecond)
		stand()
	}
	heard := src.Heard()
	r.pass(300 * time.Millisecond)
	if h := src.Heard(); h < heard+audio.Samples(200*time.Millisecond) {
		t.Errorf("heard %d samples, and 300 ms later %d", heard, h)
	}
	if s := r.card.Stats(); s.Underruns == 0 {
		t.Error("the card never ran dry: this proves nothing")
	} else if x := r.str.Stats().Xruns; x == 0 {
		t.Errorf("no xrun is counted; the card had %d", s.Underruns)
	}
}

// A card that stands still, and says nothing, is noticed: only what was written is a callback.
func TestALSAThatStandsStillIsNoticed(t *testing.T) {
	card := alsacard.Start(t, alsacard.Options{})
	m := newCard(t, "alsa")
	s := audio.NewSpeaker(audio.SpeakerConfig{})
	_, up, down := keepUp(t, card, func(sc audio.StreamConfig) (audio.Stream, error) { return s.OpenOn(m, sc) })
	if g := receive(t, "up", up); !g.Rewinds() {
		t.Fatalf("granted %+v; want a card that gives back", g)
	}
	s.Play(make([]int16, 20*audio.Rate), false, s.Generation())
	card.Halt()
	if err := receive(t, "down", down); !errors.Is(err, audio.ErrNoCallbacks) {
		t.Errorf("down with %v; want ErrNoCallbacks", err)
	}
	card.Replug()
	receive(t, "up again", up)
}
