package join

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
	"conch/device/language"
	"conch/device/wait"
)

// Sound is the code in the air (PAIRING.md, "What a person does").
//
//	Say    "Pairing." 4 8 2  9 1 5 ~~tones~~ ─> injected sound ─> speaker     about 8 s; a press ends it like everything else
//	Hear   microphone ─> Heard ─> tones.Decoder ─> code                       no turn: nothing of it reaches a voice
//
// It sits between the microphone and the voices, on the microphone's goroutine. An utterance of a turn passes it by and leaves
// its levels behind, for Quiet; an utterance that Hear has opened ends there.
type Sound struct {
	// fixed
	host     Host
	language language.Language
	now      func() time.Duration

	want  atomic.Pointer[listening] // nil: nobody listens for a code
	level levels
}

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
	ErrSilenced = errors.New("pairing: silenced by a press")
	ErrUnheard  = errors.New("pairing: no code was heard within a minute")
	ErrMuted    = errors.New("pairing: the microphone is switched off")
	ErrMicTaken = errors.New("pairing: a press has the microphone")
	ErrMicDead  = errors.New("pairing: the microphone delivers nothing; see that it is plugged in (conch audio test)")
	ErrNotSaid  = errors.New("pairing: the code could not be said: something else has sounded the whole time")
	ErrEnding   = errors.New("pairing: the device ends")
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
func codeSound(l language.Language, code string) ([]int16, error) {
	pcm, err := clips.Samples(l, "pair_code")
	if err != nil {
		return nil, err
	}
	rest := func(d time.Duration) { pcm = append(pcm, make([]int16, audio.Samples(d))...) }
	rest(afterWord)
	for i, digit := range code {
		clip, err := clips.Samples(l, "digit_"+string(digit))
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

// Say says the code and plays it as tones, once, when nothing else sounds (Host.Play).
func (s *Sound) Say(ctx context.Context, code string) error {
	pcm, err := codeSound(s.language, code)
	if err != nil {
		return err
	}
	return s.host.Play(ctx, pcm, codeTTL)
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

// Hear opens the microphone, without a turn, until a code was heard in tones; for a minute at most. A live turn keeps the
// microphone, and it waits; a press takes it (ErrMicTaken). It leaves the microphone as it was. While muted nothing is opened:
// ErrMuted.
func (s *Sound) Hear(ctx context.Context) (string, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, hearLimit, ErrUnheard)
	defer cancel()
	for losses := 0; losses < micLosses; {
		if s.host.Muted() {
			return "", ErrMuted
		}
		l := &listening{id: "code-" + rand.Text(), code: make(chan string, 1), ended: make(chan struct{}), decoder: tones.NewDecoder(audio.Rate)}
		opened, err := s.host.OpenMic(ctx, l.id, func() { s.want.Store(l) })
		if err != nil {
			s.close(l)
			return "", err
		}
		if !opened {
			if err := wait.For(ctx, busyPoll); err != nil {
				return "", context.Cause(ctx)
			}
			continue
		}
		code, err := s.await(ctx, l)
		if code != "" || err != nil {
			return code, err
		}
		if losses++; l.heard.Load() {
			losses = 0
		}
	}
	return "", ErrMicDead
}

// await waits for the code; neither a code nor an error: the microphone was lost.
func (s *Sound) await(ctx context.Context, l *listening) (string, error) {
	defer s.close(l)
	select {
	case code := <-l.code:
		return code, nil
	case <-ctx.Done():
		return "", context.Cause(ctx)
	case <-l.ended:
	}
	if l.taken.Load() {
		return "", ErrMicTaken
	}
	return "", nil
}

func (s *Sound) close(l *listening) {
	s.host.CloseMic(l.id)
	s.want.CompareAndSwap(l, nil)
}

// of is who listens for a code with the utterance of that id.
func (s *Sound) of(id string) *listening {
	if l := s.want.Load(); l != nil && l.id == id {
		return l
	}
	return nil
}

// Started, Heard and Lost are told what the microphone does, on its goroutine, and say whether the utterance is nobody else's
// business.
func (s *Sound) Started(id string) bool {
	if l := s.want.Load(); l != nil && l.id != id {
		l.taken.Store(true)
		l.end()
	}
	return s.of(id) != nil
}

// Heard: see Started.
func (s *Sound) Heard(id string, pcm []int16) bool {
	l := s.of(id)
	if l == nil {
		s.level.of(id, s.now(), pcm)
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

// Lost: see Started.
func (s *Sound) Lost(id string) bool {
	l := s.of(id)
	if l != nil {
		l.end()
	}
	return l != nil
}

// Quiet says that nobody spoke during the utterance of the press that has just ended: then a long hold is a gesture, and no
// long question. Where nothing was captured nobody was heard.
func (s *Sound) Quiet() bool { return s.level.quiet(s.now()) }

// String keeps a code that is being listened for out of every log.
func (l *listening) String() string { return fmt.Sprintf("listening %s", l.id) }
