package audio

import (
	"math"
	"testing"
)

// Whatever was played before a rewind that came late, and whatever comes after it, there is no step between them.
func TestJointHasNoStep(t *testing.T) {
	tone := func(n, from int) []int16 {
		out := make([]int16, n)
		for i := range out {
			out[i] = int16(12000 * math.Sin(2*math.Pi*440*float64(from+i)/CardRate))
		}
		return out
	}
	const own = 12000*2*math.Pi*440/CardRate + 1.5*24000/jointFrames + 2 // of the tone, and of the way
	for late := range 200 {                                              // frames that have been played meanwhile
		for name, after := range map[string]func(n int) []int16{
			"silence":      func(n int) []int16 { return make([]int16, n) },
			"another tone": func(n int) []int16 { return tone(n, 7000) },
		} {
			for _, asked := range []int{480, 150, 100} { // frames to be taken back; the latter two less than the delay
				j := joint{sent: make([]int16, 1920)}
				before := tone(5000, 0)
				j.over(before[:3000])
				j.over(before[3000:])
				got := max(0, asked-late)
				heard := before[:len(before)-got]
				j.takenBack(got, 0, late > 0)
				out := append([]int16(nil), after(400)...)
				if late == 0 {
					continue // in time: what comes is a fade already
				}
				j.over(out[:30])
				j.over(out[30:])
				last := heard[len(heard)-1]
				for i, x := range out {
					if step := math.Abs(float64(x) - float64(last)); step > own {
						t.Fatalf("%s, %d of %d frames too late: a step of %.0f at %d; want %.0f at most", name, late, asked, step, i, own)
					}
					last = x
				}
			}
		}
	}
}

// In silence that was not handed over nothing else is the way's beginning.
func TestJointBeginsInSilence(t *testing.T) {
	j := joint{sent: make([]int16, 1920)}
	j.over([]int16{9000, 9000, 9000})
	j.takenBack(200, 240, true)
	out := []int16{480, 480, 480}
	if j.over(out); out[0] != 0 || out[2] > 2 {
		t.Errorf("%v; want a way from silence", out)
	}
}
