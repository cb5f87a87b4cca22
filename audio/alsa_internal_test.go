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

// A thread that is late finds played what should not have sounded any more. That is noticed, and it goes on from there without a
// click: a hard cut of this tone steps by up to 12,000, and by several thousand in most places.
func TestALSALateRewindDoesNotClick(t *testing.T) {
	defer func() { takeBack = pcm.rewind }()
	var calls atomic.Uint64
	takeBack = func(d pcm, frames int) (int, error) {
		<-time.After(time.Duration(calls.Add(1)%3) * 2500 * time.Microsecond) // in time, 1.5 and 4 ms late
		return d.rewind(frames)
	}
	card := alsacard.Start(t, alsacard.Options{})
	m, err := NewCard("alsa", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	full := 100
	s := NewSpeaker(SpeakerConfig{Volume: &full})
	str, err := s.OpenOn(m, StreamConfig{Device: card.Device()})
	if err != nil {
		t.Fatal(err)
	}
	pcm := make([]int16, 4*Rate)
	for i := range pcm {
		pcm[i] = int16(12000 * math.Sin(2*math.Pi*440*float64(i)/Rate))
	}
	s.Play(pcm, false, s.Generation())
	<-time.After(200 * time.Millisecond)
	for i := range 40 {
		s.Hush()
		<-time.After(time.Duration(10+i%7) * time.Millisecond)
		s.Unhush()
		<-time.After(50 * time.Millisecond)
	}
	lates := str.(*alsaStream).Lates()
	if err := str.Close(); err != nil {
		t.Fatal(err)
	}
	if lates < 10 {
		t.Errorf("late %d times, as it says; it was more often", lates)
	}
	const own = 12000 * 2 * math.Pi * 440 / CardRate
	log := card.Log()
	log.End()
	last, joined := int16(0), false
	for _, span := range log.Spans {
		if joined = joined && span.Kind == alsacard.Played; span.Kind != alsacard.Played {
			continue // the machine stood still for longer than the card holds
		}
		for _, x := range span.Samples {
			if step := math.Abs(float64(x) - float64(last)); joined && step > 3*own {
				t.Fatalf("a step of %.0f; the tone's own largest is %.0f", step, own)
			}
			last, joined = x, true
		}
	}
}

// A card that gives nothing back any more, or less than it was asked for, is opened anew with a short buffer, and sounds.
func TestALSAThatStopsGivingBackIsOpenedAnew(t *testing.T) {
	for name, fault := range map[string]func(d pcm, frames int) (int, error){
		"an error": func(pcm, int) (int, error) { return 0, unix.EPERM },
		"a half":   func(d pcm, frames int) (int, error) { return d.rewind(frames / 2) },
		"nothing":  func(pcm, int) (int, error) { return 0, nil },
	} {
		t.Run(name, func(t *testing.T) {
			defer func() { takeBack = pcm.rewind }()
			var broken atomic.Bool
			takeBack = func(d pcm, frames int) (int, error) {
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
