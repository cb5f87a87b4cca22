package audio

import (
	"math"
	"time"
)

// Samples is how many samples of Rate last d; a negative d has none.
func Samples(d time.Duration) int { return samplesAt(d, Rate) }

// CardFrames is how many frames of CardRate last d.
func CardFrames(d time.Duration) int { return samplesAt(d, CardRate) }

// CardDuration is how long n frames of CardRate last.
func CardDuration(n int) time.Duration { return time.Duration(n) * time.Second / CardRate }

func samplesAt(d time.Duration, rate int64) int {
	if d <= 0 {
		return 0
	}
	// Split so that hours do not overflow.
	sec, rest := int64(d/time.Second), int64(d%time.Second)
	return int(sec*rate + rest*rate/int64(time.Second))
}

// Saturate rounds v to the nearest sample and stops at the rails instead of wrapping.
func Saturate(v float32) int16 {
	switch {
	case v >= math.MaxInt16:
		return math.MaxInt16
	case v <= math.MinInt16:
		return math.MinInt16
	case v >= 0:
		return int16(v + 0.5)
	default:
		return int16(v - 0.5)
	}
}

// Mix adds src to dst, saturating, as far as both reach.
func Mix(dst, src []int16) {
	for i := range min(len(dst), len(src)) {
		v := int32(dst[i]) + int32(src[i])
		dst[i] = int16(max(math.MinInt16, min(math.MaxInt16, v)))
	}
}

// Gain turns a volume of 0..100 into a factor. Loudness is heard roughly as the cube root of amplitude, so the curve is
// cubic: 50 is -18 dB and sounds about half as loud; 0 is silence. Values outside are taken as the nearest end.
func Gain(percent int) float32 {
	p := float32(max(0, min(100, percent))) / 100
	return p * p * p
}

// Scale multiplies pcm by g, in place, saturating.
func Scale(pcm []int16, g float32) {
	for i, s := range pcm {
		pcm[i] = Saturate(float32(s) * g)
	}
}

// raisedCosine goes from 0 at 0 to 1 at 1 with no corner at either end.
func raisedCosine(x float64) float32 { return float32(0.5 - 0.5*math.Cos(math.Pi*x)) }

// Peak is the largest absolute value in pcm, 0..32768.
func Peak(pcm []int16) int {
	p := 0
	for _, s := range pcm {
		p = max(p, int(s), -int(s))
	}
	return p
}
