package audio_test

import (
	"testing"
	"time"

	"conch/audio"
)

// slowStream is a card that grants 60 ms and more, and can be emptied. Its time is the test's.
type slowStream struct {
	audio.Stream
	backend string
	flushes []func() // emptied, of each Flush
}

func (s *slowStream) Granted() audio.Granted {
	return audio.Granted{Backend: s.backend, Rate: audio.CardRate, Period: 960, Periods: 3}
}
func (s *slowStream) Flush(emptied func()) { s.flushes = append(s.flushes, emptied) }

// slowCard is where it is opened.
type slowCard struct {
	stream slowStream
	render func([]int16)
}

func (c *slowCard) OpenPlayback(_ audio.StreamConfig, render func([]int16)) (audio.Stream, error) {
	c.render = render
	return &c.stream, nil
}
func (*slowCard) OpenCapture(audio.StreamConfig, func([]int16)) (audio.Stream, error) {
	return nil, audio.ErrNoCallbacks
}
func (*slowCard) Better(audio.Granted) bool { return false }
func (*slowCard) Spent() bool               { return false }

// What was thrown away did not sound: neither the speaker's nor the source's account may say that it did. Before the card is
// empty nobody knows.
func TestHardDropIsAccountedFor(t *testing.T) {
	const fade = 3 * time.Millisecond
	for _, faded := range []bool{false, true} { // the callback saw the drop before the card was emptied, or after
		now := time.Second
		speaker := audio.NewSpeaker(audio.SpeakerConfig{Now: func() time.Duration { return now }, Fade: fade, Prime: time.Millisecond})
		card := &slowCard{stream: slowStream{backend: audio.BackendALSA}}
		s, err := speaker.OpenOn(card, audio.StreamConfig{})
		if err != nil {
			t.Fatal(err)
		}
		speaker.SetQueued(s.Granted().Queued())
		src := speaker.Open(audio.SourceSpeech, speaker.Generation())
		tone := make([]int16, audio.Rate)
		for i := range tone {
			tone[i] = 8000
		}
		src.Write(t.Context(), tone)
		callback := func() { card.render(make([]int16, 960)) }
		for range 5 {
			callback()
			now += 20 * time.Millisecond
			speaker.Watch()
		}
		if len(card.stream.flushes) != 0 {
			t.Fatal("the card was emptied while it played")
		}
		pressed := now
		speaker.Drop()
		if faded {
			callback()
		}
		now += 4 * time.Millisecond
		speaker.Watch()
		if len(card.stream.flushes) != 1 {
			t.Fatalf("a drop empties the card %d times", len(card.stream.flushes))
		}
		if at, ok := src.Silenced(); ok {
			t.Errorf("faded=%v: silent after %v, though the card is not empty yet", faded, at-pressed)
		}
		now += time.Millisecond
		card.stream.flushes[0]()
		callback() // what the card asks for at once, when it begins again
		callback()
		speaker.Watch()
		if at := speaker.LastAudible(); at < pressed || at > now+fade {
			t.Errorf("faded=%v: last audible %v after the press; the card was emptied after 5 ms", faded, at-pressed)
		}
		now += fade
		if at, ok := src.Silenced(); !ok || at < pressed || at > pressed+5*time.Millisecond+fade {
			t.Errorf("faded=%v: the source was silent %v (%v) after the press; the card was emptied after 5 ms", faded, at-pressed, ok)
		}
		if len(card.stream.flushes) != 1 {
			t.Errorf("one drop empties the card %d times", len(card.stream.flushes))
		}
		// What sounds next has the card's whole buffer before it again.
		next := speaker.Open(audio.SourceSpeech, speaker.Generation())
		next.Write(t.Context(), tone)
		callback()
		if at := speaker.LastAudible(); at < now+s.Granted().Queued() {
			t.Errorf("the next sound is over %v from now, before it can have left the card", at-now)
		}
	}
}

// Never on a server, where what was stopped is heard after the next start; and not on a card that is quick enough, nor for a
// Hush, which may be a glitch.
func TestHardDropIsForSlowCardsOnly(t *testing.T) {
	card := &slowCard{stream: slowStream{backend: audio.BackendPulse}}
	speaker := audio.NewSpeaker(audio.SpeakerConfig{})
	if _, err := speaker.OpenOn(card, audio.StreamConfig{}); err != nil {
		t.Fatal(err)
	}
	if speaker.HardDrops() {
		t.Error("a sound server is cut off hard")
	}
	card.stream.backend = audio.BackendALSA
	if _, err := speaker.OpenOn(card, audio.StreamConfig{}); err != nil {
		t.Fatal(err)
	}
	src := speaker.Open(audio.SourceSpeech, speaker.Generation())
	src.Write(t.Context(), make([]int16, audio.Rate))
	card.render(make([]int16, 960))
	speaker.Hush()
	speaker.Watch()
	if n := len(card.stream.flushes); !speaker.HardDrops() || n != 0 {
		t.Errorf("hard drops: %v; a hush has emptied the card %d times", speaker.HardDrops(), n)
	}
}
