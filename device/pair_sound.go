package device

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"conch/audio"
	"conch/audio/tones"
	clips "conch/audio/words"
	"conch/coordinator"
	"conch/coordinator/turn"
	"conch/device/sound"
	"conch/device/wait"
)

// The code in the air (PAIRING.md, "What a person does").
//
//	speakCode   "Pairing." 4 8 2  9 1 5 ~~tones~~ ─> injected sound ─> speaker     about 8 s; a press ends it like everything else
//	hearCode    microphone ─> tap ─> tones.Decoder ─> code                         no turn: nothing of it reaches a voice
//
// tap sits between the microphone and the voices, on the microphone's goroutine. An utterance of a turn passes it by and leaves
// its levels behind, for heldInSilence; an utterance that hearCode has opened ends there.

// Bounds. Our choices, but the minute, which is pairing's.
const (
	hearLimit  = 60 * time.Second
	codeTTL    = 30 * time.Second      // a turn is not talked over; a code that waited longer is said by the next repetition
	busyPoll   = 50 * time.Millisecond // while a turn has the microphone
	micLosses  = 5                     // in a row, each half a second, before there is no microphone
	staleLevel = time.Second           // levels end with the press that they are of
)

// What became of a code. ctx's own errors are returned as they are.
var (
	errSilenced     = errors.New("pairing: silenced by a press")
	errCodeUnheard  = errors.New("pairing: no code was heard within a minute")
	errMicTaken     = errors.New("pairing: a press has the microphone")
	errMicDead      = errors.New("pairing: the microphone delivers nothing; see that it is plugged in (conch audio test)")
	errCodeNotSaid  = errors.New("pairing: the code could not be said: something else has sounded the whole time")
	errDeviceEnding = errors.New("pairing: the device ends")
)

// pauses of a spoken code: after "pairing", between digits, between the two halves, before the tones.
const (
	afterWord  = 300 * time.Millisecond
	afterDigit = 100 * time.Millisecond
	afterHalf  = 350 * time.Millisecond
	beforeTone = 350 * time.Millisecond
)

// toneGain brings the tones down to the loudness of the voice before them.
const toneGain = 0.5

// codeSound is the code as it is said: in words for people, then for the other device.
func codeSound(code string) ([]int16, error) {
	pcm, err := clips.Samples("pair_code")
	if err != nil {
		return nil, err
	}
	rest := func(d time.Duration) { pcm = append(pcm, make([]int16, audio.Samples(d))...) }
	rest(afterWord)
	for i, digit := range code {
		clip, err := clips.Samples("digit_" + string(digit))
		if err != nil {
			return nil, errors.New("pairing: a code is six digits") // the code itself is nobody's business
		}
		pcm = append(pcm, clip...)
		if i == tones.Digits/2-1 {
			rest(afterHalf)
		} else {
			rest(afterDigit)
		}
	}
	rest(beforeTone)
	sound := tones.Encode(code, audio.Rate)
	if sound == nil {
		return nil, errors.New("pairing: a code is six digits")
	}
	audio.Scale(sound, toneGain)
	return append(pcm, sound...), nil
}

// speakCode says the code and plays it as tones, once, when nothing else sounds. It returns when the last tone has sounded, when a
// press has ended it (errSilenced), or when ctx ends: then what sounds of it is cut, and nothing else is.
func (d *Device) speakCode(ctx context.Context, code string) error {
	pcm, err := codeSound(code)
	if err != nil {
		return err
	}
	how := <-d.coordinator.InjectSound(ctx, pcm, "pairing.code", codeTTL)
	switch {
	case how == coordinator.OutcomeDelivered:
		return nil
	case ctx.Err() != nil:
		return ctx.Err()
	case how == coordinator.OutcomeInterrupted:
		return errSilenced
	case how == coordinator.OutcomeFailed:
		return errDeviceEnding
	}
	return errCodeNotSaid
}

// listening is one wait for a code.
type listening struct {
	// fixed
	id    string
	code  chan string   // of one place
	ended chan struct{} // the microphone has let go: lost, or taken by a press

	decoder *tones.Decoder // owned by the microphone's goroutine
	heard   atomic.Bool    // frames have come
	taken   atomic.Bool    // by a press
	over    atomic.Bool    // ended is closed
}

