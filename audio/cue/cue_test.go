package cue

import (
	"math"
	"testing"
)

// turn.Cue's names; a cue the machine can ask for must exist.
var wanted = []string{"ready", "too_short", "thinking", "error", "offline", "timer", "committed", "ringing", "volume", "empty", "noted"}

func TestEveryCueExistsAndIsFitToPlay(t *testing.T) {
	if len(table) != len(wanted) {
		t.Errorf("there are %d cues; want %v", len(table), wanted)
	}
	for _, name := range wanted {
		pcm := Samples(name)
		if len(pcm) == 0 {
			t.Errorf("%s: there is no such cue", name)
			continue
		}
		ms := len(pcm) * 1000 / rate
		longest := 1000
		if name == "thinking" || name == "ringing" { // they repeat
			longest = 3000
		}
		if ms < 50 || ms > longest {
			t.Errorf("%s: %d ms long; want 50 to %d", name, ms, longest)
		}
		if pcm[0] != 0 || pcm[len(pcm)-1] != 0 {
			t.Errorf("%s: begins with %d and ends with %d; want 0 and 0", name, pcm[0], pcm[len(pcm)-1])
		}
		peak, jump := 0.0, 0.0
		for i, s := range pcm {
			peak = max(peak, math.Abs(float64(s)))
			if i > 0 {
				jump = max(jump, math.Abs(float64(s)-float64(pcm[i-1])))
			}
		}
		if db := 20 * math.Log10(peak/32768); db < -26 || db > -9 {
			t.Errorf("%s: peak at %.1f dB; want -26 to -9", name, db)
		}
		if jump > peak {
			t.Errorf("%s: jumps by %.0f between two samples at a peak of %.0f: a click", name, jump, peak)
		}
	}
	if r, e := Samples("ready"), Samples("error"); len(r) >= len(e) || peakOf(r) >= peakOf(e) {
		t.Error("ready must be shorter and softer than error")
	}
	if Samples("nonsense") != nil {
		t.Error("a cue that there is not has samples")
	}
}

func peakOf(pcm []int16) (p int16) {
	for _, s := range pcm {
		p = max(p, s)
	}
	return p
}

// Two cues are distinct when no shift of one looks like the other, wherever they overlap.
func TestCuesAreDistinct(t *testing.T) {
	for i, a := range wanted {
		for _, b := range wanted[:i] {
			if c := likeness(Samples(a), Samples(b)); c > 0.8 {
				t.Errorf("%s and %s are %.0f %% alike", a, b, 100*c)
			}
		}
		if c := likeness(Samples(a), Samples(a)); c < 0.99 {
			t.Errorf("%s is not like itself (%.2f): this test cannot fail", a, c)
		}
	}
}

// likeness is the largest normalised correlation over shifts of up to 100 ms, at a third of the rate.
func likeness(a, b []int16) float64 {
	thin := func(x []int16) (y []float64) {
		for i := 0; i < len(x); i += 3 {
			y = append(y, float64(x[i]))
		}
		return y
	}
	x, y := thin(a), thin(b)
	norm := func(v []float64) (s float64) {
		for _, e := range v {
			s += e * e
		}
		return math.Sqrt(s)
	}
	best := 0.0
	for shift := -800; shift <= 800; shift++ {
		sum := 0.0
		for i := max(0, shift); i < len(x) && i-shift < len(y); i++ {
			sum += x[i] * y[i-shift]
		}
		best = max(best, math.Abs(sum))
	}
	return best / (norm(x) * norm(y))
}
