//go:build cgo

package audio_test

import (
	"context"
	"fmt"
	"math"
	"os"
	"os/exec"
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

func openRewound(t testing.TB, o alsacard.Options) *rewound {
	card := alsacard.Start(t, o)
	m := newCard(t, "alsa")
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

// largestStep is between two frames of the log that sounded one after the other.
func (r *rewound) largestStep() (step int) {
	last, ok := int16(0), false
	for _, span := range r.log.Spans {
		if span.Kind != alsacard.Played { // the machine stood still for longer than the card holds: that is another matter
			ok = false
			continue
		}
		for _, x := range span.Samples {
			if d := int(x) - int(last); ok && max(d, -d) > step {
				step = max(d, -d)
			}
			last, ok = x, true
		}
	}
	return step
}

// A cut fades and does not click: no step is larger than the tone's own largest.
func TestALSARewindDoesNotClick(t *testing.T) {
	r := openRewound(t, alsacard.Options{})
	if g := r.str.Granted(); !g.Rewinds() || g.Periods != 8 || g.Period != 240 {
		t.Fatalf("granted %+v; want 240 frames x 8 that are given back", g)
	}
	const own = 12000*2*math.Pi*440/audio.CardRate + 2 // 2: rounding
	r.play(tone(30 * time.Second))
	r.pass(200 * time.Millisecond)
	for i := range 60 {
		r.s.Hush()
		r.pass(time.Duration(i%25) * time.Millisecond)
		r.s.Unhush()
		r.pass(40*time.Millisecond + time.Duration(i)*100*time.Microsecond)
	}
	r.s.Drop()
	r.pass(60 * time.Millisecond)
	most := own
	if late := r.str.(interface{ Lates() uint64 }).Lates(); late > 0 { // what was played already had to be joined on to: two tones at once
		t.Logf("late %d times", late)
		most *= 2
	}
	if step := r.largestStep(); float64(step) > most {
		t.Errorf("the largest step is %d; the tone's own is %.0f", step, own)
	}
	if s := r.card.Stats(); s.Underruns > 0 {
		t.Logf("the card ran dry %d times", s.Underruns)
	}
}

// A glitch costs no sample: what was written is heard in order, cut apart by the dips, and nothing is missing but the fades.
func TestALSAGlitchCostsNoSample(t *testing.T) {
	r := openRewound(t, alsacard.Options{Silence: true})
	pcm := noise(audio.Samples(6*time.Second), 5)
	src := r.play(pcm)
	r.pass(200 * time.Millisecond)
	dips := 0
	for _, dip := range []int{1, 5, 10, 20} {
		for range 6 {
			r.s.Hush()
			r.pass(time.Duration(dip) * time.Millisecond)
			r.s.Unhush()
			r.pass(70 * time.Millisecond)
			dips++
		}
	}
	await(t, "the end", 20*time.Second, func() bool { return drained(src) })
	if src.Heard() != len(pcm) {
		t.Errorf("heard %d of %d", src.Heard(), len(pcm))
	}
	all := r.log.Samples()
	at := map[[4]int16]int{} // where in the log four samples stand
	for i := 0; i+6 < len(all); i++ {
		at[[4]int16{all[i], all[i+2], all[i+4], all[i+6]}] = i
	}
	missing, last := 0, -1
	for k := fadeSamples; k+4 < len(pcm)-fadeSamples; k++ {
		i, ok := at[[4]int16(pcm[k:k+4])]
		switch {
		case !ok:
			missing++
		case i <= last:
			t.Fatalf("sample %d sounds before the one it follows", k)
		default:
			last = i
		}
	}
	late := r.card.Stats().Underruns
	if most := (dips + late) * (fadeSamples + 8); missing > most {
		t.Errorf("%d samples are not heard at full level; want at most the fades of %d dips, %d", missing, dips, most)
	}
}

// What is said to have been heard is what the card has played at full level.
func TestALSAHeardIsWhatTheCardPlayed(t *testing.T) {
	r := openRewound(t, alsacard.Options{Silence: true})
	for cut := range 20 {
		pcm, lates := noise(audio.Samples(2*time.Second), cut), r.str.(interface{ Lates() uint64 }).Lates()
		src := r.play(pcm)
		from := time.Now()
		r.pass(150*time.Millisecond + time.Duration(cut)*700*time.Microsecond)
		r.s.Drop()
		await(t, "silence", 5*time.Second, func() bool { _, ok := src.Silenced(); return ok })
		heard := src.Heard()
		r.pass(60 * time.Millisecond)
		var all []int16
		for _, span := range r.log.Spans {
			if span.Kind == alsacard.Played && span.At.After(from) {
				all = append(all, span.Samples...)
			}
		}
		at := map[[4]int16]int{}
		for i := range len(pcm) - 4 {
			at[[4]int16(pcm[i:i+4])] = i + 4
		}
		played := 0
		for i := 0; i+6 < len(all); i++ {
			played = max(played, at[[4]int16{all[i], all[i+2], all[i+4], all[i+6]}])
		}
		if d := heard - played; d > audio.Rate/1000 || d < -audio.Rate/1000 && r.str.(interface{ Lates() uint64 }).Lates() == lates {
			t.Errorf("cut %d: %d samples are said to have been heard, the card played %d", cut, heard, played)
		}
	}
}

// A card that says that it gives frames back, and plays them, is found out in silence and opened with a short buffer.
func TestALSAThatOnlySaysSoIsFoundOut(t *testing.T) {
	r := openRewound(t, alsacard.Options{Stiff: true})
	if g := r.str.Granted(); g.Rewinds() || g.Periods != 3 {
		t.Errorf("granted %+v; want 3 periods, which stay", g)
	}
	r.play(tone(5 * time.Second))
	r.pass(200 * time.Millisecond)
	r.s.Drop()
	r.pass(100 * time.Millisecond)
	if step := r.largestStep(); step > 1000 {
		t.Errorf("a step of %d", step)
	}
}

// A card with large periods is not slow any more: what waits in it does not matter.
func TestALSAWithLargePeriodsIsNotSlow(t *testing.T) {
	r := openRewound(t, alsacard.Options{MinPeriod: 960})
	if g := r.str.Granted(); !g.Rewinds() || r.s.HardDrops() || g.Bound(2*time.Millisecond) > 25*time.Millisecond {
		t.Errorf("granted %+v, bound %v, cut hard: %v", g, g.Bound(2*time.Millisecond), r.s.HardDrops())
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
		str.Callbacks()
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
		calls, frames := r.str.Callbacks(), r.card.Stats().PlayedFrames
		r.pass(200 * time.Millisecond)
		calls, frames = r.str.Callbacks()-calls, r.card.Stats().PlayedFrames-frames
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
	} else if x := r.str.(xrunner).Xruns(); x == 0 {
		t.Errorf("no xrun is counted; the card had %d", s.Underruns)
	}
}
