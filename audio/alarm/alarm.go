// Package alarm has the sound of an alert: a chime that comes again, softly at first, and a little louder and higher each time for as
// long as nobody has answered it. No files.
//
// A chime is struck, not blown, so that it carries through a kitchen and frightens nobody. Samples are 24 kHz, mono; a round begins and
// ends at zero.
package alarm

import "math"

// rate is audio.Rate; this package imports nothing of ours.
const rate = 24000

// Our choices.
const (
	chimes  = 3               // of a round
	apart   = rate * 55 / 100 // samples between two of them
	decay   = rate * 45 / 100 // samples in which one falls to a third
	length  = 2*apart + rate*9/10
	softest = 0.07  // of full scale, the first round
	loudest = 0.30  // the sixth, and all later ones
	rises   = 5     // rounds
	lowest  = 659.3 // Hz: e″; a chime is its third above and its octave as well
)

// partials of a chime: a bell's, without those that hurt.
var partials = []struct{ of, level float64 }{{1, 1}, {1.26, 0.5}, {2, 0.45}, {3, 0.12}}

// Samples is a round of it, from 1.
func Samples(round int) []int16 {
	up := float64(min(max(round-1, 0), rises)) / rises
	level, pitch := softest*math.Pow(loudest/softest, up), lowest*math.Pow(2, up*3/12) // a minor third in all
	sum := 0.0
	for _, p := range partials {
		sum += p.level
	}
	pcm := make([]int16, length)
	mix := make([]float64, length)
	for n := range chimes {
		for i := range length - n*apart {
			v := 0.0
			for _, p := range partials {
				v += p.level * math.Sin(2*math.Pi*pitch*p.of*float64(i)/rate) * math.Exp(-p.of*float64(i)/decay)
			}
			mix[n*apart+i] += v / sum * math.Min(1, float64(i)/(rate/200))
		}
	}
	for i, v := range mix {
		v *= level * math.Min(1, float64(length-1-i)/(rate/20))
		pcm[i] = int16(math.Round(v * math.MaxInt16))
	}
	return pcm
}
