package audio_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
	"time"

	"conch/audio"
	"conch/audio/twin"
)

// account is what became of the samples of a source in a recording.
type account struct {
	pauses         int // how often it stood still
	missing, twice int // samples
	last           int // the sample after the last that was heard at full level
	first          string
}

func (a *account) lost(n int, format string, args ...any) {
	if a.missing += n; n > 0 && a.first == "" {
		a.first = fmt.Sprintf(format, args...)
	}
}

// accounted follows pcm through frames at audio.CardRate, in which it was heard at full level but for fades: it must sound from its
// first sample to its last heard one in order and, wherever it stood still, go on where it stopped. What it sounded while it faded
// out is heard once more while it rises, as it is when somebody puts a needle back. Every second frame is a sample of the mix.
func accounted(frames, pcm []int16, fade time.Duration) (a account) {
	step := math.Ceil(960 / float64(audio.Samples(fade-audio.CardDuration(46)))) // the filter's share of the fade
	level := func(n int) float64 { return (1 - math.Cos(math.Pi*min(1, float64(n)*step/960))) / 2 }
	near := func(i int, x float64) bool { return i >= 0 && i < len(frames) && math.Abs(float64(frames[i])-x) <= 1 }
	type gram [4]int16
	index := map[gram]int{}
	for k := range len(pcm) - 4 {
		index[gram(pcm[k:k+4])] = k
	}
	i, k := 0, 0 // behind the last run of samples at full level
	for j := 0; j+6 < len(frames); j++ {
		at, ok := index[gram{frames[j], frames[j+2], frames[j+4], frames[j+6]}]
		if !ok {
			continue
		}
		if at < k {
			a.twice += k - at
			if a.first == "" {
				a.first = fmt.Sprintf("sample %d at frame %d again", at, j)
			}
		}
		if at > k || j > i+1 && i > 0 {
			if i > 0 && j-i > 2*(at-k)+1 {
				a.pauses++
			}
			start := max(0, k-3) // the last of a rise, and the first of a fall, may be taken for full level
			found := false
			for ; start <= k && !found; start++ {
				found = true
				for m := start; m < at && found; m++ {
					found = near(j-2*(at-m), float64(pcm[m])*level(m-start+1))
				}
			}
			if !found { // a dip, or not heard
				for m := k; m < at; m++ {
					if x := frames[max(0, j-2*(at-m))]; math.Abs(float64(x)) > math.Abs(float64(pcm[m]))+1 || int(x)*int(pcm[m]) < 0 || j-i != 2*(at-k) {
						a.lost(1, "sample %d (of %d to %d) before frame %d", m, k, at, j)
					}
				}
			}
		}
		for i, k = j, at; i < len(frames) && k < len(pcm) && frames[i] == pcm[k]; i, k = i+2, k+1 {
		}
		j = i - 1
	}
	a.last = k
	return a
}

// A rewind that comes late finds played some of what it should replace. That sounded, and goes on from there: of a source no sample
// is missing and none is heard twice, and what is said to have been heard is what was.
func TestLateRewindCostsNoSample(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	if s := os.Getenv("CONCH_SEED"); s != "" {
		seed, _ = strconv.ParseUint(s, 10, 64)
	}
	for walk := range 30 {
		rng := rand.New(rand.NewPCG(seed+uint64(walk), 3))
		r := newRewindRig(t)
		late := 0
		r.c.LateRewinds(func() int {
			late++
			return rng.IntN(3) * rng.IntN(700)
		})
		r.c.Advance(100 * time.Millisecond)
		pcm := noise(4*audio.Rate, int(rng.Uint32()))
		src := r.s.Open(audio.SourceContent, r.s.Generation())
		src.Write(context.Background(), pcm[:audio.Rate])
		wrote := audio.Rate
		r.c.Advance(200 * time.Millisecond)
		for range 20 {
			r.s.Hush()
			r.c.Advance(time.Duration(rng.IntN(30)) * time.Millisecond)
			r.s.Unhush()
			r.c.Advance(40*time.Millisecond + time.Duration(rng.IntN(60))*time.Millisecond)
			wrote += src.Write(context.Background(), pcm[wrote:wrote+1200])
		}
		src.Cut()
		r.c.Advance(500 * time.Millisecond)
		frames, _ := r.c.Tape()
		a := accounted(frames, pcm, 3*time.Millisecond)
		if a.missing+a.twice > 0 || a.pauses == 0 || late == 0 {
			t.Fatalf("CONCH_SEED=%d: %d samples missing, %d twice, %d pauses, %d rewinds: %s", seed+uint64(walk), a.missing, a.twice, a.pauses, late, a.first)
		}
		if d := src.Heard() - a.last; d < -2 || d > 2 {
			t.Fatalf("CONCH_SEED=%d: %d samples are said to have been heard; the tape has %d", seed+uint64(walk), src.Heard(), a.last)
		}
	}
}