func (l *listening) end() {
	if !l.over.Swap(true) {
		close(l.ended)
	}
}

// hearCode opens the microphone, without a turn, until a code was heard in tones; for a minute at most. A live turn keeps the
// microphone, and it waits; a press takes it (errMicTaken). It leaves the microphone as it was. While muted nothing is opened:
// sound.ErrMuted.
func (d *Device) hearCode(ctx context.Context) (string, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, hearLimit, errCodeUnheard)
	defer cancel()
	for losses := 0; losses < micLosses; {
		if d.sound.Mic.Muted() || d.sound.WishMuted() {
			return "", sound.ErrMuted
		}
		l := &listening{id: "code-" + rand.Text(), code: make(chan string, 1), ended: make(chan struct{}), decoder: tones.NewDecoder(audio.Rate)}
		opened, err := d.openEar(ctx, l)
		if err != nil {
			return "", err
		}
		if !opened {
			if err := wait.For(ctx, busyPoll); err != nil {
				return "", context.Cause(ctx)
			}
			continue
		}
		code, err := d.awaitCode(ctx, l)
		if code != "" || err != nil {
			return code, err
		}
		if losses++; l.heard.Load() {
			losses = 0
		}
	}
	return "", errMicDead
}

// openEar opens the microphone for l unless a turn is live. It asks on the coordinator's own goroutine, so that no turn can begin
// in between.
func (d *Device) openEar(ctx context.Context, l *listening) (bool, error) {
	opened := make(chan bool, 1)
	if !d.coordinator.Call(func() {
		switch d.coordinator.State() {
		case turn.Idle, turn.Interrupted:
		default:
			opened <- false
			return
		}
		if ctx.Err() != nil {
			opened <- false
			return
		}
		d.tap.want.Store(l)
		d.sound.Mic.Open(l.id, d.now())
		opened <- true
	}) {
		return false, errDeviceEnding
	}
	select {
	case ok := <-opened:
		return ok, nil
	case <-ctx.Done():
		d.closeEar(l) // it may have been opened in this very moment, or will find ctx ended
		return false, context.Cause(ctx)
	}
}

// awaitCode waits for the code; neither a code nor an error: the microphone was lost.
func (d *Device) awaitCode(ctx context.Context, l *listening) (string, error) {
	defer d.closeEar(l)
	select {
	case code := <-l.code:
		return code, nil
	case <-ctx.Done():
		return "", context.Cause(ctx)
	case <-l.ended:
	}
	if l.taken.Load() {
		return "", errMicTaken
	}
	return "", nil
}

func (d *Device) closeEar(l *listening) {
	d.sound.Mic.Discard(l.id)
	d.tap.want.CompareAndSwap(l, nil)
}

// tap is what is between the microphone and the voices. Its methods but quiet are called on the microphone's goroutine, and say
// whether the utterance is nobody else's business.
type tap struct {
	want  atomic.Pointer[listening] // nil: nobody listens for a code
	level levels
}

// of is who listens for a code with the utterance of that id.
func (t *tap) of(id string) *listening {
	if l := t.want.Load(); l != nil && l.id == id {
		return l
	}
	return nil
}

func (t *tap) started(id string) bool {
	if l := t.want.Load(); l != nil && l.id != id {
		l.taken.Store(true)
		l.end()
	}
	return t.of(id) != nil
}

func (t *tap) heard(id string, now time.Duration, pcm []int16) bool {
	l := t.of(id)
	if l == nil {
		t.level.of(id, now, pcm)
		return false
	}
	l.heard.Store(true)
	if code, ok := l.decoder.Feed(pcm); ok {
		select {
		case l.code <- code:
		default: // the one before has not been looked at yet
		}
	}
	return true
}

func (t *tap) lost(id string) bool {
	l := t.of(id)
	if l != nil {
		l.end()
	}
	return l != nil
}

// heldInSilence says that nobody spoke during the utterance of the press that has just ended: then a long hold is a gesture, and no
// long question. Where nothing was captured nobody was heard.
func (d *Device) heldInSilence() bool { return d.tap.level.quiet(d.now()) }

// String keeps a code that is being listened for out of every log.
func (l *listening) String() string { return fmt.Sprintf("listening %s", l.id) }
