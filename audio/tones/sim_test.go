package tones

import (
	"math"
	"math/cmplx"
	"math/rand/v2"
	"sync"
	"testing"

	"conch/audio"
	"conch/audio/words"
	"conch/device/language"
)

// A simulated room: what a loudspeaker, the air, another person's clock and a microphone do to a frame.

const simRate = 16000

// conditions are drawn for each room but for the first two, which the table is over.
type conditions struct {
	rt60     float64 // s
	snr      float64 // dB, of the frame as it is heard, over 0 to 8 kHz
	noise    string  // white, pink, babble
	images   bool    // the response is that of a box; else decaying noise
	direct   float64 // dB over the reverberation, of decaying noise
	skew     float64 // ppm
	level    float64 // dBFS, peak of what is heard
	clip     float64 // of the peak, at the loudspeaker; 1: none
	agc      bool
	lowest   float64 // Hz, of the loudspeaker
	bump, q  float64 // a resonance: Hz
	bumpGain float64 // dB
}

func draw(r *rand.Rand, rt60, snr float64) conditions {
	uniform := func(a, b float64) float64 { return a + (b-a)*r.Float64() }
	c := conditions{
		rt60: rt60, snr: snr,
		noise:  []string{"white", "pink", "babble"}[r.IntN(3)],
		images: r.IntN(2) == 0, direct: uniform(-3, 6),
		skew: uniform(-200, 200), level: uniform(-40, -6), clip: 1,
		agc:    r.IntN(2) == 0,
		lowest: uniform(300, 800), bump: uniform(700, 2500), q: uniform(1, 5), bumpGain: uniform(-8, 8),
	}
	if r.IntN(3) == 0 {
		c.clip = uniform(0.5, 0.9)
	}
	return c
}

// through is what is heard of pcm (simRate) under c, with up to a second before it and one behind it.
func (c conditions) through(r *rand.Rand, pcm []int16) []int16 {
	x := make([]float64, len(pcm))
	top := 0.0
	for i, s := range pcm {
		x[i] = float64(s) / 32768
		top = math.Max(top, math.Abs(x[i]))
	}
	for i := range x {
		x[i] = math.Max(-c.clip*top, math.Min(c.clip*top, x[i]))
	}
	highPass(x, c.lowest)
	peaking(x, c.bump, c.q, c.bumpGain)
	lowPass(x, 6000)

	before := r.IntN(simRate)
	y := make([]float64, before+len(x)+simRate)
	copy(y[before:], x)
	x = skewed(convolve(y, c.response(r)), c.skew)

	power := 0.0
	span := x[before:min(len(x), before+len(pcm))]
	for _, v := range span {
		power += v * v
	}
	power /= float64(len(span))
	noise := noiseOf(r, c.noise, len(x))
	gain := math.Sqrt(power / meanSquare(noise) / math.Pow(10, c.snr/10))
	peak := 0.0
	for i := range x {
		x[i] += gain * noise[i]
		peak = math.Max(peak, math.Abs(x[i]))
	}
	scale := math.Pow(10, c.level/20) / peak
	for i := range x {
		x[i] *= scale
	}
	if c.agc {
		agc(x)
	}
	out := make([]int16, len(x))
	for i, v := range x {
		out[i] = int16(math.Round(math.Max(-32768, math.Min(32767, v*32767))))
	}
	return out
}

// response is what the room makes of a click.
func (c conditions) response(r *rand.Rand) []float64 {
	if c.images {
		return box(r, c.rt60)
	}
	h := make([]float64, int(c.rt60*simRate))
	energy := 0.0
	for i := range h[1:] {
		h[i+1] = r.NormFloat64() * math.Exp(-6.91*float64(i)/float64(len(h)))
		energy += h[i+1] * h[i+1]
	}
	h[0] = math.Sqrt(energy * math.Pow(10, c.direct/10))
	return h
}

