//go:build cgo

package audio_test

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"conch/audio"
	"conch/audio/alsacard"
)

// restsAndPlays: the device goes on without entering Go, counts its callbacks, and plays what is opened then, to the last
// sample.
func restsAndPlays(t *testing.T, m *audio.MalgoCard, device string) {
	t.Helper()
	s := audio.NewSpeaker(audio.SpeakerConfig{})
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()
	defer func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}()
	str, err := s.OpenOn(m, audio.StreamConfig{Device: device})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := str.Close(); err != nil {
			t.Error(err)
		}
		str.Rest(true) // nobody minds after the end
	}()
	s.SetQueued(str.Granted().Queued())
	for range 2 {
		await(t, "a rest", 5*time.Second, func() bool {
			asked, all := s.Stats().Callbacks, str.Stats().Callbacks
			await(t, "five callbacks", time.Second, func() bool { return str.Stats().Callbacks >= all+5 })
			return s.Stats().Callbacks == asked
		})
		asked := s.Stats().Callbacks
		src := s.Open(audio.SourceSpeech, s.Generation())
		src.Write(ctx, noise(4800, 1))
		src.Close()
		await(t, "the last sample", 5*time.Second, func() bool { return drained(src) })
		if src.Heard() != 4800 || s.Stats().Callbacks == asked {
			t.Errorf("heard %d of 4800", src.Heard())
		}
	}
	if n := s.Stats().Abandoned; n != 0 {
		t.Errorf("%d sources were given up", n)
	}
}

// That the callback of a device can be put aside depends on how miniaudio lays out its structure; if that changes, the
// device just does not rest, and this test says so.
func TestDeviceRestsWithoutEnteringGo(t *testing.T) { restsAndPlays(t, newCard(t, "null"), "") }

func TestALSARestsWithoutEnteringGo(t *testing.T) {
	card := alsacard.Start(t, alsacard.Options{})
	restsAndPlays(t, newCard(t, "alsa"), card.Device())
	if st := card.Stats(); st.Opens != st.Closes {
		t.Errorf("the card saw %+v; want it closed", st)
	}
}

// A microphone that rests loses nothing: what it kept back comes in order, with what came after.
func TestALSACaptureRestsAndLosesNothing(t *testing.T) {
	card := alsacard.Start(t, alsacard.Options{Channels: 1})
	var mu sync.Mutex
	var heard []int16
	var sizes []int
	s, err := newCard(t, "alsa").OpenCapture(audio.StreamConfig{Device: card.Device()}, func(in []int16) {
		mu.Lock()
		defer mu.Unlock()
		sizes = append(sizes, len(in))
		heard = append(heard, in...)
	})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	rest := s.Rest
	await(t, "a callback", 2*time.Second, func() bool { return s.Stats().Callbacks > 2 })
	rest(true)
	said := make([]int16, 30000)
	for i := range said {
		said[i] = int16(i + 1)
	}
	if err := card.Feed(said); err != nil {
		t.Fatal(err)
	}
	n := s.Stats().Callbacks
	await(t, "callbacks of more than a second", 5*time.Second, func() bool { return s.Stats().Callbacks >= n+230 })
	mu.Lock()
	largest := slices.Max(sizes)
	mu.Unlock()
	if want := audio.CardFrames(time.Second); largest < want || largest > want*11/10 {
		t.Errorf("the largest piece has %d frames; want about %d", largest, want)
	}
	rest(false)
	await(t, "all that was said", 2*time.Second, func() bool {
		mu.Lock()
		defer mu.Unlock()
		return slices.Contains(heard, said[len(said)-1])
	})
	mu.Lock()
	defer mu.Unlock()
	from := slices.Index(heard, 1)
	if from < 0 || !slices.Equal(heard[from:from+len(said)], said) {
		t.Error("what was said is not what was heard, in order")
	}
}
