// Package cue has the earcons: short sounds that mean one thing each, made from a table of tones. No files.
//
// Rising means go on, falling means it did not work. Samples are 24 kHz, mono. A cue begins and ends at zero.
//
//	ready      one short soft note, high: the microphone listens
//	committed  two notes, level: taken, though you have not let go
//	empty      one soft note, low: nothing was said
//	noted      one note up, soft: heard, and left without an answer
//	too_short  two quick notes down: hold longer
//	thinking   a low double pulse and a pause, repeated while an answer is being made
//	error      three notes down, buzzing: something broke
//	offline    two long notes far down: nobody there
//	timer      a bright triple, twice
//	ringing    a warble and a long pause, repeated: somebody calls
//	volume     one short note, in the middle: so loud it is now
package cue

import (
	"math"
	"sync"
)

// rate is audio.Rate; this package imports nothing of ours.
const rate = 24000

// tone is one note: it begins at the given time, rings for a length, at a frequency, at a level.
type tone struct {
	at, ms   int     // milliseconds
	hz       float64 //
	level    float64 // of full scale
	overtone float64 // level of the third harmonic, relative: a buzz
}

type earcon struct {
	ms    int // whole length; the rest after the last note is silence, which matters when it repeats
	tones []tone
}

var table = map[string]earcon{
	"ready":     {90, []tone{{0, 85, 1318.5, 0.18, 0}}},
	"committed": {210, []tone{{0, 90, 880, 0.22, 0}, {110, 95, 880, 0.22, 0}}},
	"empty":     {120, []tone{{0, 115, 523.3, 0.14, 0}}},
	"noted":     {200, []tone{{0, 90, 659.3, 0.14, 0}, {95, 95, 784, 0.12, 0}}},
	"too_short": {190, []tone{{0, 80, 659.3, 0.25, 0.1}, {90, 95, 523.3, 0.25, 0.1}}},
	"thinking":  {1400, []tone{{0, 160, 392, 0.09, 0}, {220, 200, 440, 0.09, 0}}},
	"error":     {520, []tone{{0, 150, 440, 0.28, 0.35}, {160, 150, 370, 0.28, 0.35}, {320, 195, 311.1, 0.28, 0.35}}},
	"offline":   {760, []tone{{0, 320, 493.9, 0.26, 0.15}, {350, 400, 246.9, 0.3, 0.2}}},
	"ringing": {3000, []tone{
		{0, 180, 783.99, 0.3, 0.1}, {190, 180, 659.3, 0.3, 0.1}, {380, 180, 783.99, 0.3, 0.1}, {570, 180, 659.3, 0.3, 0.1},
		{760, 180, 783.99, 0.3, 0.1}, {950, 300, 659.3, 0.3, 0.1},
	}},
	"volume": {70, []tone{{0, 65, 988, 0.25, 0}}},
	"timer": {900, []tone{
		{0, 110, 1046.5, 0.3, 0.1}, {120, 110, 1318.5, 0.3, 0.1}, {240, 130, 1568, 0.3, 0.1},
		{480, 110, 1046.5, 0.3, 0.1}, {600, 110, 1318.5, 0.3, 0.1}, {720, 170, 1568, 0.3, 0.1},
	}},
}

var (
	mu   sync.Mutex
	made = map[string][]int16{}
)

// Samples gives a cue by its name; nil for a name there is not. It is made once; do not change it.
func Samples(name string) []int16 {
	e, ok := table[name]
	if !ok {
		return nil
	}
	mu.Lock()
	defer mu.Unlock()
	if made[name] == nil {
		made[name] = render(e)
	}
	return made[name]
}

func render(e earcon) []int16 {
	mix := make([]float64, e.ms*rate/1000)
	for _, t := range e.tones {
		n := t.ms * rate / 1000
		attack, release := min(n/2, 6*rate/1000), min(n/2, 40*rate/1000)
		for i := range n {
			x := 2 * math.Pi * t.hz * float64(i) / rate
			v := math.Sin(x) + t.overtone*math.Sin(3*x)
			v *= math.Exp(-2.5 * float64(i) / float64(n)) // struck, not blown
			v *= edge(i, attack) * edge(n-1-i, release)
			mix[t.at*rate/1000+i] += v * t.level / (1 + t.overtone)
		}
	}
	pcm := make([]int16, len(mix))
	for i, v := range mix {
		pcm[i] = int16(math.Round(v * math.MaxInt16))
	}
	return pcm
}

// edge rises from 0 at i = 0 to 1 at i = n along half a cosine.
func edge(i, n int) float64 {
	if i >= n {
		return 1
	}
	return 0.5 - 0.5*math.Cos(math.Pi*float64(i)/float64(n))
}