// box is the image source method (J. B. Allen and D. A. Berkley, 1979) in a room drawn at random, with loudspeaker and microphone
// 0.5 to 4 m apart and walls that absorb what the reverberation time asks for (Eyring).
func box(r *rand.Rand, rt60 float64) []float64 {
	const sound = 343.0
	side := [3]float64{3 + 4*r.Float64(), 2.5 + 3*r.Float64(), 2.3 + 0.7*r.Float64()}
	volume := side[0] * side[1] * side[2]
	surface := 2 * (side[0]*side[1] + side[0]*side[2] + side[1]*side[2])
	beta := math.Exp(-0.5 * 0.161 * volume / surface / rt60)
	var from, to [3]float64
	for {
		distance := 0.0
		for i := range 3 {
			from[i] = 0.3 + (side[i]-0.6)*r.Float64()
			to[i] = 0.3 + (side[i]-0.6)*r.Float64()
			distance += (from[i] - to[i]) * (from[i] - to[i])
		}
		if distance > 0.25 && distance < 16 {
			break
		}
	}
	h := make([]float64, int(rt60*0.7*simRate)) // to -42 dB
	reach := sound * float64(len(h)) / simRate
	// Per axis: where the images stand, and how often each was reflected.
	type image struct{ d2, gain float64 }
	var axis [3][]image
	for i := range 3 {
		n := int(reach/2/side[i]) + 1
		for k := -n; k <= n; k++ {
			for p := range 2 {
				at := float64(1-2*p)*from[i] + 2*float64(k)*side[i] - to[i]
				bounces := math.Abs(float64(k-p)) + math.Abs(float64(k))
				axis[i] = append(axis[i], image{at * at, math.Pow(beta, bounces)})
			}
		}
	}
	for _, x := range axis[0] {
		for _, y := range axis[1] {
			near, g := x.d2+y.d2, x.gain*y.gain
			if near > reach*reach || g < 1e-4 {
				continue
			}
			for _, z := range axis[2] {
				d := math.Sqrt(near + z.d2)
				at := d / sound * simRate
				i := int(at)
				if i+1 >= len(h) {
					continue
				}
				v := g * z.gain / d
				h[i] += v * (1 - at + float64(i))
				h[i+1] += v * (at - float64(i))
			}
		}
	}
	return h
}

// agc brings loud passages down within 5 ms and quiet ones up within half a second, by at most 20 dB.
func agc(x []float64) {
	envelope := 0.0
	for i, v := range x {
		a := math.Abs(v)
		if a > envelope {
			envelope += (a - envelope) / (0.005 * simRate)
		} else {
			envelope += (a - envelope) / (0.5 * simRate)
		}
		x[i] = v * math.Min(10, 0.2/math.Max(envelope, 1e-4))
	}
}

func noiseOf(r *rand.Rand, kind string, n int) []float64 {
	x := make([]float64, n)
	switch kind {
	case "white":
		for i := range x {
			x[i] = r.NormFloat64()
		}
	case "pink": // white through three poles (P. Kellet)
		var b [3]float64
		for i := range x {
			w := r.NormFloat64()
			b[0] = 0.99765*b[0] + w*0.0990460
			b[1] = 0.96300*b[1] + w*0.2965164
			b[2] = 0.57000*b[2] + w*1.0526913
			x[i] = b[0] + b[1] + b[2] + w*0.1848
		}
	case "babble": // six talk at a time
		clips := speech()
		for range 6 {
			pitch := 0.8 + 0.5*r.Float64()
			for at := -r.IntN(simRate); at < n; {
				clip := clips[r.IntN(len(clips))]
				for i := 0; float64(i)*pitch < float64(len(clip)-1); i++ {
					if at+i >= 0 && at+i < n {
						p := float64(i) * pitch
						k := int(p)
						x[at+i] += clip[k] + (clip[k+1]-clip[k])*(p-float64(k))
					}
				}
				at += int(float64(len(clip))/pitch) + r.IntN(simRate/4)
			}
		}
	}
	return x
}

// speech is every clip that conch ships, spoken by flite, at simRate.
var speech = sync.OnceValue(func() (clips [][]float64) {
	for _, key := range words.Keys() {
		pcm, err := words.Samples(language.English, key)
		if err == nil {
			pcm, err = audio.Resample(pcm, audio.Rate, simRate)
		}
		if err != nil {
			panic(err)
		}
		clip := make([]float64, len(pcm))
		for i, s := range pcm {
			clip[i] = float64(s) / 32768
		}
		clips = append(clips, clip)
	}
	return clips
})

