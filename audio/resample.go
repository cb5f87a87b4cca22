package audio

import (
	"fmt"
	"math"
	"slices"
)

// The half-band filter between 24 and 48 kHz. Every second tap but the middle one is zero, so one of the two phases is a
// plain copy: going up, odd frames are the input itself, bit for bit, and only even frames cost a sum of 24 products.
//
//	taps   47 (24 of them in use, and the middle one)     delay  23 frames at 48 kHz = 0.48 ms
//	pass   0..9.5 kHz within 0.01 dB                      stop   from 14.5 kHz, below -70 dB
//
// In between (speech has nothing there that matters) it falls through -6 dB at 12 kHz.
const (
	halfTaps  = 24               // taps in use on one side of the comb
	halfDelay = 2*halfTaps/2 - 1 // frames at CardRate
	halfSpan  = 2*halfTaps - 2   // frames at CardRate from the first to the last that one sample touches
)

// mixChunk is how many samples are mixed at a time: the generation is looked at anew for each.
const mixChunk = Rate / 200

// halfband holds the taps in use, for interpolation (their sum is 1).
var halfband = designHalfband()

func designHalfband() (h [halfTaps]float32) {
	var w [halfTaps]float64
	sum := 0.0
	for i := range w {
		d := float64(2*i - halfDelay) // odd distance from the middle
		w[i] = math.Sin(math.Pi*d/2) / (math.Pi * d / 2) * kaiser(d/float64(halfDelay+1), 7.6)
		sum += w[i]
	}
	for i := range w {
		h[i] = float32(w[i] / sum)
	}
	return h
}

// kaiser is the Kaiser window at x in -1..1.
func kaiser(x, beta float64) float64 {
	if x*x >= 1 {
		return 0
	}
	return bessel0(beta*math.Sqrt(1-x*x)) / bessel0(beta)
}

func bessel0(x float64) float64 {
	sum, term := 1.0, 1.0
	for k := 1.0; term > sum*1e-12; k++ {
		term *= x * x / (4 * k * k)
		sum += term
	}
	return sum
}

// up2 is the interpolator of the callback: float in, float out, nothing allocated.
type up2 struct {
	past [halfTaps - 1 + mixChunk]float32 // the last halfTaps-1 inputs, then room for the new ones
}

// process turns in (at most mixChunk samples) into twice as many.
func (u *up2) process(out, in []float32) {
	const h = halfTaps - 1
	copy(u.past[h:], in)
	for k := range in {
		x := u.past[k : k+halfTaps : k+halfTaps]
		var sum float32
		for i := range halfTaps / 2 { // the taps are symmetric
			sum += halfband[i] * (x[i] + x[halfTaps-1-i])
		}
		out[2*k] = sum
		out[2*k+1] = x[halfTaps/2] // input k-11: the middle tap
	}
	copy(u.past[:h], u.past[len(in):len(in)+h])
}

// Upsample turns a whole piece of Rate into CardRate, twice as long and not delayed.
func Upsample(pcm []int16) []int16 {
	var f up2
	var in [mixChunk]float32
	var frames [2 * mixChunk]float32
	out := make([]int16, 0, 2*(len(pcm)+halfTaps))
	for piece := range slices.Chunk(slices.Concat(pcm, make([]int16, halfTaps)), mixChunk) {
		for i, s := range piece {
			in[i] = float32(s)
		}
		n := len(piece)
		f.process(frames[:2*n], in[:n])
		for _, v := range frames[:2*n] {
			out = append(out, Saturate(v))
		}
	}
	return out[halfDelay:][:2*len(pcm)]
}

// Downsampler turns CardRate into Rate, piece by piece.
type Downsampler struct {
	past []float32 // the last halfSpan frames; then the new ones
	odd  bool      // the next frame is the second of its pair
}

// Append appends to dst the samples that in completes. The output lags the input by 23 frames of CardRate.
func (d *Downsampler) Append(dst, in []int16) []int16 {
	if d.past == nil {
		d.past = make([]float32, halfSpan, halfSpan+CardRate/50)
	}
	for _, s := range in {
		d.past = append(d.past, float32(s))
	}
	k := halfSpan
	if d.odd {
		k++
	}
	for ; k < len(d.past); k += 2 {
		x := d.past[k-halfSpan : k+1]
		sum := x[halfDelay] // the middle tap; the even taps together weigh as much
		for i := range halfTaps {
			sum += halfband[i] * x[2*i]
		}
		dst = append(dst, Saturate(sum/2))
	}
	d.odd = k > len(d.past)
	d.past = append(d.past[:0], d.past[len(d.past)-halfSpan:]...)
	return dst
}

