package device

import (
	"math/rand/v2"
	"slices"
	"testing"

	"conch/audio"
)

// What judges the recordings must itself be right: gaps that a starved server left are told, wherever they are, and what is
// not there is missed.
func TestFindTellsGapsAndWhatIsMissing(t *testing.T) {
	t.Parallel()
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	original := make([]int16, 2*audio.Rate)
	for i, last := 0, 0.0; i < len(original); i++ { // noise without what the filter takes, loudest in the second half
		last = 0.9*last + float64(r.IntN(2001)-1000)
		original[i] = int16(last * float64(1+i/audio.Rate%2*2) / 2)
	}
	frames := audio.Upsample(original)
	quiet := make([]int16, audio.CardRate/5)
	for _, c := range []struct {
		name  string
		gaps  [][2]int // after so many frames, so many of silence
		jumps []int
	}{
		{"whole", nil, nil},
		{"one before the loudest", [][2]int{{30000, 3696}}, []int{3696}},
		{"several before the loudest", [][2]int{{9600, 4800}, {24000, 960}, {40000, 9600}}, []int{4800, 960, 9600}},
		{"one behind it", [][2]int{{80000, 7000}}, []int{7000}},
	} {
		recording, from := slices.Clone(quiet), 0
		for _, g := range c.gaps {
			recording = append(append(recording, frames[from:g[0]]...), make([]int16, g[1])...)
			from = g[0]
		}
		recording = append(append(recording, frames[from:]...), quiet...)
		m, ok := find(recording, original)
		if !ok || m.first > 120 || m.last < len(original)-120 || m.whole < 0.99 || !slices.Equal(m.jumps, c.jumps) {
			t.Errorf("%s: found %v, %s; want all of it, gaps %v", c.name, ok, m, c.jumps)
		}
	}

	recording := slices.Concat(quiet, frames, quiet)
	clear(recording[len(quiet)+24000 : len(quiet)+24000+14400])
	if m, ok := find(recording, original); !ok || m.whole > 0.9 {
		t.Errorf("of 2 s, 0.3 are silent: %v, %s", ok, m)
	}
	for i := range original {
		original[i] = int16(r.IntN(4001) - 2000)
	}
	if m, ok := find(slices.Concat(quiet, frames, quiet), original[:audio.Rate/2]); ok {
		t.Errorf("found in noise: %s", m)
	}
}

// What is said and then cut is all there until the cut, and nothing of it behind: the cues that follow a press are as quiet in
// their tails as a breath in the midst of a story, and equal it for a few samples.
func TestFindTellsWhereItWasCut(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 2))
	original := make([]int16, 3*audio.Rate)
	for i, last := 0, 0.0; i < len(original); i++ { // loudest long after the cut; a breath from 0.6 s on, nothing from 0.65 to 0.7
		last = 0.9*last + float64(r.IntN(2001)-1000)
		level := 1.0
		switch ms := i * 1000 / audio.Rate; {
		case ms >= 600 && ms < 650:
			level = 0.02
		case ms >= 650 && ms < 700:
			level = 0
		case ms >= 1000:
			level = 3
		}
		original[i] = int16(last * level)
	}
	frames := audio.Upsample(original)
	quiet := make([]int16, audio.CardRate/10)
	for _, c := range []struct {
		name       string
		cut        int // ms
		last, next int // ms between which it was cut, as far as that can be told
	}{
		{"in the midst of a word", 500, 500, 500},
		{"in a breath", 675, 650, 700},
	} {
		cut := c.cut * audio.CardRate / 1000
		recording := slices.Concat(quiet, frames[:cut], make([]int16, audio.CardRate/2))
		if at := 640 * audio.CardRate / 1000; cut < at { // the tail of a cue
			for i := at; i < at+2*block; i++ {
				recording[len(quiet)+i] = int16(r.IntN(101) - 50)
				if i%5 < 2 {
					recording[len(quiet)+i] = frames[i]
				}
			}
		}
		m, ok := find(recording, original)
		const perMS, slack = audio.Rate / 1000, 2 * audio.Rate / 1000
		if !ok || m.last < c.last*perMS-slack || m.last > c.last*perMS || m.next < c.next*perMS-slack || m.next > c.next*perMS+slack {
			t.Errorf("%s: found %v, %s, the next one that is missing %d ms; want %d and %d ms", c.name, ok, m, m.next/perMS, c.last, c.next)
		}
	}
}
