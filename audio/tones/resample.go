package tones

import "math"

// resampler brings sound down to the decoder's rate, one sample at a time: what comes in is remembered, and for each sample that
// goes out a filter is laid over it that lets through what is below 2.3 kHz. Its phase steps by the ratio of the rates, in
// fractions that come around exactly, so nothing drifts.
type resampler struct {
	taps    []float32 // phases x length
	length  int
	phases  int       // how many samples go out while
	advance int       // so many come in
	phase   int       // of phases
	due     int       // samples to come in before the next goes out
	past    []float32 // a ring twice as long as the filter, written twice, so that the latest always stand in a row
	at      int
}

const (
	passBand = 2300.0 // Hz
	stopBand = 5700.0 // what is above folds down to below passBand
)

func (r *resampler) init(samplesPerSecond int) {
	a, b := samplesPerSecond, rate
	for b != 0 {
		a, b = b, a%b
	}
	r.advance, r.phases = samplesPerSecond/a, rate/a
	// Hamming: 53 dB, transition 3.3 / length.
	in := float64(samplesPerSecond)
	r.length = int(3.3*in/(stopBand-passBand)) + 2
	cut := (passBand + stopBand) / 2 / in
	r.taps = make([]float32, r.phases*r.length)
	for p := range r.phases {
		sum := 0.0
		row := r.taps[p*r.length : (p+1)*r.length]
		for i := range row {
			x := float64(i) - float64(r.length-1)/2 - float64(p)/float64(r.phases) + 0.5
			h := 2 * cut
			if x != 0 {
				h = math.Sin(2*math.Pi*cut*x) / (math.Pi * x)
			}
			if w := 0.54 + 0.46*math.Cos(2*math.Pi*x/float64(r.length)); math.Abs(x) <= float64(r.length)/2 {
				h *= w
			} else {
				h = 0
			}
			row[i] = float32(h)
			sum += h
		}
		for i := range row {
			row[i] /= float32(sum) * 32768
		}
	}
	r.past = make([]float32, 2*r.length)
	r.due = 1
}

// next takes samples until one can go out, and says how many it took.
func (r *resampler) next(in []int16) (x float32, n int, ok bool) {
	for n < len(in) {
		v := float32(in[n])
		n++
		r.past[r.at], r.past[r.at+r.length] = v, v
		if r.at++; r.at == r.length {
			r.at = 0
		}
		if r.due--; r.due > 0 {
			continue
		}
		row := r.taps[r.phase*r.length : (r.phase+1)*r.length]
		past := r.past[r.at : r.at+r.length]
		for i, t := range row {
			x += t * past[i]
		}
		r.phase += r.advance
		r.due = r.phase / r.phases
		r.phase %= r.phases
		return x, n, true
	}
	return 0, n, false
}