// Downsample turns a whole piece of CardRate into Rate, half as long and not delayed (to within half a frame).
func Downsample(in []int16) []int16 {
	var d Downsampler
	out := d.Append(nil, in[:len(in):len(in)])
	out = d.Append(out, make([]int16, halfDelay+1+len(in)%2))
	return out[halfDelay/2+1:][:len(in)/2]
}

// Rates that Resample and the WAV reader take. Others would need a filter table of unreasonable size.
var Rates = []int{8000, 11025, 12000, 16000, 22050, 24000, 32000, 44100, 48000, 88200, 96000, 176400, 192000}

// Resample turns a whole piece from one of Rates into another, not delayed. Between Rate and CardRate it takes the half-band filter.
func Resample(pcm []int16, from, to int) ([]int16, error) {
	for _, r := range []int{from, to} {
		if !slices.Contains(Rates, r) {
			return nil, fmt.Errorf("audio: resample %d Hz to %d Hz: rate %d: must be one of %v", from, to, r, Rates)
		}
	}
	switch {
	case from == to:
		return slices.Clone(pcm), nil
	case from == Rate && to == CardRate:
		return Upsample(pcm), nil
	case from == CardRate && to == Rate:
		return Downsample(pcm), nil
	}
	r, err := NewResampler(from, to)
	if err != nil {
		return nil, err
	}
	want := int(int64(len(pcm)) * int64(to) / int64(from))
	out := make([]int16, 0, want+len(r.phases[0])*r.up/r.down+1)
	for piece := range slices.Chunk(pcm, mixChunk) {
		out = r.Append(out, piece)
	}
	return r.Append(out, make([]int16, len(r.phases[0])))[:want], nil
}

// Resampler turns one of Rates into another, piece by piece. Its output is not delayed: what it needs of the future it waits for, so the
// last Reach inputs of a sound come out when as many zeros have been appended.
type Resampler struct {
	phases   [][]float32
	up, down int
	past     []int16 // inputs that are still needed
	newest   int     // where behind the first of past the newest is that the next output needs
	phase    int     // 1/up of the way from one input to the next
}

// NewResampler is one at the beginning of a sound.
func NewResampler(from, to int) (*Resampler, error) {
	for _, r := range []int{from, to} {
		if !slices.Contains(Rates, r) {
			return nil, fmt.Errorf("audio: resample %d Hz to %d Hz: rate %d: must be one of %v", from, to, r, Rates)
		}
	}
	g := gcd(from, to)
	r := &Resampler{up: to / g, down: from / g}
	r.phases = designPhases(r.up, min(1, float64(to)/float64(from)))
	r.newest = r.Reach()
	return r, nil
}

// Reach is how many inputs before and behind an output go into it.
func (r *Resampler) Reach() int { return len(r.phases[0]) / 2 }

// Whole are the inputs and outputs of the smallest whole stretch: after so many, the filter is as at the beginning.
func (r *Resampler) Whole() (in, out int) { return r.down, r.up }

// Append appends to dst the samples that in completes.
func (r *Resampler) Append(dst, in []int16) []int16 {
	r.past = append(r.past, in...)
	for r.newest < len(r.past) {
		var sum float32
		taps := r.phases[r.phase]
		x := r.past[max(0, r.newest-len(taps)+1) : r.newest+1] // before the first input there was nothing
		for i := range x {
			sum += taps[i] * float32(x[len(x)-1-i])
		}
		dst = append(dst, Saturate(sum))
		r.phase += r.down
		r.newest += r.phase / r.up
		r.phase %= r.up
	}
	if done := min(len(r.past), r.newest-len(r.phases[0])+1); done > 0 {
		r.past = append(r.past[:0], r.past[done:]...)
		r.newest -= done
	}
	return dst
}

// designPhases is the filter of a rate changed by up and something else: the taps, newest input first, for each of the up positions
// between two inputs. Its pass band reaches 90 % of cut, in units of the input's Nyquist frequency; 60 dB below from 110 %.
func designPhases(up int, cut float64) [][]float32 {
	half := int(math.Ceil(20 / cut)) // input samples on each side
	phases := make([][]float32, up)
	for p := range phases {
		sum, row := 0.0, make([]float64, 2*half)
		for i := range row {
			d := float64(i-half) + float64(p)/float64(up) // distance from the output's instant
			x := math.Pi * d * cut
			row[i] = kaiser(d/float64(half+1), 6)
			if x != 0 {
				row[i] *= math.Sin(x) / x
			}
			sum += row[i]
		}
		phases[p] = make([]float32, len(row))
		for i := range row {
			phases[p][i] = float32(row[i] / sum)
		}
	}
	return phases
}

func gcd(a, b int) int {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}
