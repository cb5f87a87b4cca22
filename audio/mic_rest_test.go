package audio_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"conch/audio"
	"conch/audio/twin"
)

// restfulMic keeps back pieces of a second while it rests, as malgo's gate does. Everything is on the test's goroutine.
type restfulMic struct {
	*twin.Card
	resting bool
	kept    []int16
	entered int
}

func (c *restfulMic) OpenCapture(conf audio.StreamConfig, take func([]int16)) (audio.Stream, error) {
	s, err := c.Card.OpenCapture(conf, func(in []int16) {
		c.kept = append(c.kept, in...)
		if c.resting && len(c.kept) < audio.CardFrames(time.Second) {
			return
		}
		c.entered++
		take(c.kept)
		c.kept = nil
	})
	return restfulMicStream{s, c}, err
}

type restfulMicStream struct {
	audio.Stream
	c *restfulMic
}

func (s restfulMicStream) Rest(on bool) { s.c.resting = on }

// At every phase of the period and of the rest: an utterance of a microphone that rests between them is that of one that
// does not, sample by sample and event by event, but for a period at its beginning: what was kept back was not forgotten, and
// is there to be taken up to the very edge.
func TestARestingMicrophoneHearsTheSame(t *testing.T) {
	story := func(phase int, preroll time.Duration, resting bool) (string, [][]int16, int) {
		r := newMicRig(t, preroll)
		var edge time.Duration
		card := &restfulMic{Card: twin.NewCard(twin.NewClock())}
		r.c, r.now = card.Card, card.Clock().Now
		r.m = audio.NewMic(audio.MicConfig{
			Preroll: preroll, Now: r.now,
			Sink: func(id string, pcm []int16) { r.heard[id] = append(r.heard[id], pcm...) },
			Started: func(id string) {
				r.say("started %s", id)
				if late := r.now() - edge; late > 20*time.Millisecond {
					t.Errorf("phase %d: %s started %v after the edge", phase, id, late)
				}
			},
			Ended: func(id string, c audio.Captured) {
				r.say("%v ended %s, all %v", r.now(), id, c.Samples == len(r.heard[id]))
			},
			Lost: func(id string) { r.say("lost %s", id) },
		})
		var err error
		if resting {
			_, err = r.m.OpenOn(card, audio.StreamConfig{})
		} else {
			_, err = card.Card.OpenCapture(audio.StreamConfig{}, r.m.Take)
		}
		if err != nil {
			t.Fatal(err)
		}
		r.c.AfterPeriod = func(time.Duration) { r.m.Poll() }
		r.c.Feed(noise(6*24000, 1))
		r.advance(time.Second + time.Duration(phase)*2*time.Millisecond)
		entered := card.entered
		utter := func(id string) {
			edge = r.now()
			r.advance(4 * time.Millisecond)
			r.m.Open(id, edge)
			r.advance(300 * time.Millisecond)
			if n := r.m.Held(r.now()); !near(n, 304*time.Millisecond) {
				t.Errorf("%s: held %d samples; want about %d", id, n, audio.Samples(304*time.Millisecond))
			}
			r.m.End(id, r.now(), 120*time.Millisecond)
			r.advance(200 * time.Millisecond)
		}
		utter("a")
		r.advance(700 * time.Millisecond)
		edge = r.now() // pressed, thrown away, and pressed again before a frame came
		r.m.Open("b", edge)
		r.m.Discard("b")
		utter("c")
		return fmt.Sprint(r.said), [][]int16{r.heard["a"], r.heard["b"], r.heard["c"]}, entered
	}
	for phase := range 40 {
		for _, preroll := range []time.Duration{0, 250 * time.Millisecond} {
			said, heard, _ := story(phase, preroll, false)
			said2, heard2, entered := story(phase, preroll, true)
			if said != said2 {
				t.Errorf("phase %d, pre-roll %v: told\n\t%s\nwithout a rest\n\t%s", phase, preroll, said2, said)
			}
			for i := range heard {
				const filter = 24 // samples in which it settles
				a, b := heard[i], heard2[i]
				n := min(len(a), len(b))
				if max(len(a), len(b)) > n+audio.Samples(10*time.Millisecond) || n > 0 && !slices.Equal(a[len(a)-n+filter:], b[len(b)-n+filter:]) {
					t.Errorf("phase %d, pre-roll %v: utterance %d has %d samples, without a rest %d, or others", phase, preroll, i, len(b), len(a))
				}
			}
			if entered > 3 {
				t.Errorf("phase %d: asked %d times in a second in which nobody listened; want none but until it rests", phase, entered)
			}
		}
		if t.Failed() {
			break
		}
	}
}

// Nobody looks at a microphone that rests: the callback forgets by itself, and keeps all that an utterance may begin with.
func TestARestingMicrophoneForgetsByItself(t *testing.T) {
	r := newMicRig(t, 0)
	card := &restfulMic{Card: twin.NewCard(twin.NewClock())}
	r.c, r.now = card.Card, card.Clock().Now
	r.m = audio.NewMic(audio.MicConfig{Preroll: audio.MaxPreroll, Now: r.now,
		Sink: func(id string, pcm []int16) { r.heard[id] = append(r.heard[id], pcm...) }})
	if _, err := r.m.OpenOn(card, audio.StreamConfig{}); err != nil {
		t.Fatal(err)
	}
	for !card.resting {
		r.advance(10 * time.Millisecond)
		r.m.Poll()
	}
	pcm := noise(24000*31, 1)
	r.c.Feed(pcm)
	r.c.Advance(30 * time.Second) // and no Poll
	edge := r.now()
	r.m.Open("a", edge)
	r.c.AfterPeriod = func(time.Duration) { r.m.Poll() }
	r.advance(500 * time.Millisecond)
	if n := r.m.Overruns(); n != 0 {
		t.Errorf("frames were lost %d times", n)
	}
	if got, want := len(r.heard["a"]), audio.Samples(audio.MaxPreroll+460*time.Millisecond); got < want {
		t.Errorf("heard %d samples; want %d, the pre-roll among them", got, want)
	}
}
