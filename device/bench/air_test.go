package bench

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"conch/audio"
	"conch/audio/pulsetest"
	"conch/device/config"
)

// roomSound is what a microphone captures of a tone that stops: with background, reverberation and a way through the air.
type roomSound struct {
	level   float64       // of the tone; 0: none
	noise   float64       // RMS of the background
	rt60    time.Duration // time in which the room's sound falls by 60 dB; 0: no room
	delay   time.Duration
	stops   time.Duration
	periods time.Duration // of a callback
}

// play lets the listener hear it from 0 to until.
func (s roomSound) play(e *listener, clock *time.Duration, until time.Duration, random *rand.Rand) {
	block := make([]int16, audio.CardFrames(s.periods))
	for i := *clock; i < until; i += s.periods {
		for k := range block {
			at := i + audio.CardDuration(k) - s.delay
			level := s.level
			if over := at - s.stops; over > 0 {
				// The direct sound is gone; what the walls still carry begins 12 dB below it.
				level = 0
				if s.rt60 > 0 {
					level = 0.25 * s.level * math.Pow(10, -3*over.Seconds()/s.rt60.Seconds())
				}
			}
			block[k] = int16(level*math.Sin(2*math.Pi*1000*at.Seconds()) + s.noise*random.NormFloat64())
		}
		*clock = i + s.periods
		e.take(block)
	}
}

func TestListenerFindsTheEndOfTheDirectSound(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	for name, s := range map[string]roomSound{
		"loopback":            {level: 8000},
		"quiet room":          {level: 8000, noise: 40, rt60: 400 * time.Millisecond, delay: 3 * time.Millisecond},
		"loud room, far away": {level: 3000, noise: 300, rt60: 800 * time.Millisecond, delay: 9 * time.Millisecond},
	} {
		for _, press := range []time.Duration{1003 * time.Millisecond, 1017*time.Millisecond + 300*time.Microsecond} {
			t.Run(fmt.Sprintf("%s, %s", name, press), func(t *testing.T) {
				random := rand.New(rand.NewPCG(seed, 1))
				var clock time.Duration
				e := &listener{now: func() time.Duration { return clock }}
				s.periods, s.stops = 5*time.Millisecond, press+20*time.Millisecond
				roomSound{noise: s.noise, periods: s.periods}.play(e, &clock, 500*time.Millisecond, random)
				e.windows(0, func(level float64, _ time.Duration) { e.floor = max(e.floor, level) })
				s.play(e, &clock, press+200*time.Millisecond, random)
				last, heard := e.lastAudible(press)
				if late := last - s.stops; !heard || late < 0 || late > s.delay+2*time.Millisecond {
					t.Errorf("heard %t until %s; the tone ended at %s and took %s to get here", heard, last, s.stops, s.delay)
				}
			})
		}
	}
}

func TestListenerThatHearsNothingSaysSo(t *testing.T) {
	for name, s := range map[string]roomSound{
		"no tone":             {noise: 100},
		"tone below the room": {level: 150, noise: 100},
		"digital silence":     {},
	} {
		var clock time.Duration
		e := &listener{now: func() time.Duration { return clock }}
		s.periods, s.stops = 5*time.Millisecond, 2*time.Second
		random := rand.New(rand.NewPCG(1, 1))
		roomSound{noise: s.noise, periods: s.periods}.play(e, &clock, 500*time.Millisecond, random)
		e.windows(0, func(level float64, _ time.Duration) { e.floor = max(e.floor, level) })
		s.play(e, &clock, 1200*time.Millisecond, random)
		if last, heard := e.lastAudible(time.Second); heard {
			t.Errorf("%s: heard until %s", name, last)
		}
	}
}

// TestSilenceHeardByAMicrophone: through a real sound server, whose sink's monitor is the microphone.
func TestSilenceHeardByAMicrophone(t *testing.T) {
	pulsetest.Start(t)
	cfg := config.Default()
	cfg.Audio.Backend, cfg.Audio.Playback, cfg.Audio.Capture = "pulse", pulsetest.Speaker, pulsetest.Speaker+".monitor"
	report, err := MeasureSilence(t.Context(), cfg, 3, []string{"speaking", "tail"}, false, true, t.Output())
	if err != nil {
		t.Fatal(err)
	}
	report.Print(t.Output())
	for _, row := range report.Rows {
		// A busy sound server leaves gaps, and a press in one of them finds silence; MeasureSilence refuses none at all.
		if row.N+row.Quiet != 3 || row.P50 <= 0 {
			t.Errorf("%s: %d and %d of 3 presses, p50 %.1f ms", row.State, row.N, row.Quiet, row.P50)
		}
	}
}
