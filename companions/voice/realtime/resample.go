package realtime

import (
	"math"
)

// downsampler turns 24 kHz into 16 kHz for servers that hear no better: two phases (L = 2) of one low-pass, every third value
// (M = 3) of what would be 48 kHz. Its state carries across pieces, so that pieces join without a click.
type downsampler struct {
	taps [2][downTaps]float32
	line [downTaps]float32 // the latest samples, newest first
	skip int               // values at 48 kHz until the next one that counts
	out  []int16
}

const (
	downTaps   = 32     // per phase: 1.3 ms, 0.65 ms of delay
	downCutoff = 7200.0 // Hz; 8 kHz is the new Nyquist limit
)

func newDownsampler() *downsampler {
	d := &downsampler{}
	const n = 2 * downTaps
	sum := 0.0
	var h [n]float64
	for i := range h {
		x := float64(i) - (n-1)/2.0
		w := 0.42 - 0.5*math.Cos(2*math.Pi*(float64(i)+0.5)/n) + 0.08*math.Cos(4*math.Pi*(float64(i)+0.5)/n) // Blackman
		h[i] = w * math.Sin(2*math.Pi*downCutoff/(2*rate)*x) / (math.Pi * x)
		sum += h[i]
	}
	for i := range h { // gain 2: every second value at 48 kHz is a zero
		d.taps[i%2][i/2] = float32(2 * h[i] / sum)
	}
	return d
}

func (d *downsampler) reset() {
	d.line = [downTaps]float32{}
	d.skip = 0
}

// process returns a slice that is good until the next call.
func (d *downsampler) process(in []int16) []int16 {
	d.out = d.out[:0]
	for _, s := range in {
		copy(d.line[1:], d.line[:downTaps-1])
		d.line[0] = float32(s)
		for phase := range d.taps {
			if d.skip > 0 {
				d.skip--
				continue
			}
			d.skip = 2
			var y float32
			for i, t := range &d.taps[phase] {
				y += t * d.line[i]
			}
			d.out = append(d.out, int16(max(-32768, min(32767, math.Round(float64(y))))))
		}
	}
	return d.out
}