func meanSquare(x []float64) float64 {
	sum := 0.0
	for _, v := range x {
		sum += v * v
	}
	return sum / float64(len(x))
}

// skewed is x by a clock that is ppm too fast or too slow.
func skewed(x []float64, ppm float64) []float64 {
	step := 1 + ppm/1e6
	out := make([]float64, 0, len(x)+1)
	for p := 1.0; p < float64(len(x)-3); p += step {
		i := int(p)
		f := p - float64(i)
		a, b, c, d := x[i-1], x[i], x[i+1], x[i+2]
		out = append(out, b+0.5*f*(c-a+f*(2*a-5*b+4*c-d+f*(3*(b-c)+d-a)))) // Catmull-Rom
	}
	return out
}

// The usual second-order filters (R. Bristow-Johnson, Cookbook formulae for audio EQ).
func biquad(x []float64, b0, b1, b2, a0, a1, a2 float64) {
	var x1, x2, y1, y2 float64
	for i, v := range x {
		y := (b0*v + b1*x1 + b2*x2 - a1*y1 - a2*y2) / a0
		x1, x2, y1, y2 = v, x1, y, y1
		x[i] = y
	}
}

func highPass(x []float64, hz float64) {
	sin, cos := math.Sincos(2 * math.Pi * hz / simRate)
	alpha := sin / math.Sqrt2
	biquad(x, (1+cos)/2, -(1 + cos), (1+cos)/2, 1+alpha, -2*cos, 1-alpha)
}

func lowPass(x []float64, hz float64) {
	sin, cos := math.Sincos(2 * math.Pi * hz / simRate)
	alpha := sin / math.Sqrt2
	biquad(x, (1-cos)/2, 1-cos, (1-cos)/2, 1+alpha, -2*cos, 1-alpha)
}

func peaking(x []float64, hz, q, db float64) {
	sin, cos := math.Sincos(2 * math.Pi * hz / simRate)
	a, alpha := math.Pow(10, db/40), sin/2/q
	biquad(x, 1+alpha*a, -2*cos, 1-alpha*a, 1+alpha/a, -2*cos, 1-alpha/a)
}

func convolve(x, h []float64) []float64 {
	n := 1
	for n < len(x)+len(h) {
		n *= 2
	}
	z := make([]complex128, n) // both at once: x is the real part, h the imaginary one
	for i, v := range x {
		z[i] = complex(v, 0)
	}
	for i, v := range h {
		z[i] += complex(0, v)
	}
	fft(z)
	product := make([]complex128, n)
	for k := range z {
		c := cmplx.Conj(z[(n-k)%n])
		product[k] = cmplx.Conj((z[k] + c) * (z[k] - c) / 4i) // of the inverse transform: see below
	}
	fft(product)
	out := make([]float64, len(x))
	for i := range out {
		out[i] = real(product[i]) / float64(n)
	}
	return out
}

func fft(z []complex128) {
	n := len(z)
	for i, j := 1, 0; i < n; i++ {
		bit := n >> 1
		for ; j&bit != 0; bit >>= 1 {
			j ^= bit
		}
		j ^= bit
		if i < j {
			z[i], z[j] = z[j], z[i]
		}
	}
	twist := make([]complex128, n/2)
	for k := range twist {
		sin, cos := math.Sincos(-2 * math.Pi * float64(k) / float64(n))
		twist[k] = complex(cos, sin)
	}
	for size := 2; size <= n; size *= 2 {
		for at := 0; at < n; at += size {
			for k := range size / 2 {
				t := z[at+k+size/2] * twist[k*n/size]
				z[at+k+size/2] = z[at+k] - t
				z[at+k] += t
			}
		}
	}
}

func TestConvolution(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	x, h := noiseOf(r, "white", 50), noiseOf(r, "white", 7)
	got := convolve(x, h)
	for i := range x {
		want := 0.0
		for k := range h {
			if i >= k {
				want += h[k] * x[i-k]
			}
		}
		if math.Abs(got[i]-want) > 1e-9 {
			t.Fatalf("sample %d is %g, want %g", i, got[i], want)
		}
	}
}
