package alarm

import (
	"math"
	"testing"
)

// A round is fit to play, and each is louder than the one before until it is as loud as it gets.
func TestARoundRises(t *testing.T) {
	last := 0.0
	for round := 1; round <= 8; round++ {
		pcm := Samples(round)
		if pcm[0] != 0 || pcm[len(pcm)-1] != 0 {
			t.Errorf("round %d begins with %d and ends with %d; want 0 and 0", round, pcm[0], pcm[len(pcm)-1])
		}
		peak, jump := 0.0, 0.0
		for i, s := range pcm {
			peak = max(peak, math.Abs(float64(s)))
			if i > 0 {
				jump = max(jump, math.Abs(float64(s)-float64(pcm[i-1])))
			}
		}
		if db := 20 * math.Log10(peak/32768); db < -30 || db > -9 {
			t.Errorf("round %d: peak at %.1f dB; want -30 to -9", round, db)
		}
		if jump > peak {
			t.Errorf("round %d jumps by %.0f at a peak of %.0f: a click", round, jump, peak)
		}
		if rises := peak > last*1.1; rises != (round <= lastRising) {
			t.Errorf("round %d has its peak at %.0f, the one before at %.0f", round, peak, last)
		}
		last = peak
	}
}

const lastRising = 1 + rises
