package device

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"conch/audio"
	"conch/audio/tones"
	clips "conch/audio/words"
	"conch/coordinator/turn"
	"conch/device/join"
	"conch/device/language"
)

const someCode = "482915"

// otherRoom is what a microphone gets of frames (CardRate) that a loudspeaker plays elsewhere in the room: the direct sound, 300
// reflections that die away in rt60, and noise of db below it; as samples of Rate, with a second of noise behind.
func otherRoom(frames []int16, rt60, db float64, seed uint64) []int16 {
	r := rand.New(rand.NewPCG(seed, seed))
	x := audio.Downsample(frames)
	x = append(x, make([]int16, audio.Rate)...)
	y := make([]float64, len(x))
	add := func(late int, gain float64) {
		for i := late; i < len(y); i++ {
			y[i] += gain * float64(x[i-late])
		}
	}
	add(0, 1)
	for range 300 {
		late := r.Float64() * rt60
		gain := math.Exp(-6.91*late/rt60) / 5
		if r.IntN(2) == 0 {
			gain = -gain
		}
		add(int(late*audio.Rate), gain)
	}
	sum, n := 0.0, 0
	for _, v := range y {
		if v != 0 {
			sum += v * v
			n++
		}
	}
	rms := math.Sqrt(sum/float64(max(1, n))) / 4 // the person who set the microphone's gain was far away
	out := make([]int16, len(y))
	for i, v := range y {
		out[i] = int16(math.Max(-32768, math.Min(32767, v/4+rms*math.Pow(10, -db/20)*r.NormFloat64())))
	}
	return out
}

// hearing waits until b's microphone is open for a code, and no turn has it.
func (b *box) hearing() {
	b.t.Helper()
	b.until("listening for a code", func() bool { return b.coordinator.State() == turn.Idle && b.sound.Mic.Poll() })
	b.pause(50 * time.Millisecond) // a frame or two
}

// hear runs hearCode.
func (b *box) hear(ctx context.Context) <-chan heardCode {
	out := make(chan heardCode, 1)
	go func() {
		code, err := b.pairing.Sound.Hear(ctx)
		out <- heardCode{code, err}
	}()
	return out
}

// codeTones is a code as the other device hears it, with silence behind.
func codeTones(code string) []int16 {
	pcm := tones.Encode(code, audio.Rate)
	audio.Scale(pcm, 0.5)
	return append(pcm, make([]int16, audio.Rate)...)
}

type heardCode struct {
	code string
	err  error
}

func (b *box) wantHeard(out <-chan heardCode, code string, err error) {
	b.t.Helper()
	select {
	case got := <-out:
		if got.code != code || !errors.Is(got.err, err) {
			b.t.Errorf("heard %q, %v; want %q, %v", got.code, got.err, code, err)
		}
	case <-time.After(patience):
		b.t.Fatal("hearCode has not ended")
	}
	b.until("no longer listening", func() bool { return !b.sound.Mic.Poll() })
}

// One device says its code, the other one hears it: with an echo of 0.6 s and noise 5 dB below. Nothing of it is a turn.
func TestACodeGoesFromOneDeviceToAnother(t *testing.T) {
	t.Parallel()
	a, b := newBox(t, boxOptions{}), newBox(t, boxOptions{})
	from := a.card.Clock().Now()
	if err := a.pairing.Sound.Say(t.Context(), someCode); err != nil {
		t.Fatal(err)
	}
	frames := a.card.Between(from, a.card.Clock().Now())
	heard := b.hear(t.Context())
	b.hearing()
	b.card.Feed(otherRoom(frames, 0.6, 5, 1))
	b.wantHeard(heard, someCode, nil)
	b.card.Hush()
	if n := len(b.recognizer.lengths()); n != 0 {
		t.Errorf("the voice was given %d utterances", n)
	}
	b.fine() // and the microphone is as it was
}

// A press ends the code for good, within the time it ends everything.
func TestAPressSilencesTheCode(t *testing.T) {
	t.Parallel()
	b := newBox(t, boxOptions{})
	done := make(chan error, 1)
	go func() { done <- b.pairing.Sound.Say(t.Context(), someCode) }()
	b.until("saying it", b.audible)
	b.pause(700 * time.Millisecond)
	pressed := b.card.Clock().Now()
	b.hand.Press()
	if err := <-done; !errors.Is(err, join.ErrSilenced) {
		t.Errorf("speakCode = %v; want %v", err, join.ErrSilenced)
	}
	b.state(turn.Listening)
	b.until("silent", func() bool { return !b.audible() })
	if last := b.card.LastAudible(pressed); last > pressed+3*time.Second { // there was twice as much to come; the bound itself is bench's
		t.Errorf("it sounded for %v after the press", last-pressed)
	}
	b.nextTurn(b.hand.Release)
}

// Taken back it is cut; a turn that is live is not talked over.
func TestTheCodeWaitsForATurnAndIsTakenBack(t *testing.T) {
	t.Parallel()
	b := newBox(t, boxOptions{})
	b.hand.Press()
	b.state(turn.Listening)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- b.pairing.Sound.Say(ctx, someCode) }()
	b.pause(300 * time.Millisecond)
	if b.audible() {
		t.Error("it sounds while a person speaks")
	}
	b.nextTurn(func() {
		b.card.Feed(whistle(300, audio.Rate/2))
		b.until("heard out", func() bool { return b.card.Fed() == 0 })
		b.hand.Release()
		b.until("at the end of the turn", func() bool { return len(b.turnsEnded()) == 1 })
		b.until("saying it", b.audible)
		cancel()
	})
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("speakCode = %v; want %v", err, context.Canceled)
	}
	b.quiet()
}

