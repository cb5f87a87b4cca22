package audio_test

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"conch/audio"
	"conch/audio/twin"
)

// restful is a twin card that can rest: then it plays silence without asking, as malgo's does.
type restful struct {
	*twin.Card
	resting atomic.Bool
	rests   atomic.Int64
	asked   atomic.Uint64 // callbacks that reached the speaker
}

func (c *restful) OpenPlayback(conf audio.StreamConfig, render func([]int16)) (audio.Stream, error) {
	s, err := c.Card.OpenPlayback(conf, func(out []int16) {
		if c.resting.Load() {
			clear(out)
			return
		}
		c.asked.Add(1)
		render(out)
	})
	return restfulStream{s, c}, err
}

type restfulStream struct {
	audio.Stream
	c *restful
}

func (s restfulStream) Rest(on bool) {
	s.c.resting.Store(on)
	s.c.rests.Add(1)
}

// restRig is a speaker whose Run goroutine lives in a bubble beside a card moved by hand.
func restRig(t *testing.T) (*audio.Speaker, *restful, func(d time.Duration)) {
	card := &restful{Card: twin.NewCard(twin.NewClock())}
	full := 100
	s := audio.NewSpeaker(audio.SpeakerConfig{Now: card.Clock().Now, Volume: &full})
	go func() { _ = s.Run(t.Context()) }() // ends with the test's bubble
	str, err := s.OpenOn(card, audio.StreamConfig{})
	if err != nil {
		t.Fatal(err)
	}
	s.SetQueued(str.Granted().Queued())
	return s, card, func(d time.Duration) {
		for range int(d / (5 * time.Millisecond)) { // the card's time and the bubble's go together
			card.Advance(5 * time.Millisecond)
			time.Sleep(5 * time.Millisecond)
			synctest.Wait()
		}
	}
}

// While nothing can sound the speaker is not asked; what is opened then is heard whole, no later than without a rest, and
// a Drop is as quick.
func TestCardRestsWhileNothingSounds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, card, run := restRig(t)
		run(time.Second)
		if !card.resting.Load() {
			t.Fatal("the card does not rest although nothing was ever opened")
		}
		asked := card.asked.Load()
		run(time.Minute)
		if n := card.asked.Load() - asked; n != 0 {
			t.Errorf("%d callbacks in a minute of nothing; want 0", n)
		}

		pcm := noise(12000, 1)
		src := s.Open(audio.SourceSpeech, s.Generation())
		src.Write(t.Context(), pcm)
		src.Close()
		opened := card.Clock().Now()
		run(30 * time.Millisecond)
		if src.Heard() == 0 {
			t.Errorf("nothing is heard 30 ms after the source was opened at %v", opened)
		}
		run(time.Second)
		r := &rig{t: t, c: card.Card}
		if !drained(src) || src.Heard() != len(pcm) || find(r.mixed(), pcm[fadeSamples:len(pcm)-fadeSamples]) < 0 {
			t.Errorf("after a rest: drained %v, heard %d of %d, or the tape differs", drained(src), src.Heard(), len(pcm))
		}
		if !card.resting.Load() {
			t.Error("the card does not rest after the last sample")
		}
		if n := s.Stats().Abandoned; n != 0 {
			t.Errorf("%d sources given up: a rest was taken for a dead card", n)
		}

		src = s.Open(audio.SourceSpeech, s.Generation())
		src.Write(t.Context(), noise(24000, 2))
		run(300 * time.Millisecond)
		press := card.Clock().Now()
		s.Drop()
		run(300 * time.Millisecond)
		if silent := card.LastAudible(press) - press; silent > 23*time.Millisecond || silent <= 0 {
			t.Errorf("silent %v after the drop; want within 23 ms", silent)
		}
		if !card.resting.Load() {
			t.Error("the card does not rest after a drop")
		}
	})
}

// What stands still is no silence: hushed, paused or held, the card goes on asking, so that it can sound at once.
func TestCardDoesNotRestWhileSomethingMaySound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, card, run := restRig(t)
		run(time.Second)
		for name, still := range map[string]struct{ stop, on func(*audio.Source) }{
			"held":   {(*audio.Source).Hold, (*audio.Source).Release},
			"paused": {(*audio.Source).Pause, (*audio.Source).Resume},
			"hushed": {func(*audio.Source) { s.Hush() }, func(*audio.Source) { s.Unhush() }},
		} {
			src := s.Open(audio.SourceSpeech, s.Generation())
			still.stop(src)
			src.Write(t.Context(), noise(2400, 3))
			src.Close()
			run(10 * time.Second)
			if card.resting.Load() || drained(src) {
				t.Errorf("%s: resting %v, drained %v; want false, false", name, card.resting.Load(), drained(src))
			}
			still.on(src)
			run(500 * time.Millisecond)
			if src.Heard() != 2400 || !drained(src) || !card.resting.Load() {
				t.Errorf("%s, gone on: heard %d, drained %v, resting %v", name, src.Heard(), drained(src), card.resting.Load())
			}
		}
	})
}

// A card that stands still, comes back, or is another one: it rests once it has been silent, and not before.
func TestRestAfterTheCardCameBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, card, run := restRig(t)
		run(time.Second)
		src := s.Open(audio.SourceSpeech, s.Generation())
		src.Write(t.Context(), noise(24000, 4))
		run(200 * time.Millisecond)
		card.Unplug()
		s.Drop()
		run(10 * time.Second)
		if card.resting.Load() {
			t.Error("told to rest although it stands still")
		}
		card.Replug()
		if _, err := s.OpenOn(card, audio.StreamConfig{}); err != nil {
			t.Fatal(err)
		}
		run(500 * time.Millisecond)
		if !card.resting.Load() {
			t.Error("the card that came back does not rest")
		}
		src = s.Open(audio.SourceSpeech, s.Generation())
		src.Write(t.Context(), noise(2400, 5))
		src.Close()
		run(500 * time.Millisecond)
		if src.Heard() != 2400 {
			t.Errorf("heard %d of 2400", src.Heard())
		}
	})
}
