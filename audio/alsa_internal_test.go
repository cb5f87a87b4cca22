//go:build cgo

package audio

import (
	"context"
	"log/slog"
	"math"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"conch/audio/alsacard"
)

// LateRewinds has the audio threads wait before each rewind, until undo.
func LateRewinds(wait func() time.Duration) (undo func()) {
	takeBack = func(d alsaPCM, frames int) (int, error) {
		<-time.After(wait())
		return d.rewind(frames)
	}
	return func() { takeBack = alsaPCM.rewind }
}

// A thread that stands still before it takes anything back finds much of it played. That is its own fault, not the card's: a card that
// was taken for one that gives nothing back is one until conch is started anew.
func TestALSAIsNotBlamedForALateThread(t *testing.T) {
	defer func() { takeBack = alsaPCM.rewind }()
	var tries atomic.Uint64
	takeBack = func(d alsaPCM, frames int) (int, error) {
		if tries.Add(1) < shortTries {
			<-time.After(5 * time.Millisecond) // while it is opened
		}
		return d.rewind(frames)
	}
	card := alsacard.Start(t, alsacard.Options{})
	m, err := NewCard("alsa", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	s := NewSpeaker(SpeakerConfig{})
	str, err := m.OpenPlayback(StreamConfig{Device: card.Device(), Back: lateBack{s}}, s.Render)
	if err != nil {
		t.Fatal(err)
	}
	if !str.Granted().Rewinds() {
		t.Fatalf("granted %+v to a thread that was late while it opened", str.Granted())
	}
	for range 3 * shortTries {
		s.Play(make([]int16, Rate/100), false, s.Generation())
		<-time.After(60 * time.Millisecond)
	}
	if lates := str.Stats().Lates; lates > shortTries {
		t.Errorf("taken back too late %d times; what it knew was old", lates)
	}
	if why := m.stiffness(card.Device()); why != "" {
		t.Errorf("the card is blamed: %s", why)
	}
	if err := str.Close(); err != nil {
		t.Fatal(err)
	}
}

// lateBack stands still each time before something is taken back.
type lateBack struct{ Rewinder }

func (b lateBack) Stale() bool {
	stale := b.Rewinder.Stale()
	if stale {
		<-time.After(20 * time.Millisecond)
	}
	return stale
}

// A card that stops giving back in the middle of a sound is not closed in it, which would be heard: it goes on until it is quiet, and
// is opened anew then. What was said to be heard is what it played.
func TestALSAThatStopsGivingBackDoesNotClick(t *testing.T) {
	defer func() { takeBack = alsaPCM.rewind }()
	var broken atomic.Bool
	takeBack = func(d alsaPCM, frames int) (int, error) {
		if broken.Load() {
			return 0, unix.EPERM
		}
		return d.rewind(frames)
	}
	card := alsacard.Start(t, alsacard.Options{Silence: true})
	m, err := NewCard("alsa", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	full := 100
	s := NewSpeaker(SpeakerConfig{Volume: &full})
	up := make(chan Granted, 4)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		NewKeeper(KeeperConfig{
			Name: "speaker", Open: func(c StreamConfig) (Stream, error) { return s.OpenOn(m, c) },
			Stream: StreamConfig{Device: card.Device()}, Up: func(g Granted) { up <- g },
		}).Run(ctx)
	}()
	defer func() { cancel(); <-done }()
	<-up
	src, pcm := s.Open(SourceSpeech, s.Generation()), make([]int16, 10*Rate)
	for i := range pcm {
		pcm[i] = int16(12000 * math.Sin(2*math.Pi*440*float64(i)/Rate))
	}
	src.Write(ctx, pcm)
	<-time.After(200 * time.Millisecond)
	broken.Store(true)
	s.SetVolume(90) // refused, and sounds on
	<-time.After(300 * time.Millisecond)
	heard := src.Heard()
	s.Hush()
	if g := <-up; g.Rewinds() || g.Kept == "" {
		t.Errorf("opened again, granted %+v; want what stays, and why", g)
	}
	if h := src.Heard(); h < heard || h == 0 {
		t.Errorf("heard %d before, %d after", heard, h)
	}
	s.Unhush()
	<-time.After(200 * time.Millisecond)
	s.Drop()
	<-time.After(100 * time.Millisecond)
	const own = 12000*2*math.Pi*440/CardRate + 2
	log := card.Log()
	log.End()
	last, joined, skip := int16(0), false, 0
	for _, span := range log.Spans {
		switch {
		case span.Kind == alsacard.Played:
		case span.Kind == alsacard.Stopped && last != 0:
			t.Errorf("stopped in the middle of a sound, at %d", last)
		case span.Frames > 0: // the machine stood still for longer than the card holds
			joined, skip = false, CardRate/10
		}
		for _, x := range span.Samples {
			if skip--; skip > 0 {
				last = x
				continue
			}
			if step := math.Abs(float64(x) - float64(last)); joined && step > own {
				t.Fatalf("a step of %.0f; the tone's own largest is %.0f", step, own)
			}
			last, joined = x, true
		}
	}
}

// A card that gives nothing back any more, or less than it was asked for, is opened anew with a short buffer, and sounds.
func TestALSAThatStopsGivingBackIsOpenedAnew(t *testing.T) {
	for name, fault := range map[string]func(d alsaPCM, frames int) (int, error){
		"an error": func(alsaPCM, int) (int, error) { return 0, unix.EPERM },
		"a half":   func(d alsaPCM, frames int) (int, error) { return d.rewind(frames / 2) },
		"nothing":  func(alsaPCM, int) (int, error) { return 0, nil },
	} {
		t.Run(name, func(t *testing.T) {
			defer func() { takeBack = alsaPCM.rewind }()
			var broken atomic.Bool
			takeBack = func(d alsaPCM, frames int) (int, error) {
				if broken.Load() {
					return fault(d, frames)
				}
				return d.rewind(frames)
			}
			card := alsacard.Start(t, alsacard.Options{})
			m, err := NewCard("alsa", nil)
			if err != nil {
				t.Fatal(err)
			}
			defer m.Close()
			s := NewSpeaker(SpeakerConfig{})
			up := make(chan Granted, 4)
			ctx, cancel := context.WithCancel(t.Context())
			done := make(chan struct{})
			go func() {
				defer close(done)
				NewKeeper(KeeperConfig{
					Name: "speaker", Open: func(c StreamConfig) (Stream, error) { return s.OpenOn(m, c) },
					Stream: StreamConfig{Device: card.Device()}, Up: func(g Granted) { up <- g }, Log: slog.New(slog.DiscardHandler),
				}).Run(ctx)
			}()
			defer func() { cancel(); <-done }()
			if g := <-up; !g.Rewinds() {
				t.Fatalf("granted %+v", g)
			}
			broken.Store(true)
			for deadline := time.After(20 * time.Second); ; {
				s.Play(make([]int16, Rate/10), false, s.Generation()) // something begins
				select {
				case g := <-up:
					if g.Rewinds() || g.Periods != 3 {
						t.Errorf("opened again, granted %+v; want 3 periods, which stay", g)
					}
				case <-time.After(20 * time.Millisecond):
					s.Watch()
					continue
				case <-deadline:
					t.Fatal("it was never opened anew")
				}
				break
			}
		})
	}
}

// A card of long periods is given a little at a time: as long as the first of what replaces what was taken back is rendered, the card
// plays its margin, and a slow machine takes longer than that for a whole period.
func TestALSARendersLittleAtOnce(t *testing.T) {
	card := alsacard.Start(t, alsacard.Options{MinPeriod: 4800})
	m, err := NewCard("alsa", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	s := NewSpeaker(SpeakerConfig{})
	var longest, all atomic.Int64
	str, err := m.OpenPlayback(StreamConfig{Device: card.Device(), Back: s}, func(pcm []int16) {
		longest.Store(max(longest.Load(), int64(len(pcm))))
		all.Add(int64(len(pcm)))
		s.Render(pcm)
	})
	if err != nil {
		t.Fatal(err)
	}
	if g := str.Granted(); !g.Rewinds() || g.Period < 4800 {
		t.Errorf("granted %+v; want a card of long periods that gives back", g)
	}
	for until := time.Now().Add(10 * time.Second); all.Load() < 3*4800 && time.Now().Before(until); {
		<-time.After(10 * time.Millisecond)
	}
	if err := str.Close(); err != nil {
		t.Fatal(err)
	}
	if n := CardDuration(int(longest.Load())); all.Load() < 3*4800 || n > 6*time.Millisecond {
		t.Errorf("%v rendered at once, of %v", n, CardDuration(int(all.Load())))
	}
}