func TestNoCodeIsHeardWhileMutedNorTwiceNorForever(t *testing.T) {
	t.Parallel()
	b := newBox(t, boxOptions{})
	if err := b.sound.SetMuted(true); err != nil {
		t.Fatal(err)
	}
	b.wantHeard(b.hear(t.Context()), "", join.ErrMuted)
	if b.card.Capturing() {
		t.Error("the microphone was opened, though it is off")
	}
	if err := b.sound.SetMuted(false); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	heard := b.hear(ctx)
	b.hearing()
	cancel()
	b.wantHeard(heard, "", context.Canceled)

	heard = b.hear(t.Context())
	b.hearing()
	if err := b.sound.SetMuted(true); err != nil { // in the midst of it
		t.Fatal(err)
	}
	b.wantHeard(heard, "", join.ErrMuted)
	if err := b.sound.SetMuted(false); err != nil {
		t.Fatal(err)
	}
	b.until("capturing", b.card.Capturing)
	limit, stop := context.WithTimeoutCause(t.Context(), 200*time.Millisecond, join.ErrUnheard)
	defer stop()
	b.wantHeard(b.hear(limit), "", join.ErrUnheard)
	b.fine()
}

// A press has the microphone at once, and its question is answered; while a turn has it, listening waits.
func TestAPressTakesTheMicrophoneFromListening(t *testing.T) {
	t.Parallel()
	b := newBox(t, boxOptions{})
	heard := b.hear(t.Context())
	b.hearing()
	b.answered(b.say(400 * time.Millisecond))
	b.wantHeard(heard, "", join.ErrMicTaken)

	b.hand.Press()
	b.state(turn.Listening)
	heard = b.hear(t.Context())
	b.pause(300 * time.Millisecond)
	if opened, err := (pairingHost{b.Device}).OpenMic(t.Context(), "code", func() { t.Error("it is to open") }); opened || err != nil {
		t.Errorf("opened: %v, %v; want it to be the person's who speaks", opened, err)
	}
	b.nextTurn(b.hand.Release)
	b.hearing()
	b.card.Feed(codeTones(someCode))
	b.wantHeard(heard, someCode, nil)
	b.card.Hush()
	b.fine()
}

func TestListeningWithoutAMicrophoneEnds(t *testing.T) {
	t.Parallel()
	b := newBox(t, boxOptions{})
	heard := b.hear(t.Context())
	b.hearing()
	b.card.Unplug()
	b.wantHeard(heard, "", join.ErrMicDead)
	b.card.Replug()
	b.until("back", func() bool { return b.card.Capturing() && !b.holds("sound.microphone") && !b.holds("sound.speaker") })
	b.fine()
}

// Whether somebody spoke while the button was down, from the microphone of a device.
func TestHeldInSilence(t *testing.T) {
	t.Parallel()
	b := newBox(t, boxOptions{})
	said, err := clips.Samples(language.English, "offline")
	if err != nil {
		t.Fatal(err)
	}
	hold := func(sound []int16) bool {
		b.hand.Press()
		b.state(turn.Listening)
		b.card.Feed(sound)
		b.until("heard out", func() bool { return b.card.Fed() == 0 })
		b.pause(50 * time.Millisecond)
		held := b.pairing.Sound.Quiet()
		b.nextTurn(b.hand.Release)
		return held
	}
	if hold(said) {
		t.Error("a sentence was taken for silence")
	}
	if !hold(make([]int16, 2*audio.Rate)) {
		t.Error("silence was taken for a sentence")
	}
}

// The same over a sound server: one device plays into a sink, another one records from a source.
func TestACodeGoesOverPulseAudio(t *testing.T) {
	if !alone(t) {
		return
	}
	air := newPulseAir(t)
	a, b := newRoom(t, air), newRoom(t, air)
	heard := make(chan heardCode, 1)
	go func() {
		code, err := b.device.pairing.Sound.Hear(t.Context())
		heard <- heardCode{code, err}
	}()
	b.wait("listening for a code", stateLimit, func() bool {
		return b.device.sound.Mic.Poll()
	})
	for range 3 { // a device sings its code again and again; a starved sound server leaves gaps, in what is recorded, too
		began := time.Now()
		if err := a.device.pairing.Sound.Say(t.Context(), someCode); err != nil {
			t.Fatal(err)
		}
		frames := a.recorded(began, time.Now())
		if err := air.say(audio.Upsample(otherRoom(frames[max(0, len(frames)-4*audio.CardRate):], 0.6, 5, 2))); err != nil { // the tones
			t.Fatal(err)
		}
		select {
		case got := <-heard:
			if got.code != someCode || got.err != nil {
				t.Errorf("heard %q, %v; want %q", got.code, got.err, someCode)
			}
			return
		case <-time.After(5 * time.Second):
		}
	}
	t.Error("nothing was heard")
}