// What is live goes on behind a dip where it would have been without one; anything else goes on where it was, later by the dip. What
// was skipped was not heard.
func TestALiveSourceSkipsTheDip(t *testing.T) {
	bothCards(t, func(t *testing.T, newRig rigMaker) {
		for _, live := range []bool{true, false} {
			for phase := range 40 {
				r := newRig(t)
				r.c.Advance(100*time.Millisecond + time.Duration(phase)*300*time.Microsecond)
				pcm := noise(audio.Rate, phase)
				src := r.s.Open(audio.SourceContent, r.s.Generation())
				if live {
					src.Live()
				}
				r.write(src, pcm)
				r.c.Advance(250 * time.Millisecond)
				before := find(r.mixed(), pcm[1000:1500]) - 1000
				dip := time.Duration(1+phase) * time.Millisecond
				r.s.Hush()
				r.c.Advance(dip)
				r.s.Unhush()
				src.Close()
				r.c.Advance(1500 * time.Millisecond)
				tail := len(pcm) - 3*fadeSamples
				behind := find(r.mixed(), pcm[tail-500:tail]) - tail + 500
				late := behind - before
				switch silent := len(pcm) - src.Heard(); {
				case before < 0 || behind < 0 || !drained(src):
					t.Fatalf("phase %d: before the dip at %d, behind it at %d, drained %v", phase, before, behind, drained(src))
				case live && (late != 0 || dip >= 10*time.Millisecond && silent == 0 || silent > audio.Samples(dip+20*time.Millisecond)):
					t.Errorf("phase %d, live: %d samples late, %d not heard, of a dip of %v; want none, and about the dip", phase, late, silent, dip)
				case !live && (dip >= 10*time.Millisecond && late == 0 || silent != 0):
					t.Errorf("phase %d: %d samples late, %d not heard; want it late by the dip, and all of it", phase, late, silent)
				}
			}
		}
	})
}

// A thread that stands still while it tries what may come too late holds nobody up: a source that was dropped is taken away. What was
// heard of it is known once the thread goes on, and is what was.
func TestASourceThatLeavesWhileItIsTried(t *testing.T) {
	clock := twin.NewClock()
	var still time.Duration // how much later it is than the card knows
	card := twin.NewCard(clock)
	card.Rewinds(rewindMargin)
	full := 100
	s := audio.NewSpeaker(audio.SpeakerConfig{Now: func() time.Duration { return clock.Now() + still }, Volume: &full})
	if _, err := card.OpenPlayback(audio.StreamConfig{Periods: 8, Back: s}, s.Render); err != nil {
		t.Fatal(err)
	}
	stood := 0
	card.LateRewinds(func() int {
		still = 200 * time.Millisecond
		if s.Watch() == 0 {
			stood++
		}
		still = 0
		return 900
	})
	for phase := range 20 {
		pcm := noise(audio.Rate, phase)
		from := len(tape(card))
		src := s.Open(audio.SourceContent, s.Generation())
		src.Write(context.Background(), pcm)
		card.Advance(150*time.Millisecond + time.Duration(phase)*700*time.Microsecond)
		s.Drop()
		card.Advance(100 * time.Millisecond)
		if a := accounted(tape(card)[from:], pcm, 3*time.Millisecond); src.Heard() < a.last-2 || src.Heard() > a.last+2 || a.last == 0 {
			t.Errorf("phase %d: %d samples are said to have been heard; the tape has %d", phase, src.Heard(), a.last)
		}
	}
	if stood < 10 {
		t.Errorf("taken away %d times: this proves nothing", stood)
	}
}

func tape(c *twin.Card) []int16 {
	frames, _ := c.Tape()
	return frames
}
