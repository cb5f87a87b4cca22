package kit

import "math"

// Resampler converts a stream between two rates, as Resample does a whole: pieces join without a seam. A Resampler of equal rates
// passes samples on.
type Resampler struct {
	from, to int
	stride   int // inputs for phases outputs
	phases   int
	taps     int
	table    []float64

	in   []int16 // of the input from sample first on
	at   int64   // the next output
	base int64   // number of in[0] in the stream
}

// NewResampler is one at its beginning; the rates are positive.
func NewResampler(from, to int) *Resampler {
	r := &Resampler{from: from, to: to}
	if from == to {
		return r
	}
	g := gcd(from, to)
	r.phases, r.stride = to/g, from/g
	r.table, r.taps = filter(from, to)
	r.base = -int64(r.taps) // silence was before
	r.in = make([]int16, r.taps)
	return r
}

// Write takes samples and returns what they complete, good until the next call.
func (r *Resampler) Write(pcm []int16) []int16 {
	if r.from == r.to {
		return pcm
	}
	r.in = append(r.in, pcm...)
	return r.make(r.base + int64(len(r.in)))
}

// Flush returns the rest: the end is followed by silence.
func (r *Resampler) Flush() []int16 {
	if r.from == r.to {
		return nil
	}
	end := r.base + int64(len(r.in))
	r.in = append(r.in, make([]int16, r.taps)...)
	out := r.make(r.base + int64(len(r.in)))
	if extra := r.at - end*int64(r.to)/int64(r.from); extra > 0 {
		out = out[:max(0, len(out)-int(extra))]
	}
	return out
}

// make computes what needs no sample at end or behind it.
func (r *Resampler) make(end int64) []int16 {
	var out []int16
	for {
		mid := r.at * int64(r.stride) / int64(r.phases)
		last := mid + int64(r.taps/2)
		if last >= end {
			break
		}
		row := r.table[int(r.at%int64(r.phases))*r.taps:][:r.taps]
		from := int(mid - int64(r.taps/2) + 1 - r.base)
		acc := 0.0
		for k, w := range row {
			acc += w * float64(r.in[from+k])
		}
		out = append(out, int16(math.Round(max(-32768, min(32767, acc)))))
		r.at++
	}
	if keep := r.at*int64(r.stride)/int64(r.phases) - int64(r.taps/2) + 1 - r.base; keep > 4096 {
		r.in = r.in[:copy(r.in, r.in[keep:])]
		r.base += keep
	}
	return out
}
