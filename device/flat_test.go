package device

import (
	"sync/atomic"
	"testing"
	"time"

	"conch/audio"
	"conch/coordinator/turn"
	"conch/device/condition"
	"conch/device/config"
	"conch/device/control"
)

// otherwise is a card that says it is of another kind: a virtual one may be quiet, a real one never is.
type otherwise struct {
	audio.Card
	backend *atomic.Pointer[string]
}

type otherwiseStream struct {
	audio.Stream
	backend string
}

func (s otherwiseStream) Granted() audio.Granted {
	g := s.Stream.Granted()
	g.Backend = s.backend
	return g
}

func (c otherwise) OpenCapture(conf audio.StreamConfig, take func([]int16)) (audio.Stream, error) {
	s, err := c.Card.OpenCapture(conf, take)
	return otherwiseStream{s, *c.backend.Load()}, err
}

func claims(backend string) func(audio.Card) audio.Card {
	c := otherwise{backend: &atomic.Pointer[string]{}}
	c.backend.Store(&backend)
	return func(card audio.Card) audio.Card { c.Card = card; return c }
}

// A microphone that is switched off at its own switch delivers zeros, in time and for ever. Who holds the button and is not heard is
// told so, and nothing is sent, which would cost money and be answered with nonsense.
func TestAMicrophoneThatGivesNothingIsTold(t *testing.T) {
	t.Parallel()
	b := newBox(t, boxOptions{card: claims(audio.BackendALSA)})
	unheard := func() control.Turn {
		return b.nextTurn(func() {
			b.hand.Press()
			b.state(turn.Listening)
			b.pause(400 * time.Millisecond)
			b.hand.Release()
		})
	}
	b.failed(unheard(), turn.Failed, turn.WordsNoMicrophone)
	if l := b.recognizer.lengths(); len(l) != 0 {
		t.Errorf("the server heard %v; want nothing", l)
	}
	b.until("its microphone as a condition", func() bool { return b.holds(condition.SoundFlat) })
	b.card.Feed(whistle(300, 4800)) // somebody switches it on, and a door falls shut
	b.until("content with its microphone", func() bool { return !b.holds(condition.SoundFlat) })

	// One that needs a moment to wake up has heard what came then.
	r := b.nextTurn(func() {
		b.hand.Press()
		b.state(turn.Listening)
		b.card.Feed(append(make([]int16, audio.Samples(100*time.Millisecond)), whistle(300, audio.Samples(300*time.Millisecond))...))
		b.until("heard out", func() bool { return b.card.Fed() == 0 })
		b.pause(20 * time.Millisecond)
		b.hand.Release()
	})
	b.answered(r)
	b.failed(unheard(), turn.Failed, turn.WordsNoMicrophone)
	b.fine()
	if b.holds(condition.SoundFlat) {
		t.Error("the microphone gives sound, and the condition stays")
	}
}

// The null device is no microphone, whoever chose it; who types is answered.
func TestTheNullMicrophoneIsTold(t *testing.T) {
	t.Parallel()
	for _, backend := range []string{"auto", "null"} {
		b := newBox(t, boxOptions{card: claims(audio.BackendNull), config: func(c *config.Config) { c.Audio.Backend = backend }})
		r := b.nextTurn(func() {
			b.hand.Press()
			b.state(turn.Listening)
			b.pause(300 * time.Millisecond)
			b.hand.Release()
		})
		b.failed(r, turn.Failed, turn.WordsNoMicrophone)
		if l := b.recognizer.lengths(); len(l) != 0 {
			t.Errorf("%s: the server heard %v; want nothing", backend, l)
		}
		want, not := condition.SoundMicrophone, condition.SoundFlat
		if backend == "null" {
			want, not = not, want
		}
		b.until(string(want), func() bool { return b.holds(want) })
		if b.holds(not) {
			t.Errorf("%s: conditions %+v", backend, b.conds.List())
		}
		b.answered(b.ask("short"))
	}
}
