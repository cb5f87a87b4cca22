package tones

import (
	"math"
	"time"
)

const (
	rate    = 8000 // the decoder's own, samples a second
	window  = 1024 // samples of an FFT: 128 ms, bins of 7.8 Hz
	hop     = 240  // samples between two: 30 ms
	perSlot = 3    // hops

	sets      = 3
	alphabet  = 16 // tones of a set in a half
	firstBin  = 96 // 750 Hz
	binStep   = 2  // between neighbours: 15.6 Hz; within a set three times as much
	halfTones = sets * alphabet

	rampTime = 12 * time.Millisecond
	loudness = 0.8 // of full scale, both tones at their peak
)

// Slot is how long a pair of tones sounds; Length is a whole frame.
const (
	Slot   = time.Second * hop * perSlot / rate
	Length = slots * Slot
)

// bin is where tone number n (0..15) of a half (0: low) sounds in a slot of the given set.
func bin(set, half, n int) int { return firstBin + binStep*(half*halfTones+n*sets+set) }

// Encode is the code as tones: mono, at rate samples a second (at least 8000), with silence neither before nor after. A code that
// is not six digits is a mistake of the caller and gives nil.
func Encode(code string, samplesPerSecond int) []int16 {
	n := parse(code)
	if n < 0 || samplesPerSecond < rate {
		return nil
	}
	var word [slots]byte
	codeword(n, &word)
	length := int(Length * time.Duration(samplesPerSecond) / time.Second)
	pcm := make([]int16, length)
	for i, symbol := range word {
		from, to := i*length/slots, (i+1)*length/slots
		low := frequency(bin(i%sets, 0, int(symbol>>4)))
		high := frequency(bin(i%sets, 1, int(symbol&15)))
		sound(pcm[from:to], low, high, float64(samplesPerSecond))
	}
	return pcm
}

func frequency(bin int) float64 { return float64(bin) * rate / window }

// sound fills a slot. Both tones begin at zero and end in a ramp, so that neither end is a click.
func sound(pcm []int16, low, high, samplesPerSecond float64) {
	ramp := rampTime.Seconds() * samplesPerSecond
	for i := range pcm {
		edge := math.Min(float64(i)+0.5, float64(len(pcm)-i)-0.5) / ramp
		gain := 1.0
		if edge < 1 {
			gain = 0.5 - 0.5*math.Cos(math.Pi*edge)
		}
		at := 2 * math.Pi * float64(i) / samplesPerSecond
		pcm[i] = int16(gain * loudness * math.MaxInt16 / 2 * (math.Sin(low*at) + math.Sin(high*at)))
	}
}
